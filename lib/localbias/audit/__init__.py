"""What is wrong with words, templates and published cells: lists of rules, on one scale of severity."""

SEVERITIES = {
    "error": "changes what is measured: a word counts twice, a prompt is lost, a cell is another model's",
    "warning": "a model, a reader or a scorer can take it for something else than was meant",
    "note": "worth knowing when a result is read; changes nothing",
}
"""Severity → what it means, worst first; the same for words, templates and published cells."""
