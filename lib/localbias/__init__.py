"""Local Biases: social bias in language models, measured across languages.

``from localbias import …`` gives every name below; a module is read when one of its names is first used.
"""

from importlib import import_module

__version__ = "0.1.0"

_NAMES = {
    "audit.templates": "audit_counts audit_rules audit_templates",
    "book": "charts page",
    "measures.adjust": "adjust paper_rule",
    "measures.association": "associations effect_size test_statistic",
    "measures.bias_scores": "ambiguous_score bias_ratio",
    "measures.intervals": "effect_size_interval",
    "measures.null": "attainable_level shrink sign_flip_p",
    "measures.permutation": "exact_p smallest_p",
    "measures.sensitivity": "distance_variance sensitivity",
    "measures.weat": "WeatResult weat_test",
    "models.answers": "answer_probabilities load_answerer written_answers",
    "models.encoder": "Encoder",
    "prompts.bbq": "read_bbq write_bbq",
    "prompts.generation": "generate_prompts",
    "prompts.inventory": "describe_sample invariants prompts_per_template sample subset table2",
    "prompts.orders": "reorder",
    "prompts.repairs": "repairs",
    "prompts.reproduce": "compare_with_published published_draws",
    "prompts.templates": "read_templates read_vocabulary template_table",
    "studies.comparisons": "paired_differences run_models run_translations",
    "studies.effects": "effects",
    "studies.published": "printed printed_cells published_results published_sensitivity",
    "studies.ranking": "beside_published concordance protocol_cosines rank_correlation ranking",
    "studies.scores": "score_answers",
    "studies.seeds": "expected_scores seed_scores summarise_seeds sweep",
    "studies.selection": "bias_profile by_chance lowest_possible",
    "studies.sensitivity": "run_sensitivity",
    "studies.variance": "order_balance position_table preferences scores_by_order variance_shares",
    "studies.weat": "languages_of run_weat smallest_p_table tests_of",
    "words.lexicon": "WordSets clean_sets load_words resolve_dataset tests_in word_table",
    "words.mistranslations": "located mistranslations",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    return import_module(f"{module.__name__}.{name}") if _MODULES[name] == "book" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
