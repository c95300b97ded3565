"""The audit on small made lists whose faults are known, and its counts on the published ones."""

import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localbias.audit import SEVERITIES, templates, word_rules
from localbias.audit import results as results_audit
from localbias.audit import words as quality
from localbias.errors import BadTable, SourceUnavailable, UnknownName
from localbias.registry import LANGUAGES
from localbias.words.lexicon import WordSets, load_words, word_table
from localbias.words.mistranslations import COLUMNS, located, mistranslations
from localbias.words.tidy import COLUMNS as TIDY


def table_of(language="es", test="weat1", dataset="made", variant="user", **sets):
    rows = [
        (dataset, language, variant, test, role, "", place, word)
        for role in "XYAB"
        for place, word in enumerate(sets.get(role, FILL[role]), 1)
    ]
    return pd.DataFrame(rows, columns=list(TIDY))


FILL = {role: [f"{role.lower()}{chr(97 + n)}" for n in range(8)] for role in "XYAB"}


def found(kind, language="es", test="weat1", **sets):
    """Role and position of the findings of one kind."""
    sets = {role: [*words, *FILL[role][len(words) :]] for role, words in sets.items()}
    findings = quality.audit(table_of(language, test, **sets), kinds=[kind])
    return list(findings[["role", "position"]].itertuples(index=False, name=None))


def test_a_good_list_has_no_finding():
    assert quality.audit(table_of()).empty
    assert list(quality.audit(table_of()).columns) == list(quality.COLUMNS)


WORD_RULES = [
    ("gap", "es", "nan", "nano"),
    ("quotes", "es", "«rosa»", "rosa"),
    ("quotes", "ja", "「花」", "花"),
    ("quotes", "fr", "'fleur'", "l'amour"),
    ("quotes", "tr", "‘gül’", "Ankara’da"),
    ("alternatives", "es", "rosa (flor)", "rosa flor"),
    ("alternatives", "el", "σάπιος/σάπια", "σάπιος"),
    ("alternatives", "es", "rosa or lirio", "oro"),
    ("alternatives", "zh", "花（植物）", "花"),
    ("punctuation", "el", "μενεξές;", "μενεξές"),
    ("punctuation", "fa", "خنگ، کودن", "خنگ"),
    ("punctuation", "es", "-rosa", "rosa-lirio"),
    ("punctuation", "ja", "花・", "アン・リー"),
    ("punctuation", "uk", "м'яч.", "м'яч"),
    ("punctuation", "es", "$", "ese"),
    ("blanks", "es", " rosa", "rosa lirio"),
    ("blanks", "es", "rosa  lirio", "rosa lirio"),
    ("invisible character", "es", "ro\u200bsa", "rosa"),
    ("invisible character", "es", "rosa\u00a0lirio", "rosa lirio"),
    ("invisible character", "es", "ro\u200csa", "rosa"),
    ("invisible character", "fa", "گل\u200c", "گل\u200cها"),
    ("not NFC", "es", "cafe\u0301", "caf\u00e9"),
    ("wrong script", "bn", "नमस्ते", "নমস্কার"),
    ("wrong script", "zh", "はな", "花"),
    ("Latin left-over", "el", "bongo", "μπόνγκο"),
    ("Latin left-over", "ja", "NASA", "ナサ"),
    ("mixed script", "ja", "XXさん", "お母さん"),
    ("mixed script", "ru", "pоза", "роза"),
    ("no letters", "es", "—", "a"),
    ("neighbour's letter", "fa", "رنگين", "رنگین"),
    ("neighbour's letter", "ckb", "ئيشى", "ئیشی"),
    ("capitalised", "es", "Rosa", "rosa"),
    ("capitalised", "ru", "Роза", "роза"),
    ("capitalised", "es", "¡Rosa", "NASA"),
    ("capitals", "el", "ΟΥΡΑΝΙΟ ΤΟΞΟ", "ουράνιο τόξο"),
    ("capitals", "fr", "MOTS AGRÉABLES", "NASA"),
    ("long entry", "tl", "hindi marunong bumasa at sumulat", "hindi marunong bumasa sumulat"),
    ("digits", "es", "f16", "efe"),
]


@pytest.mark.parametrize("kind, language, bad, good", WORD_RULES)
def test_a_word_rule_catches_the_bad_and_not_the_good(kind, language, bad, good):
    assert ("Y", 2) in found(kind, language, Y=["ya", bad])
    assert ("Y", 2) not in found(kind, language, Y=["ya", good])


def test_every_rule_is_tested_and_documented():
    table = quality.rules()
    sets = {"duplicate", "overlap", "identical sets", "unequal sets", "small set", "tiny set", "as in English"}
    assert set(table["kind"]) == {kind for kind, *_ in WORD_RULES} | sets
    assert set(table["severity"]) == set(SEVERITIES) and (table[["meaning", "example"]] != "").all(axis=None)


def test_exceptions_of_the_case_rule():
    assert found("capitalised", "de", X=["Rose"]) == [], "German nouns"
    assert found("capitalised", "hi", X=["गुलाब"]) == [], "no case in Devanagari"
    assert found("capitalised", "es", "weat6", X=["Ana"], A=["Jefe"]) == [("A", 1)], "first names, but not careers"
    assert found("long entry", "vi", X=["người không có quyền công"]) == [], "Vietnamese parts syllables"


def test_duplicates_count_from_the_second_on():
    assert found("duplicate", X=["rosa", "Rosa", "lirio", "rosa "]) == [("X", 2), ("X", 4)]
    assert found("duplicate", X=["nan", "nan"]) == [], "gaps are another rule"


def test_overlap_is_one_finding_a_word():
    assert found("overlap", X=["su", "él", "su"], Y=["SU"], A=["paz"], B=["guerra", "paz"]) == [("X", 1), ("A", 1)]
    assert found("overlap", X=["su"], A=["su"]) == [], "between targets and attributes it is no fault"


def test_identical_sets_are_one_finding_and_no_overlap():
    sets = {"X": ["a", "b"], "Y": ["B", "a", "b"]}
    table = table_of(**sets)
    assert list(quality.audit(table, kinds=["identical sets", "overlap"])["role"]) == ["XY"]


@pytest.mark.parametrize("size, kinds", [(8, []), (7, ["small set"]), (4, ["small set"]), (3, ["tiny set"])])
def test_small_sets(size, kinds):
    table = table_of(A=FILL["A"][:size])
    assert list(quality.audit(table, kinds=["small set", "tiny set"])["kind"]) == kinds
    unequal = quality.audit(table, kinds=["unequal sets"])
    assert list(unequal["detail"]) == ([] if size == 8 else [f"A: {size} words, B: 8"])


def test_english_words_in_another_language():
    english = table_of("en", X=["piano", "rose"])
    spanish = table_of("es", X=["Piano", "rosa"], Y=["rose"], A=FILL["A"], B=["b"])
    both = pd.concat([english, spanish], ignore_index=True)
    findings = quality.audit(both, kinds=["as in English"])
    ours = findings[findings["position"].isin([1]) & findings["role"].isin(["X", "Y"])]
    assert list(ours[["language", "role", "word"]].itertuples(index=False, name=None)) == [("es", "X", "Piano")]


def test_findings_carry_the_cell_and_can_be_narrowed():
    table = table_of(X=["rosa."]).assign(source="es_sheet1.xlsx", tab="df2", row=range(7, 32))
    row = quality.audit(table, kinds=["punctuation"]).iloc[0]
    assert (row["source"], row["tab"], row["row"], row["detail"]) == ("es_sheet1.xlsx", "df2", 7, "holds .")
    assert quality.audit(table, languages=["fr"]).empty
    with pytest.raises(UnknownName, match="did you mean punctuation"):
        quality.audit(table, kinds=["punctuations"])


def test_counts_and_distinct():
    tables = [table_of(variant=variant, X=["rosa.", "lirio."]) for variant in ("human", "all")]
    findings = quality.audit(pd.concat(tables, ignore_index=True), kinds=["punctuation"])
    assert quality.counts(findings)["n"].tolist() == [4]
    distinct = quality.distinct(findings)
    assert list(distinct["lists"]) == [2, 2] and list(distinct["variants"]) == ["human all"] * 2


letters = st.text(st.characters(categories=("L",)), min_size=1, max_size=6)


@given(st.lists(letters.map(lambda w: unicodedata.normalize("NFC", w)), min_size=4, max_size=8))
def test_every_rule_takes_any_words(words):
    """No rule fails on any word; a rule only points at places that exist."""
    sets = WordSets(words, words[::-1], words[:1], [], "weat1", "ja")
    for rule in word_rules.RULES.values():
        for role, position, word, detail in rule.find(sets):
            assert detail and (position == 0 or sets.sets[role][position - 1] == word)


def test_removed_words_by_hand(tmp_path):
    """X: 3 words of which one twice; Y: 2; A = B: both emptied, 1 + 1; 7 words, 3 removed."""
    rows = [("X", "a"), ("X", "b"), ("X", "a"), ("Y", "c"), ("Y", "d"), ("A", "e"), ("B", "E")]
    lines = ["language,test,role,word", *(f"sw,weat1,{role},{word}" for role, word in rows)]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    row = quality.removed_words(str(tmp_path / "r.csv")).iloc[0]
    assert (row["words"], row["removed"], row["emptied"]) == (7, 3, "AB")


def results(**columns):
    base = {
        "language": ["zh", "zh"],
        "test": ["weat1", "weat2"],
        "method": ["M5", "M5"],
        "effect_size": [1.0, 0.4],
        "p_two_sided": [0.02, 0.4],
        "q_value": [0.04, 0.4],
        "significant_paper": [True, False],
        "n_x": [8, 8],
        "n_y": [8, 8],
        "n_a": [8, 8],
        "n_b": [8, 8],
    }
    return pd.DataFrame(base | columns)


def test_cleaning_effect_by_hand():
    after = results(effect_size=[0.5, float("nan")], significant_paper=[False, False], n_x=[6, 0], n_b=[7, 8])
    table = quality.cleaning_effect(results(), after)
    assert table["change"].tolist()[0] == -0.5
    assert table["flipped"].tolist() == [True, False]
    assert table["undefined"].tolist() == [False, True]
    assert table["removed"].tolist() == [3, 8]
    assert table[["p_before", "p_after", "q_before", "q_after"]].iloc[0].tolist() == [0.02, 0.02, 0.04, 0.04]
    with pytest.raises(BadTable, match="different rows"):
        quality.cleaning_effect(results(), results(language=["zh", "th"]))
    with pytest.raises(BadTable, match="no effect_size"):
        quality.cleaning_effect(results(), results().drop(columns="effect_size"))


# -- mistranslations ----------------------------------------------------------------------------------------


def doubts(path, *rows):
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.to_csv(path, index=False)
    return path


PANSY = ("th", "weat1", "flowers", "pansy", "กะเทย", "transgender person", "certain", "", "human")


def test_mistranslations_are_read_strictly(tmp_path):
    path = doubts(
        tmp_path / "m.csv",
        PANSY,
        ("hi", "weat1", "insects", "hornet", "सींग", "horn", "likely", "x", "gt human"),
        ("hi", "weat7", "math", "calculus", "पथरी", "stone", "certain", "", "gt"),
    )
    table = mistranslations(path)
    assert list(table["confidence"]) == ["certain", "likely", "certain"], "by language, surest first"
    assert list(table["role"]) == ["X", "Y", "X"]
    assert mistranslations(path, ["th"])["word"].tolist() == ["กะเทย"]
    faults = {"confidence": "sure", "test": "weat99", "category": "birds", "word": "", "variant": "all", "meaning": " "}
    for column, value in faults.items():
        broken = pd.read_csv(path, dtype=str, keep_default_na=False)
        broken.loc[1, column] = value
        broken.to_csv(tmp_path / "b.csv", index=False)
        with pytest.raises(BadTable, match=f"row 3, column {column}"):
            mistranslations(tmp_path / "b.csv")
    with pytest.raises(SourceUnavailable):
        mistranslations(tmp_path / "none.csv")


@pytest.mark.mirror
def test_doubts_are_found_wherever_their_set_is_used(tmp_path):
    """By brute force: pansy's word stands in weat1 only, a pleasant word of the machine in weat1 and weat2."""
    pleasant = word_table("weathub", ["th"], ["weat1"], ["gt"]).query("role == 'A'")["word"].iloc[0]
    path = doubts(
        tmp_path / "m.csv",
        PANSY,
        (*PANSY[:4], "ไม่มี", *PANSY[5:]),
        ("th", "weat1", "pleasant", "caress", pleasant, "?", "possible", "", "gt"),
    )
    table = located(mistranslations(path)).set_index("word")
    assert table.at["กะเทย", "tests"] == "weat1" and table.at["กะเทย", "lists"] >= 1
    assert table.at["ไม่มี", "lists"] == 0 and table.at["ไม่มี", "tests"] == ""
    every = word_table("weathub", ["th"])
    holding = every[(every["word"] == pleasant) & every["test"].isin(["weat1", "weat2", "weat12b", "weat13b"])]
    assert table.at[pleasant, "lists"] == len(holding[["variant", "test"]].drop_duplicates()) == 2


def test_the_projects_own_list_is_well_formed():
    table = mistranslations()
    assert len(table) > 100 and set(table["language"]) <= set(LANGUAGES) - {"en"}


# -- the published lists and the starter --------------------------------------------------------------------


@pytest.mark.mirror
def test_known_faults_of_the_published_lists():
    """Found by eye: bn and en weat17 and weat18 have X = Y; Greek weat12 has four gaps, in weat12b again."""
    findings = quality.audit("weathub", kinds=["identical sets", "gap", "alternatives", "no letters"])
    same = findings[findings["kind"] == "identical sets"]
    assert set(zip(same["language"], same["test"], strict=True)) == {
        (language, test) for language in ("bn", "en") for test in ("weat17", "weat18")
    }
    gaps = findings[findings["kind"] == "gap"].groupby(["language", "test"]).size().to_dict()
    assert gaps == {("el", "weat12"): 4, ("el", "weat12b"): 4, ("mr", "weat2"): 1, ("vi", "weat6"): 1}
    other = quality.distinct(findings[findings["kind"] == "alternatives"])
    assert set(other["word"]) == {"(사람)", "σάπιος/σάπια", "Kaleleng/Kalaleng"}


@pytest.mark.mirror
def test_duplicates_of_the_published_lists_by_brute_force():
    table = word_table("weathub", variants=["all", "new", "india"])
    folded = table["word"].str.normalize("NFC").str.casefold().str.split().str.join(" ")
    keys = ["language", "variant", "test", "role"]
    twice = table.assign(folded=folded)[folded != "nan"].duplicated([*keys, "folded"])
    findings = quality.audit("weathub", variants=["all", "new", "india"], kinds=["duplicate"])
    assert len(findings) == twice.sum() > 0


def test_the_starter_has_no_errors_or_warnings():
    findings = quality.audit("starter")
    assert set(findings["severity"]) <= {"note"}


def test_words_templates_and_published_cells_have_one_scale_and_one_severity_for_one_fault():
    """The same fault in a word list and in a template, by hand: what counts twice, what carries stray blanks."""
    words, cells = word_rules.RULES, results_audit.RULES
    rules = {rule.name: rule for rule in templates.RULES}
    every = [*words.values(), *rules.values(), *cells.values()]
    assert {rule.severity for rule in every} == set(SEVERITIES) == {"error", "warning", "note"}
    assert words["duplicate"].severity == rules["repeated-variants"].severity == "error"
    assert words["blanks"].severity == rules["blanks"].severity == "warning"
    assert words["capitalised"].severity == rules["sentence-case"].severity == "note"


@pytest.mark.mirror
def test_the_largest_d_of_the_published_lists_is_that_of_their_most_unequal_sets():
    """By hand: 23 words, 8 and 15 of them: √(23 · 22 / 120) = 2.05; no published d comes near it."""
    sizes = word_table("weathub").groupby(["language", "variant", "test", "role"]).size().unstack("role")
    bounds = ((sizes["X"] + sizes["Y"]) * (sizes["X"] + sizes["Y"] - 1) / (sizes["X"] * sizes["Y"])) ** 0.5
    assert bounds.max() == pytest.approx(results_audit.LARGEST_D) == pytest.approx((23 * 22 / 120) ** 0.5)
    assert (bounds > 2).sum() == 13


@pytest.fixture
def lists(tmp_path):
    """Two languages, one test, and in Spanish two targets that are doubted."""
    sets = {
        "X": ["rosa", "lirio", "clavel"],
        "Y": ["mosca", "abeja"],
        "A": ["paz", "amor"],
        "B": ["odio", "odio", "mal"],
    }
    rows = [(code, "weat1", role, word) for code in ("es", "sw") for role, words in sets.items() for word in words]
    path = tmp_path / "two.csv"
    pd.DataFrame(rows, columns=["language", "test", "role", "word"]).to_csv(path, index=False)
    return str(path)


def doubted(*rows):
    columns = ["language", "test", "category", "word", "confidence"]
    return pd.DataFrame(rows, columns=columns).assign(role="X", english="?", meaning="?", note="", variant="human")


def test_leaving_doubted_words_out(lists, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    table = doubted(
        ("es", "weat1", "flowers", "Lirio", "certain"),
        ("es", "weat1", "flowers", "clavel", "likely"),
        ("es", "weat1", "insects", "mosca", "certain"),
        ("sw", "weat1", "pleasant", "rosa", "certain"),
    )
    path = quality.without_doubted(table, lists, ["es", "sw"])
    spanish = load_words("weat1", "es", dataset=path)
    assert spanish.x == ["rosa", "clavel"], "only certain doubts, by the set they concern"
    assert spanish.y == ["mosca", "abeja"], "a set keeps at least two words"
    assert load_words("weat1", "sw", dataset=path).sets == load_words("weat1", "sw", dataset=lists).sets
    assert spanish.dataset == "two-without-certain-doubts"
    assert quality.without_doubted(table, lists, ["es", "sw"]) == path, "the same words, the same file"
    assert load_words("weat1", "es", dataset=quality.without_doubted(table, lists, ["es"], "likely")).x == [
        "rosa",
        "lirio",
        "clavel",
    ], "one word would be left"
    with pytest.raises(UnknownName, match="certain, likely, possible"):
        quality.without_doubted(table, lists, ["es"], "sure")


def test_audit_in_words(lists):
    findings = quality.audit(lists, kinds=["duplicate", "unequal sets"])
    assert findings["severity"].value_counts().to_dict() == {"note": 4, "error": 2}
    twice = pd.concat([findings, *[findings[findings["kind"] == "duplicate"].assign(variant=v) for v in "ab"]])
    assert twice["kind"].value_counts()["duplicate"] == 6
    assert quality.distinct(twice)["kind"].value_counts().to_dict() == {"unequal sets": 4, "duplicate": 2}
    grid = quality.kinds_by_language(findings, ["es", "sw", "fr"])
    assert grid.groupby("kind")["n"].sum().to_dict() == {"duplicate": 2, "unequal sets": 4}
    assert len(grid) == 2 * 3
    assert quality.examples(findings)[["kind", "word"]].drop_duplicates().to_numpy().tolist() == [["duplicate", "odio"]]
    nothing = findings.iloc[:0]
    assert quality.kinds_by_language(nothing, ["es"])["n"].tolist() == [0] * len(quality.rules())


@pytest.mark.mirror
def test_doubted_words_leave_the_published_lists(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    table = doubted(("th", "weat1", "flowers", "กะเทย", "certain"))
    path = quality.without_doubted(table, "weathub", ["th"])
    before, after = load_words("weat1", "th", "all", "weathub"), load_words("weat1", "th", "all", path)
    assert [word for word in before.x if word != "กะเทย"] == after.x and len(after.x) < len(before.x)
    assert set(word_table(path)["variant"]) == {"all", "new"}
    with_gaps = quality.without_doubted(table, "weathub", ["el"])
    assert "nan" not in set(word_table(with_gaps)["word"])
