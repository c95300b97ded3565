"""The choices behind every verdict, each a parameter that a reader can change."""

from __future__ import annotations

from dataclasses import dataclass, fields

from localbias.registry import ranges

RULES = {
    "paper": "the paper's rule: one-sided p below {alpha:g} in either direction (a level of {twice:g})",
    "two-sided": "two-sided p below {alpha:g}",
    "q": "false discovery rate within the figure at most {alpha:g}",
}
"""How a cell counts as significant: name → what it means."""


@dataclass(frozen=True)
class Settings:
    """Thresholds used by all judges, and what a claim is read with where the paper names nothing.

    Attributes
    ----------
    rule : "paper" | "two-sided" | "q"
        When a cell counts as significant (:data:`RULES`).
    alpha : float
        Level of that rule and of the tests over languages.
    every : float
        Share from which a claim about *every* cell holds.
    source, method, multilingual : str
        Word lists (all | human | gt), embedding method and multilingual model.
    flagged : "include" | "exclude"
        Whether the cells marked by an integrity check count.
    """

    rule: str = "paper"
    alpha: float = 0.05
    every: float = 0.95
    source: str = "all"
    method: str = "M5"
    multilingual: str = "DistilmBERT"
    flagged: str = "include"

    def __post_init__(self):
        for name in fields(self):
            ranges.check(name.name, getattr(self, name.name), ranges.LEDGER, "ledger.Settings")

    @property
    def rule_words(self) -> str:
        """The rule in words.

        >>> Settings(rule="two-sided", alpha=0.01).rule_words
        'two-sided p below 0.01'
        """
        return RULES[self.rule].format(alpha=self.alpha, twice=2 * self.alpha)

    @property
    def false_rate(self) -> float:
        """Share of cells that the rule calls significant, at most, when there is nothing to find."""
        return 2 * self.alpha if self.rule == "paper" else self.alpha

    def filled(self, value):
        """``"$method"`` and the like → the setting's value, inside lists and mappings too.

        >>> Settings(method="M8").filled({"method": ["$method", "M1"]})
        {'method': ['M8', 'M1']}
        """
        if isinstance(value, dict):
            return {k: self.filled(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.filled(v) for v in value]
        names = {f"${f.name}": f.name for f in fields(self)}
        return getattr(self, names[value]) if isinstance(value, str) and value in names else value
