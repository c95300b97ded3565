"""Word lists: where they come from, what they hold, what is wrong with them."""

from localbias.data.lexicon import (
    WordSets,
    catalogue,
    clean_sets,
    dataset_label,
    has_words,
    languages_in,
    lexicon_names,
    load_words,
    resolve_dataset,
    tests_in,
    word_table,
)

__all__ = [
    "WordSets",
    "catalogue",
    "clean_sets",
    "dataset_label",
    "has_words",
    "languages_in",
    "lexicon_names",
    "load_words",
    "resolve_dataset",
    "tests_in",
    "word_table",
]
