"""What is wrong with words, templates and published cells: lists of rules."""
