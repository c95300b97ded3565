"""FilBBQ: Filipino question answering about people, whose answers show bias."""

from localbias.filbbq.audit import audit_counts, audit_rules, audit_templates
from localbias.filbbq.bbq import read_bbq, write_bbq
from localbias.filbbq.inventory import describe_sample, invariants, prompts_per_template, sample, table2
from localbias.filbbq.prompts import generate_prompts
from localbias.filbbq.repairs import repairs
from localbias.filbbq.reproduce import compare_with_published, published_draws
from localbias.filbbq.templates import read_templates, read_vocabulary, template_table

_LATER = {
    "answer": ("Loaded", "answer_probabilities"),
    "orders": ("reorder",),
    "outliers": ("anywhere", "by_chance", "lowest_possible", "most_answers"),
    "position": ("order_balance", "position_table", "preferences", "scores_by_order"),
    "score": ("always", "score_answers"),
    "seeds": (
        "expected_scores",
        "run_distribution",
        "seed_scores",
        "seeds_needed",
        "standard_error_by_seeds",
        "summarise_seeds",
        "sweep",
    ),
    "selection": ("attainable_level", "bias_profile", "largest_by_chance", "shrink"),
    "variance": ("bootstrap_intervals", "variance_shares"),
}
"""Names that are imported when first used: they bring scipy, and answering brings torch."""


def __getattr__(name: str):
    from importlib import import_module

    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"localbias.filbbq.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    *(name for names in _LATER.values() for name in names),
    "audit_counts",
    "audit_rules",
    "audit_templates",
    "compare_with_published",
    "describe_sample",
    "generate_prompts",
    "invariants",
    "prompts_per_template",
    "published_draws",
    "read_bbq",
    "read_templates",
    "read_vocabulary",
    "repairs",
    "sample",
    "table2",
    "template_table",
    "write_bbq",
]
