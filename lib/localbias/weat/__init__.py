"""The Word Embedding Association Test: effect sizes, exact p-values, intervals, whole tables."""

from localbias.weat.association import associations, effect_size, test_statistic
from localbias.weat.inference import (
    adjust,
    bootstrap_effect_sizes,
    difference_interval,
    effect_size_interval,
    effect_size_intervals,
    paper_rule,
    paper_rule_level,
)
from localbias.weat.measure import WeatResult, weat_test
from localbias.weat.permutation import Bounded, PermutationP, exact_p, smallest_p
from localbias.weat.run import judged, languages_of, run_weat, smallest_p_table, tests_of

__all__ = [
    "Bounded",
    "PermutationP",
    "WeatResult",
    "adjust",
    "associations",
    "bootstrap_effect_sizes",
    "difference_interval",
    "effect_size",
    "effect_size_interval",
    "effect_size_intervals",
    "exact_p",
    "judged",
    "languages_of",
    "paper_rule",
    "paper_rule_level",
    "run_weat",
    "smallest_p",
    "smallest_p_table",
    "test_statistic",
    "tests_of",
    "weat_test",
]
