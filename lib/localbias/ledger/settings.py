"""The choices behind every verdict, each a parameter that a reader can change."""

from __future__ import annotations

from dataclasses import dataclass, fields

from localbias.errors import BadValues
from localbias.registry import ranges

RULES = {
    "paper": "the paper's rule: one-sided p below {alpha:g} in either direction (a level of {twice:g})",
    "two-sided": "two-sided p below {alpha:g}",
    "q": "false discovery rate within the figure at most {alpha:g}",
}
"""How a cell counts as significant: name → what it means."""


@dataclass(frozen=True)
class Settings:
    """Thresholds and readings used by all verdict functions.

    Attributes
    ----------
    rule : "paper" | "two-sided" | "q"
        When a cell counts as significant (:data:`RULES`).
    alpha : float
        Level of that rule and of the tests between languages.
    every : float
        Share from which a claim about *every* cell holds.
    most : float
        Share above which a claim about *most* cells holds in part; it holds when the whole interval lies above.
    same : float
        Difference in d up to which two results count as the same.
    source, method, multilingual : str
        Word lists (all | human | gt), embedding method and multilingual model that a claim is read
        with where the paper names none.
    flagged : "include" | "exclude"
        Whether the cells marked by an integrity check count.
    level, n_resamples, seed
        Interval level, resamples and seed of the bootstrap over languages.
    """

    rule: str = "paper"
    alpha: float = 0.05
    every: float = 0.95
    most: float = 0.5
    same: float = 0.2
    source: str = "all"
    method: str = "M5"
    multilingual: str = "DistilmBERT"
    flagged: str = "include"
    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0

    def __post_init__(self):
        for name in fields(self):
            ranges.check(name.name, getattr(self, name.name), ranges.LEDGER, "ledger.Settings")
        if not 0 < self.most < 1 or not self.same >= 0:
            raise BadValues("most must lie between 0 and 1, same be 0 or more", got=f"{self.most}, {self.same}")

    @property
    def rule_words(self) -> str:
        """The rule in words.

        >>> Settings(rule="two-sided", alpha=0.01).rule_words
        'two-sided p below 0.01'
        """
        return RULES[self.rule].format(alpha=self.alpha, twice=2 * self.alpha)

    @property
    def false_rate(self) -> float:
        """Share of cells that the rule calls significant when there is nothing to find."""
        return {"paper": 2 * self.alpha, "two-sided": self.alpha, "q": 0.0}[self.rule]

    def filled(self, value):
        """``"$method"`` and the like → the setting's value; anything else as it is.

        >>> Settings(method="M8").filled(["$method", "M1"])
        ['M8', 'M1']
        """
        if isinstance(value, (list, tuple)):
            return [self.filled(v) for v in value]
        names = {f"${f.name}": f.name for f in fields(self)}
        return getattr(self, names[value]) if isinstance(value, str) and value in names else value
