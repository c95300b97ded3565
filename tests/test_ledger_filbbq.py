"""FilBBQ's side of the ledger: its claims one by one, its tables against the paper, its judges on made lists."""

import numpy as np
import pandas as pd
import pytest

from localbias.files import project_root
from localbias.ledger import filbbq
from localbias.ledger.assembly import evaluate
from localbias.ledger.claim import read_claims
from localbias.ledger.settings import Settings

S = Settings()
CLAIMS = read_claims(project_root() / "data/papers/filbbq_claims.yml")


def test_every_number_has_one_row():
    assert list(CLAIMS) == [f"F{n}" for n in range(1, 32)]
    assert {key for key, claim in CLAIMS.items() if claim.kind == "conjecture"} == {"F26", "F30"}


@pytest.fixture
def made(monkeypatch):
    """Forty stereotypes, the first ten of a theme; guessers list ten of them at random, in two contexts of five."""
    rng = np.random.default_rng(1)
    lists = np.array([rng.permutation(40)[:10] for _ in range(2000)])
    monkeypatch.setattr(filbbq, "guessed", lambda guesser: lists)
    table = pd.DataFrame({"theme": np.arange(40) < 10, "inside": np.arange(40) < 20})

    def listing(*which):
        return table.assign(model=table.index.isin(which))

    return listing


def test_a_list_of_a_theme_holds_beyond_chance_and_one_of_anything_does_not(made):
    true = filbbq.listed(made(0, 1, 2, 3, 4, 20, 21), S, lists=["model"], of="theme")
    assert (true.verdict, true.support, true.n) == ("holds", "beyond chance", 7) and true.p < 0.01
    false = filbbq.listed(made(0, 20, 21, 22, 23, 24), S, lists=["model"], of="theme")
    assert false.verdict == "not supported" and false.value == pytest.approx(1 / 6)
    # Five of seven are not four fifths, but more than a guesser lists.
    part = filbbq.listed(made(0, 1, 2, 3, 4, 20, 21), S, lists=["model"], of="theme", bound=0.8)
    assert part.verdict == "holds in part"
    # One of the theme is all of one; a guesser's share within a small list is often as large.
    alone = filbbq.listed(made(0), S, lists=["model"], of="theme", within="inside", bound=1)
    assert alone.verdict == "holds" and alone.p < 0.5
    none = filbbq.listed(made(30), S, lists=["model"], of="theme", within="inside")
    assert none.verdict == "not supported" and none.n == 0 and np.isnan(none.p)


def test_void_lists_pass_as_beyond_chance_in_at_most_one_of_twenty(made):
    """Five hundred lists of a guesser's own, judged as if a model had printed them."""
    rng = np.random.default_rng(2)
    found = [filbbq.listed(made(*rng.permutation(40)[:10]), S, lists=["model"], of="theme").support for _ in range(500)]
    assert np.mean([support == "beyond chance" for support in found]) <= 0.05


@pytest.mark.slow
@pytest.mark.mirror
def test_lists_that_share_no_more_than_guessers_do_are_not_beyond_chance():
    table = filbbq.TABLES["filbbq_overlaps"]()
    by_guessers, at_random = (filbbq.overlap(table, S, null=null) for null in ("dice", "random"))
    assert by_guessers.verdict == "holds in part" and at_random.verdict == "holds"
    all_alike = filbbq.overlap(table.assign(shared=5), S)
    assert (all_alike.verdict, all_alike.support) == ("holds", "beyond chance")
    assert filbbq.overlap(table.assign(shared=0), S).verdict == "not supported"


@pytest.mark.mirror
def test_the_counts_are_the_papers():
    """FilBBQ, Table 2 and section 3.2.2; 106 rows and the four rows of 4 prompts are counted in the template files."""
    have = filbbq.counts().set_index("name")["value"]
    assert (have["prompts"], have["gender prompts"], have["orientation prompts"]) == (10_576, 7_952, 2_624)
    assert have["gender templates, translated or modified"] == 34 + 11 and have["gender templates, new"] == 32
    assert have["orientation templates, translated or modified"] == 19 + 7 and have["orientation templates, new"] == 20
    assert have["template rows that yield prompts"] == 106 and have["fewest prompts of a template row"] == 4
    assert have["labels of the six"] == 6 and have["other labels"] == 0
    assert have["names of the statistics authority"] == 20


def test_what_the_printed_values_alone_say():
    """By hand from Tables 3–5: SEA-LION 0.57 0.42 0.31 0.29 0.26 | 0.78 0.18 0.17 0.17 0.16, and so on."""
    have = filbbq.facts().set_index("name")["value"]
    assert have["SEA-LION: gender entries of ten"] == 6 and have["SeaLLMs: gender entries of ten"] == 10
    assert have["roberta-tagalog: gender entries of ten"] == 4  # two more are printed as gender and are none
    assert have["SEA-LION: of them emotion or domesticity, narrow"] == 3
    assert have["SEA-LION: of them emotion or domesticity, wide"] == 5
    assert have["SeaLLMs, ambiguous: scores that can be above 0.20"] == 1
    assert have["SeaLLMs, disambiguated: scores that can be above 0.20"] == 123  # the fifth is 0.21
    ranks = [have[name] for name in have.index if "ranks of five" in name]
    assert ranks == [5, 4, 1, 4]
    assert have["0.57: per cent more likely, at least"] == pytest.approx(100 * (0.785 / 0.215 - 1))


@pytest.mark.mirror
def test_arithmetic_of_seeds_by_hand():
    have = filbbq.arithmetic().set_index("name")["value"]
    # Mean 0.22 without "unknown": 0.39 counter; four prompts all counter 0.39⁴, once in fifty runs.
    assert have["4 prompts, mean 0.22: probability of −1.00 in a run of fifty"] == pytest.approx(
        1 - (1 - 0.39**4) ** 50
    )
    # 0.785 biased; two or fewer of four.
    a, b = 0.785, 0.215
    assert have["4 prompts, mean 0.57: probability of a run at 0.00 or below"] == pytest.approx(
        b**4 + 4 * a * b**3 + 6 * a**2 * b**2
    )
    p = 0.465**4
    assert have["4 answers, mean 0.07: probability of two runs of fifty at −1.00"] == pytest.approx(
        1 - (1 - p) ** 50 - 50 * p * (1 - p) ** 49
    )
    assert have["24 answers, mean 0.07: probability of two runs of fifty at −1.00"] < 1e-10
    ratio = have["emotional with 4 prompts: spread of a run over that of fashion"]
    assert ratio == pytest.approx(np.sqrt((1 - 0.57**2) / 4) / np.sqrt((1 - 0.31**2) / 24))


@pytest.mark.mirror
def test_verdicts_of_the_31_claims():
    """As reviewed: what no published file can tell, what hangs on the reading, what holds."""
    tables = {name: make() for name, make in filbbq.TABLES.items()}
    found = {key: evaluate(claim.rule, tables, S) for key, claim in CLAIMS.items()}
    of = {}
    for key, finding in found.items():
        of.setdefault(finding.verdict, []).append(int(key[1:]))
    assert of == {
        "holds": [1, 3, 4, 7, 22, 24],
        "holds in part": [16, 21, 23, 27, 28],
        "not supported": [8],
        "depends on the reading": [2, 5, 6, 11, 12, 13, 15, 20, 25, 31],
        "cannot tell": [9, 10, 14, 17, 18, 19, 26, 29, 30],
    }
    assert found["F24"].support == "as described", "guessers' lists are all of gender more often than once in twenty"
    assert "0.31" not in found["F17"].figure and "2 cannot be the score of a single run" in found["F17"].figure
