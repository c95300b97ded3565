"""Whole tables with an encoder whose vectors are known: columns, families, flags, names that do not exist."""

import zlib

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import embed_made
import localbias.studies.weat as run
from localbias.errors import BadValues, ProtocolUnfit, UnknownName
from localbias.measures.weat import weat_test
from localbias.models.encoder import Encoder, Seen
from localbias.studies.summary import FLAG_KINDS, flag_counts
from localbias.studies.weat import COLUMNS, languages_of, methods_of, run_weat, smallest_p_table, word_flags


class KnownEncoder:
    """Vectors drawn from the word's own bytes; words in ``lost`` have none, those in ``broken`` are infinite."""

    lost: frozenset = frozenset()
    broken: frozenset = frozenset()
    zero: frozenset = frozenset()
    unlisted: frozenset = frozenset()
    cut: frozenset = frozenset()
    read: dict = {}
    first: dict = {}
    doubted: tuple = ()
    read_as = "as known"

    def __init__(self, model="known", protocol="in-context", **_):
        self.model, self.protocol, self.revision, self.weights, self.kind = model, protocol, "r1", "float32", "encoder"
        self.methods = ("M10",) if model == "static" else ("M1", "M5", "M8")

    def encode(self, words, methods=("M5",), language="und"):
        return {code: np.stack([self._vector(code + w, w) for w in words]) for code in methods}

    def look(self, words, language="und"):
        listed = [word not in self.unlisted if self.model == "static" else None for word in words]
        return {
            word: Seen({"": self.read.get(word, word)} | self.first.get(word, {}), ok, word in self.cut)
            for word, ok in zip(words, listed, strict=True)
        }

    def doubts(self, language):
        return list(self.doubted)

    def _vector(self, key, word):
        vector = np.random.default_rng(zlib.crc32(key.encode())).normal(size=16).astype(np.float32)
        if word in self.lost:
            vector[:] = np.nan
        if word in self.broken:
            vector[3] = np.inf
        if word in self.zero:
            vector[:] = 0
        return vector


@pytest.fixture(autouse=True)
def known(monkeypatch):
    encoder = type("Encoder", (KnownEncoder,), {})
    monkeypatch.setattr(run, "Encoder", encoder)
    return encoder


@pytest.fixture
def lexicon(tmp_path):
    """A data set of two languages and two tests: weat1 with oddities, weat6 with two words a set."""
    sets = {
        "weat1": {
            "X": ["rose", "Rose", "lily", "ant", "elm", "oak"],
            "Y": ["ant", "bee", "wasp", "fly", "moth"],
            "A": ["joy", "love", "peace", "rose"],
            "B": ["evil", "ugly", "joy", "war"],
        },
        "weat6": {"X": ["ann", "eve"], "Y": ["bob", "joe"], "A": ["kin", "home"], "B": ["job", "pay"]},
    }
    rows = [
        ("mine", language, "user", test, role, role, i, word if language == "en" else word + "o")
        for language in ("en", "tl")
        for test, roles in sets.items()
        for role, words in roles.items()
        for i, word in enumerate(words, 1)
    ]
    path = tmp_path / "mine.csv"
    names = ["dataset", "language", "variant", "test", "role", "category", "position", "word"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return str(path)


def table(lexicon, **keywords):
    settings = {
        "languages": ["en", "tl"],
        "tests": ["weat1", "weat6"],
        "model": "known",
        "dataset": lexicon,
        "n_resamples": 100,
        "progress": False,
    }
    return run_weat(**settings | keywords)


def test_one_row_a_language_test_and_method_with_the_promised_columns(lexicon):
    got = table(lexicon, methods=("M1", "M5"))
    assert tuple(got.columns) == COLUMNS
    assert list(zip(got["language"], got["test"], got["method"], strict=True)) == [
        (c, t, m) for c in ("en", "tl") for t in ("weat1", "weat6") for m in ("M1", "M5")
    ]
    assert set(got["dataset"]) == {"mine"} and set(got["revision"]) == {"r1"}
    assert got["ci_low"].le(got["ci_high"]).all()


def test_a_row_holds_what_the_test_on_arrays_gives(lexicon):
    row = table(lexicon, languages=["en"], tests=["weat6"], methods=("M5",)).iloc[0]
    words = [["ann", "eve"], ["bob", "joe"], ["kin", "home"], ["job", "pay"]]
    result = weat_test(*(KnownEncoder().encode(w)["M5"] for w in words))
    assert row["effect_size"] == result.effect_size and row["p_value"] == result.p_value
    assert row["p_strict"] == result.p_value_strict and row["p_min"] == 2 / 6


def test_q_and_holm_are_taken_over_one_method_of_one_model(lexicon):
    got = table(lexicon, methods=("M1", "M5"))
    for _, family in got.groupby("method"):
        assert set(family["family_size"]) == {4}
        np.testing.assert_allclose(family["q_value"], stats.false_discovery_control(family["p_two_sided"]))
        assert family["p_holm"].ge(family["q_value"] - 1e-12).all()
    assert (got["significant_q"] == (got["q_value"] < 0.05)).all()


def test_flags_count_oddities_and_say_what_set_sizes_cannot_show(lexicon):
    got = table(lexicon, languages=["en"]).set_index("test")["flags"]
    for part in (
        "1 repeated in X",
        "1 in both X and Y",
        "1 in both A and B",
        "1 both target and attribute",
        "small sets (X 6, Y 5, A 4, B 4)",
    ):
        assert part in got["weat1"]
    assert "cannot be significant (smallest p 0.33)" in got["weat6"]
    assert "rose" not in got["weat1"]


def test_clean_removes_what_the_flags_report(lexicon):
    got = table(lexicon, languages=["en"], tests=["weat1"], clean=True).iloc[0]
    assert (got["n_x"], got["n_y"], got["n_a"], got["n_b"]) == (4, 4, 3, 3)
    assert "repeated" not in got["flags"] and "both X" not in got["flags"] and bool(got["clean"])


def test_a_word_without_a_vector_is_left_out_and_reported(lexicon, known):
    known.lost = frozenset({"lily", "war"})
    got = table(lexicon, languages=["en"], tests=["weat1"]).iloc[0]
    assert (got["n_x"], got["n_b"]) == (5, 3) and got["coverage"] == pytest.approx(17 / 19)
    assert "words without a vector (X 1, B 1)" in got["flags"]


def test_words_outside_the_vocabulary_of_static_vectors_are_counted(lexicon, known):
    known.unlisted = frozenset({"rose", "lily", "ant", "love", "evil", "war", "bee", "wasp", "fly", "moth"})
    got = table(lexicon, model="static", methods=("M10",), tests=["weat1"], languages=["en"]).iloc[0]
    # by hand: of 19 words Rose, elm, oak, joy, peace, ugly, joy are listed
    assert got["coverage"] == 1.0 and got["in_vocabulary"] == pytest.approx(7 / 19)
    assert "only 37% of the words in the vocabulary" in got["flags"]
    assert np.isnan(table(lexicon, languages=["en"])["in_vocabulary"]).all()


def test_words_that_the_model_cannot_tell_apart_are_flagged_and_cleaned(lexicon, known):
    # X: rose Rose lily ant elm oak, Y: ant bee wasp fly moth, A: joy love peace rose, B: evil ugly joy war
    known.read = {"elm": "oak", "lily": "bee", "war": "oak", "peace": None}
    known.first = {word: {"M1": "e"} for word in ("elm", "evil", "moth")}
    got = table(lexicon, languages=["en"], tests=["weat1"], methods=("M1", "M5"))
    by_method = got.set_index("method")["flags"]
    for part in (
        "2 in X not told apart",  # elm and oak
        "1 not told apart between X and Y",  # lily and bee
        "1 not told apart between targets and attributes",  # elm, oak and war
        "only unknown pieces (A 1)",
    ):
        assert part in by_method["M5"], part
    # M1 reads elm as moth and evil, no longer as oak
    assert "in X not told apart" not in by_method["M1"]
    assert "2 not told apart between X and Y" in by_method["M1"]
    clean = table(lexicon, languages=["en"], tests=["weat1"], clean=True).iloc[0]
    # by hand: X without ant (both sides) and the second rose: rose lily elm oak; then oak repeats elm, lily is bee
    assert (clean["n_x"], clean["n_y"], clean["n_a"], clean["n_b"]) == (2, 3, 2, 3)
    assert clean["flags"].count("not told apart") == 1  # war and elm: a target and an attribute, as rose may be


def test_every_flag_about_reading_has_a_meaning_on_the_page(lexicon, known):
    known.read = {"elm": "oak", "war": "oak", "peace": None}
    known.cut = frozenset({"rose", "lily", "ant", "bee", "wasp", "fly", "moth", "elm", "oak", "joy", "love"})
    known.unlisted = known.cut | {"war", "ugly"}
    known.doubted = (
        "model made for en",
        "read without a start token, which the model lacks",
        "not read in the word-initial form",
    )
    got = table(lexicon, model="static", methods=("M10",), tests=["weat1"], languages=["en"])
    kinds = [mark for mark in FLAG_KINDS if mark in got.iloc[0]["flags"]]
    about_reading = [flag for flag in got.iloc[0]["flags"].split("; ") if any(mark in flag for mark in kinds)]
    assert about_reading == got.iloc[0]["flags"].split("; ")
    assert flag_counts(got)["rows"].eq(1).all() and len(flag_counts(got)) == len(kinds) >= 7


def test_a_row_says_how_its_words_were_read(lexicon, known):
    known.doubted = ("model made for en",)
    known.cut = frozenset({"rose", "lily", "ant", "bee", "wasp", "fly", "moth", "elm", "oak"})
    got = table(lexicon, languages=["en"], tests=["weat1"]).iloc[0]
    assert got["read_as"] == "as known" and got["flags"].startswith("model made for en; ")
    assert "56% of the words cut into single characters or bytes" in got["flags"]  # 9 of the 16 different words


def test_a_set_with_one_word_left_gives_a_row_that_says_so(lexicon, known):
    known.lost = frozenset({"ann"})
    got = table(lexicon, languages=["en"])
    row = got.set_index("test").loc["weat6"]
    assert np.isnan(row["effect_size"]) and np.isnan(row["p_value"]) and np.isnan(row["q_value"])
    assert "not computed: fewer than 2 words with a vector (X has 1)" in row["flags"]
    assert not row["significant_paper"] and not row["significant_q"]
    assert set(got["family_size"]) == {1}


@pytest.mark.parametrize("kind", ["broken", "zero"])
def test_a_broken_vector_is_an_error_that_names_word_set_test_and_language(lexicon, known, kind):
    setattr(known, kind, frozenset({"beeo"}))
    with pytest.raises(BadValues) as error:
        table(lexicon)
    for part in ("'beeo'", "set Y", "weat1", "tl", "M5", "known"):
        assert part in str(error.value)


def test_vectors_that_are_all_alike_are_flagged(lexicon, monkeypatch, known):
    monkeypatch.setattr(known, "_vector", lambda self, key, word: np.ones(4, dtype=np.float32))
    got = table(lexicon, languages=["en"], tests=["weat1"]).iloc[0]
    assert np.isnan(got["effect_size"]) and got["p_value"] == 1.0 and "no spread" in got["flags"]


def test_several_models_give_the_methods_that_they_have(lexicon):
    got = table(lexicon, languages=["en"], model=["known", "static"], methods=("M5", "M10"))
    assert list(zip(got["model"], got["method"], strict=True)) == [("known", "M5")] * 2 + [("static", "M10")] * 2
    assert set(got["family_size"]) == {2}


def test_unknown_names_are_errors_that_offer_the_nearest(lexicon):
    for keywords, message in (
        ({"methods": ("M11",)}, "unknown method"),
        ({"methods": ("M10",)}, "expected: M1, M5, M8"),
        ({"tests": ["waet1"]}, "did you mean weat1"),
        ({"languages": ["enn"]}, "did you mean en"),
        ({"tests": []}, "'tests' is out of its range"),
        ({"languages": []}, "'languages' is out of its range"),
    ):
        with pytest.raises((UnknownName, BadValues), match=message):
            table(lexicon, **keywords)


def test_all_languages_are_those_that_have_the_words(lexicon):
    assert languages_of("all", ["weat1"], dataset=lexicon) == ("en", "tl")
    assert languages_of("all", ["weat1"], dataset=lexicon, leave_out=["en"]) == ("tl",)
    assert languages_of("th", ["weat1"], dataset=lexicon) == ("th",)
    assert languages_of("all", ["weat1"], dataset=lexicon, leave_out=["en", "tl"]) == ("en", "tl")
    with pytest.raises(UnknownName, match="weat99"):
        languages_of("all", ["weat99"], dataset=lexicon)
    with pytest.raises(BadValues, match="weat2"):
        languages_of("all", ["weat2"], dataset=lexicon)


def test_all_methods_are_those_of_the_model():
    assert methods_of("all", ("M1", "M2"), "m") == ("M1", "M2")
    assert methods_of("M2", ("M1", "M2"), "m") == ("M2",)


def test_two_runs_give_the_same_table(lexicon):
    pd.testing.assert_frame_equal(table(lexicon), table(lexicon))


def test_without_resamples_there_is_no_interval(lexicon):
    got = table(lexicon, n_resamples=0)
    assert got["ci_low"].isna().all() and got["effect_size"].notna().all()


def test_word_flags_of_sound_sets_are_none():
    from localbias.words.lexicon import WordSets

    words = [f"{role}{i}" for role in "xyab" for i in range(8)]
    assert word_flags(WordSets(words[:8], words[8:16], words[16:24], words[24:])) == []


def test_a_set_is_small_when_few_of_its_words_have_a_vector_and_unseen_characters_are_flagged():
    from localbias.words.lexicon import WordSets

    words = [f"{role}{i}" for role in "xyab" for i in range(8)]
    sets = WordSets(words[:8], words[8:16], words[16:24], ["b\u200b0", "b\u00ad1", *words[26:]], language="en")
    known = sets.sets | {"Y": words[8:12]}
    assert word_flags(sets, known) == ["2 with an invisible character", "small sets (Y 4)"]
    flags = word_flags(
        WordSets(["ro\u200bse", "rose", *words[:8]], words[8:16], words[16:24], words[24:], language="en")
    )
    assert flags == ["1 repeated in X", "1 with an invisible character"]


def test_two_sets_of_the_same_words_are_flagged_whatever_their_order():
    from localbias.words.lexicon import WordSets

    words = [f"{role}{i}" for role in "xab" for i in range(8)]
    flags = word_flags(WordSets(words[:8], words[7::-1], words[8:16], words[16:]))
    assert flags == ["X and Y are the same words"]


def test_smallest_p_of_the_sizes_in_a_table(lexicon):
    got = smallest_p_table(table(lexicon))
    assert got.loc[0, ["n_x", "n_y", "rows"]].tolist() == [2, 2, 2] and got.loc[0, "p_min"] == 2 / 6


@pytest.mark.mirror
def test_english_stands_once_where_it_has_one_list_for_all_variants():
    got = run_weat(["en", "da"], ["weat6"], "known", ("M5",), variant=["gt", "human"], n_resamples=0, progress=False)
    assert list(zip(got["language"], got["variant"], strict=True)) == [("en", "all"), ("da", "gt"), ("da", "human")]


def test_of_several_models_one_that_cannot_do_the_protocol_gives_rows_that_say_so(tmp_path, monkeypatch):
    """Under weathub-2023 a decoder without a closing token has no position to read; BERT's rows stand as if alone."""
    monkeypatch.setattr(run, "Encoder", Encoder)
    sound, unfit = str(embed_made.bert(tmp_path / "bert")), str(embed_made.llama(tmp_path / "llama"))
    words = pd.DataFrame(
        [
            ("en", "weat1", role, word)
            for role, some in zip("XYAB", ("bee flower", "math older", "sister a", "b ab"), strict=True)
            for word in some.split()
        ],
        columns=["language", "test", "role", "word"],
    )
    words.to_csv(tmp_path / "made.csv", index=False)
    asked = {"methods": ["M5", "M8"], "dataset": str(tmp_path / "made.csv"), "protocol": "weathub-2023"}
    asked |= {"n_resamples": 0, "progress": False}
    alone = run_weat(["en"], ["weat1"], sound, **asked)
    table = run_weat(["en"], ["weat1"], [unfit, sound], **asked)
    pd.testing.assert_frame_equal(table[table["model"] == sound].reset_index(drop=True), alone)
    lost = table[table["model"] == unfit]
    assert list(lost["method"]) == ["M5", "M8"] and lost[["effect_size", "p_value", "q_value"]].isna().all(axis=None)
    assert (lost["coverage"] == 0).all()
    assert lost["flags"].str.startswith("not computed: the protocol weathub-2023").all()
    with pytest.raises(ProtocolUnfit, match="weathub-2023 is undefined"):
        run_weat(["en"], ["weat1"], unfit, **asked)
