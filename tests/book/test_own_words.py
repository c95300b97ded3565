"""A person's own words through every notebook on words: a new language, a new test, both, and two lists.

Each list is tiny; the model is the small English one, whose numbers for these languages mean nothing: what is
tested is that a page is made whole, that its rows are those of the list, and that it says what it has nothing to
compare with. Set sizes and the smallest p (2 / 70 for 4 + 4 words) are counted by hand.
"""

import shutil
from itertools import product

import pandas as pd
import pytest

from localbias import languages_of, load_words
from localbias.book.execute import run_notebook
from localbias.book.profiles import find_notebook
from localbias.files import project_root
from localbias.registry import ORIGINAL_TESTS
from localbias.studies import weat

WORDS = {
    "is": ("rós lilja fífill sóley", "fluga maur bý könguló", "friður gleði ást vinur", "sorg stríð hatur eitur"),
    "en": (
        "mother sister aunt daughter",
        "father brother uncle son",
        "home garden kitchen child",
        "office salary career trade",
    ),
}
CASES = {"language": ("is", "weat1"), "test": ("en", "kin"), "both": ("is", "kin")}
PARAMETERS = {
    "01": {"model": "all-minilm-l6-v2"},
    "02": {"model": "all-minilm-l6-v2", "methods": ["M1", "M5", "M8"]},
    "03": {"model": "all-minilm-l6-v2"},
    "04": {"multilingual": "all-minilm-l6-v2", "monolingual": ["glove-6b-50d"]},
    "05": {"model": "all-minilm-l6-v2"},
    "06": {"model": "all-minilm-l6-v2"},
}
TABLES = {
    "01": "data-cleaning",
    "02": "sensitivity",
    "03": "weat-results",
    "04": "mono-results",
    "05": "india-results",
    "06": "dimension-results",
}
ALONE = "The authors' numbers are not at hand for these words: nothing stands beside ours."
SAID = {
    "01": ["nothing can be rebuilt here", "The doubts concern published words"],
    "02": ["There are no variances of the authors for these words: our order stands alone."],
    "03": ["There is no other translation of these words", "no machine and no human translation", ALONE],
    "04": [ALONE],
    "05": [ALONE],
    "06": ["there is no second attribute pair to compare", ALONE],
}
"""Number → what the page must say it has nothing to compare with."""


def rows(language, test):
    return [
        (language, test, role, word)
        for role, words in zip("XYAB", WORDS[language], strict=True)
        for word in words.split()
    ]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A copy of the notebooks and data with three lists of its own; nothing of the checkout is written."""
    root = tmp_path_factory.mktemp("own")
    for folder in ("notebooks", "data"):
        shutil.copytree(project_root() / folder, root / folder, ignore=shutil.ignore_patterns("results", "lexicons"))
    shutil.copy2(project_root() / "_config.yml", root)
    (root / "data" / "lexicons").mkdir()
    for name, (language, test) in CASES.items():
        table = pd.DataFrame(rows(language, test), columns=["language", "test", "role", "word"])
        table.to_csv(root / "data" / "lexicons" / f"own-{name}.csv", index=False)
    return root


@pytest.fixture
def here(book, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_ROOT", str(book))


def page_of(number, dataset, **more):
    """The text and the tables of a run."""
    with run_notebook(find_notebook(number), PARAMETERS[number] | {"dataset": dataset} | more, progress=False) as run:
        outputs = [o for cell in run.executed.cells for o in cell.get("outputs", [])]
        text = "\n".join("".join(o.get("data", {}).get("text/markdown", "")) for o in outputs)
        html = "\n".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)
        return text, html, {path.stem: pd.read_csv(path) for path in sorted(run.results.glob("*.csv"))}


@pytest.mark.book
@pytest.mark.parametrize(("number", "case"), list(product(PARAMETERS, CASES)))
def test_every_notebook_runs_on_a_list_of_ones_own(here, number, case):
    language, test = CASES[case]
    more = {"languages": [language], "tests": [test]} if number == "04" else {}
    text, html, tables = page_of(number, f"own-{case}", **more)
    made = tables[TABLES[number]]
    assert set(made["language"]) == {language} and set(made["test"]) == {test}
    assert set(made.get("dataset", [f"own-{case}"])) == {f"own-{case}"}
    if "n_x" in made:
        mine = made[made["effect_size"].notna()]
        assert (
            mine[["n_x", "n_y", "n_a", "n_b"]].eq(4).all(axis=None)
            and mine["p_min"].round(12).eq(round(2 / 70, 12)).all()
        )
    for sentence in [*SAID[number], *["there is no pair to compare"] * (number == "04" and language == "is")]:
        assert sentence in text, text
    if number in ("01", "03", "05", "06"):
        assert all(word in html for words in WORDS[language] for word in words.split())


@pytest.mark.book
def test_clean_and_interval_are_switches_of_a_page(here, book):
    """One word twice in X, one in both A and B: by hand 5 + 4 + 4 + 4 words are given, 4 + 4 + 3 + 3 left."""
    more = [("is", "weat1", "X", "rós"), ("is", "weat1", "B", "friður")]
    table = pd.DataFrame([*rows("is", "weat1"), *more], columns=["language", "test", "role", "word"])
    table = table[table["word"] != "eitur"]
    table.to_csv(book / "data" / "lexicons" / "own-dirty.csv", index=False)
    text, _, tables = page_of("03", "own-dirty", clean=True, interval="percentile")
    made = tables["weat-results"].iloc[0]
    assert bool(made["clean"]) and made[["n_x", "n_y", "n_a", "n_b"]].tolist() == [4, 4, 3, 3]
    _, html, other = page_of("03", "own-dirty", clean=False)
    given = other["weat-results"].iloc[0]
    assert not given["clean"] and given[["n_x", "n_y", "n_a", "n_b"]].tolist() == [5, 4, 4, 4]
    assert "1 repeated in X" in given["flags"] and "1 in both A and B" in given["flags"]
    pd.testing.assert_frame_equal(
        tables["weat-clean"][["effect_size_one", "effect_size_other"]],
        other["weat-clean"][["effect_size_one", "effect_size_other"]],
    )
    assert tables["weat-clean"].loc[0, "effect_size_other"] == made["effect_size"]
    assert tables["weat-clean"].loc[0, "ci_low_other"] == made["ci_low"] != other["weat-clean"].loc[0, "ci_low_other"]
    assert other["weat-clean"].loc[0, "effect_size_one"] == given["effect_size"]


def test_two_lists_of_one_name_stay_apart(tmp_path):
    """Two paths that end alike, one of them changed while the other was read: each gives its own words."""
    paths = [tmp_path / folder / "mine.csv" for folder in ("one", "other")]
    for path, (language, test) in zip(paths, list(CASES.values())[:2], strict=True):
        path.parent.mkdir()
        pd.DataFrame(rows(language, test), columns=["language", "test", "role", "word"]).to_csv(path, index=False)
    one, other = (
        load_words(test, language, dataset=str(path))
        for path, (language, test) in zip(paths, list(CASES.values())[:2], strict=True)
    )
    assert one.x == WORDS["is"][0].split() and other.x == WORDS["en"][0].split()
    assert one.dataset == other.dataset == "mine"
    assert languages_of("all", weat.tests_of("original", str(paths[0])), dataset=str(paths[0])) == ("is",)
    assert weat.tests_of("original", str(paths[1])) == ("kin",) and weat.tests_of("original") == ORIGINAL_TESTS
