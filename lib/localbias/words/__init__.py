"""Word lists: published, starter, and a person's own."""
