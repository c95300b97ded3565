"""Asking models: tiny random ones, computed a second time by hand, killed, damaged and misused."""

import json
import os
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from filelock import FileLock

import filbbq_made as made
from localbias.errors import BadTable, BadValues, ModelUnavailable, UnknownName
from localbias.models import answer_jobs, prefix_tree
from localbias.models import answers as answers_module
from localbias.models.answer_store import AnswerStore, BrokenPart, OtherRun, RunBusy, attach
from localbias.models.answers import Loaded, answer_probabilities, load_answerer, written_answers
from localbias.models.letters import bare, letter_tokens
from localbias.models.written_answers import drawn_answers, generate, sample_token
from localbias.prompts import wording as protocols
from localbias.prompts.wording import OWN, PromptForm, prompt_form
from localbias.studies.scores import score_answers

P = ["p0", "p1", "p2", "p_neither"]


@pytest.fixture(scope="module")
def prompts():
    return made.prompts(2, 3)


@pytest.fixture(scope="module")
def model():
    return made.tiny()


def ask(prompts, model, protocol="next-token", **more):
    return answer_probabilities(prompts, model, protocol, **{"folder": None, "progress": False, "form": OWN} | more)


def by_hand(model, text):
    """The distribution of the next token after a text, by the model's ordinary call."""
    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        return model.model(ids).logits[0, -1].double().softmax(-1).numpy()


# ---- next-token


def test_probabilities_are_the_models_own(prompts, model):
    table = ask(prompts, model)
    letters = {"A": ["A", "A.", "A,", "(A)"], "B": ["B", "B.", "B,"], "C": ["C", "C."]}
    vocabulary = model.tokenizer.get_vocab()
    for i in (0, 5, 40):
        p = by_hand(model, OWN.render(prompts)[i] + "\nSagot:")
        row = table[table["prompt_id"] == i].iloc[0]
        for k, forms in enumerate(letters.values()):
            assert row[f"p{k}"] == pytest.approx(sum(p[vocabulary[f]] for f in forms), abs=1e-6)
        assert row["p_neither"] == pytest.approx(1 - row[["p0", "p1", "p2"]].sum(), abs=1e-6)
    assert np.allclose(table[P].sum(axis=1), 1, atol=1e-9)
    assert (table["cue"] == "\nSagot:").all() and (table["prompt_form"] == "localbias").all()


def test_shared_beginnings_change_nothing_but_the_work(prompts, model):
    shared, alone = ask(prompts, model), ask(prompts, model, reuse=False)
    assert shared["reuse"].all() and not alone["reuse"].any()
    assert np.abs(shared[P].to_numpy() - alone[P].to_numpy()).max() < 1e-5
    small = ask(prompts, model, budget=60)
    assert np.abs(shared[P].to_numpy() - small[P].to_numpy()).max() < 1e-5


def test_tree_holds_every_path_once():
    rng = np.random.default_rng(0)
    sequences = [list(rng.integers(0, 3, rng.integers(1, 12))) for _ in range(60)]
    packed = prefix_tree.bundles(sequences, budget=50)
    members = np.concatenate([b.members for b in packed])
    assert sorted(members) == list(range(60))
    for bundle in packed:
        assert len(bundle.tokens) <= 50
        prefixes = {tuple(sequences[m][: k + 1]) for m in bundle.members for k in range(len(sequences[m]))}
        assert len(bundle.tokens) == len(prefixes)  # each distinct beginning is computed exactly once
        visible = bundle.visible()
        for m, path in zip(bundle.members, bundle.paths, strict=True):
            assert bundle.tokens[path].tolist() == sequences[m]
            assert bundle.depth[path].tolist() == list(range(len(path)))
            for k, node in enumerate(path):
                assert set(np.flatnonzero(visible[node])) == set(path[: k + 1])


def test_sliding_windows_are_kept(prompts):
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    torch.manual_seed(0)
    tokenizer = made.tokenizer()
    config = Gemma3TextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=8,
        sliding_window=8,
        max_position_embeddings=256,
        layer_types=["sliding_attention", "full_attention"],
        initializer_range=0.3,
    )
    gemma = Loaded(tokenizer, Gemma3ForCausalLM(config).eval(), "tiny-gemma")
    shared, alone = ask(prompts, gemma), ask(prompts, gemma, reuse=False)
    assert shared["reuse"].all()  # prompts of 40 tokens and a window of 8: the check at the start passed
    assert np.abs(shared[P].to_numpy() - alone[P].to_numpy()).max() < 1e-5


def test_a_model_that_cannot_share_is_asked_alone(prompts, model):
    class Stubborn(type(model.model)):
        def forward(self, *args, attention_mask=None, position_ids=None, logits_to_keep=0, **kwargs):
            return super().forward(*args, **kwargs)

    torch.manual_seed(0)
    stubborn = Stubborn(model.model.config).eval()
    stubborn.load_state_dict(model.model.state_dict())
    table = ask(prompts, Loaded(model.tokenizer, stubborn, "stubborn"))
    assert not table["reuse"].any()
    assert np.abs(table[P].to_numpy() - ask(prompts, model)[P].to_numpy()).max() < 1e-5


def test_orders_ask_again(prompts, model):
    table = ask(prompts, model, orders="cyclic")
    assert len(table) == 3 * len(prompts)
    first = table[table["permutation"] == "012"].reset_index(drop=True)
    assert np.abs(first[P].to_numpy() - ask(prompts, model)[P].to_numpy()).max() < 1e-5
    row = prompts.iloc[0]
    turned = prompts.iloc[[0]].assign(ans0=row.ans1, ans1=row.ans2, ans2=row.ans0)
    p = by_hand(model, OWN.render(turned)[0] + "\nSagot:")
    got = table[(table["prompt_id"] == 0) & (table["permutation"] == "120")].iloc[0]
    assert got["p2"] == pytest.approx(p[[model.tokenizer.get_vocab()[f] for f in ("C", "C.")]].sum(), abs=1e-6)


def test_chat_models_get_their_template(prompts):
    chat = made.tiny()
    chat.tokenizer.chat_template = "{% for m in messages %}<s> {{ m['content'] }} Sagot {% endfor %}"
    table = ask(prompts, chat)
    text = chat.tokenizer.apply_chat_template(
        [{"role": "user", "content": OWN.render(prompts)[0]}], tokenize=False, add_generation_prompt=True
    )
    ids = torch.tensor([chat.tokenizer(text, add_special_tokens=False)["input_ids"]])
    with torch.inference_mode():
        p = chat.model(ids).logits[0, -1].double().softmax(-1).numpy()
    vocabulary = chat.tokenizer.get_vocab()
    assert table["p2"][0] == pytest.approx(p[[vocabulary["C"], vocabulary["C."]]].sum(), abs=1e-6)
    assert (table["cue"] == "").all()


# ---- the other protocols


def test_option_likelihood_is_the_mean_log_probability(prompts, model):
    table = ask(prompts, model, "option-likelihood")
    row = table[table["prompt_id"] == 4].iloc[0]
    stem = model.tokenizer(OWN.render(prompts)[4] + "\nSagot:")["input_ids"]
    means = []
    for k in range(3):
        option = prompts.loc[4, f"ans{k}"]
        ids = model.tokenizer(OWN.render(prompts)[4] + "\nSagot: " + option)["input_ids"]
        with torch.inference_mode():
            logp = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()
        steps = [logp[i - 1, ids[i]] for i in range(len(stem), len(ids))]
        assert row[f"length{k}"] == len(option.split())
        assert row[f"logp{k}"] == pytest.approx(sum(steps), abs=1e-4)
        means.append(np.mean(steps))
    want = np.exp(means) / np.exp(means).sum()
    assert np.allclose(row[["p0", "p1", "p2"]].to_numpy(float), want, atol=1e-5)
    assert (table["p_neither"] == 0).all()
    alone = ask(prompts, model, "option-likelihood", reuse=False)
    assert np.abs(table[P].to_numpy() - alone[P].to_numpy()).max() < 1e-5


def test_masked_letters_and_pseudo_likelihood(prompts):
    masked = made.tiny_masked()
    mask, vocabulary = masked.tokenizer.mask_token_id, masked.tokenizer.get_vocab()

    def at(ids, i):
        with torch.inference_mode():
            return masked.model(torch.tensor([ids])).logits[0, i].double().log_softmax(-1).numpy()

    text = OWN.render(prompts)[3] + "\nSagot:"
    ids = masked.tokenizer(text + " <mask>")["input_ids"]
    assert ids[-2] == mask
    p = np.exp(at(ids, len(ids) - 2))
    row = ask(prompts, masked, "masked").query("prompt_id == 3").iloc[0]
    assert row["p1"] == pytest.approx(p[[vocabulary[f] for f in ("B", "B.", "B,")]].sum(), abs=1e-6)

    row = ask(prompts.head(4), masked, "masked-pseudo").query("prompt_id == 3").iloc[0]
    for k in range(3):
        option = prompts.loc[3, f"ans{k}"]
        ids = masked.tokenizer(f"{text} {option}")["input_ids"]
        where = range(len(ids) - 1 - len(option.split()), len(ids) - 1)
        want = sum(at([mask if j == i else t for j, t in enumerate(ids)], i)[ids[i]] for i in where)
        assert row[f"logp{k}"] == pytest.approx(want, abs=1e-4)


def test_generated_answers_are_drawn_from_the_model(prompts, model):
    draws = dict(seeds=400, max_new_tokens=1)
    table = ask(prompts.head(2), model, "generate", draws=draws)
    exact = ask(prompts.head(2), model)
    # one token: every letter form but "A," ("," leads to nothing after it) parses to its letter
    for k in range(3):
        share, p = table[f"p{k}"].to_numpy(), exact[f"p{k}"].to_numpy()
        option = np.array([by_hand_text(model, prompts, i, prompts.loc[i, f"ans{k}"]) for i in range(2)])
        assert (np.abs(share - p - option) < 4 * np.sqrt(0.25 / 400)).all()
    pd.testing.assert_frame_equal(table, ask(prompts.head(2), model, "generate", draws=draws))
    # a prompt's answers do not depend on which others are asked
    alone = ask(prompts.iloc[[1]], model, "generate", draws=draws)
    assert alone["drawn"][0] == list(table["drawn"][1])
    long = drawn_answers(table)
    assert len(long) == 800 and set(long["seed_of_draw"]) == set(range(400))
    assert score_answers(long)["n"].sum() == 3 * 800


def by_hand_text(model, prompts, i, option):
    """Probability that the first token is a one-word option's text."""
    if " " in option:
        return 0.0
    p = by_hand(model, OWN.render(prompts)[i] + "\nSagot:")
    return p[model.tokenizer.get_vocab()[option]]


def test_the_protocol_follows_the_model_unless_it_is_named(prompts, model):
    for ready, own in ((made.tiny_masked(), "masked"), (model, "next-token")):
        pd.testing.assert_frame_equal(ask(prompts.head(4), ready, "auto"), ask(prompts.head(4), ready, own))
        assert ready.by("auto") == own


def test_the_empty_table_of_a_masked_model_has_the_columns_that_a_page_shows(prompts, model):
    """Page 10 shows template, written, answer, reason: of a model that writes nothing, too."""
    full = written_answers(prompts, model, 1, 1, form=OWN, folder=None, progress=False)
    none = written_answers(prompts, made.tiny_masked())
    assert none.empty and set(none.columns) <= set(full.columns)
    assert {"written", "answer", "reason", "begins"} | ({"template"} & set(prompts)) <= set(none.columns)


def test_written_answers_tell_letters_that_are_answers(prompts, model):
    table = written_answers(prompts, model, 2, 5, form=OWN, folder=None, progress=False)
    assert len(table) == 10 and table["prompt_id"].nunique() == 2
    for row in table.itertuples():
        words = [bare(word) for word in row.written.split() if bare(word) not in ("", "?")]
        assert row.begins == (words[:1] in (["A"], ["B"], ["C"]))
    assert written_answers(prompts, made.tiny_masked()).empty


def test_greedy_generation_is_the_models_own(prompts, model):
    ids = model.tokenizer(OWN.render(prompts)[0] + "\nSagot:")["input_ids"]
    ours = generate(model.tokenizer, model.model, ids, np.zeros((2, 6)), temperature=0)
    with torch.inference_mode():
        theirs = model.model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=6)[0, len(ids) :]
    assert ours == [model.tokenizer.decode(theirs, skip_special_tokens=True)] * 2


def test_sampling_inverts_the_cumulative_distribution():
    p = np.array([0.1, 0.6, 0.3])
    u = (np.arange(10_000) + 0.5) / 10_000
    drawn = sample_token(np.tile(np.log(p), (10_000, 1)), u, 1.0, 1.0)
    assert np.allclose(np.bincount(drawn) / 10_000, p, atol=2e-4)
    cold = sample_token(np.tile(np.log(p), (10_000, 1)), u, 0.5, 1.0)
    assert np.allclose(np.bincount(cold) / 10_000, p**2 / (p**2).sum(), atol=2e-4)
    nucleus = sample_token(np.tile(np.log(p), (10_000, 1)), u, 1.0, 0.7)
    assert np.allclose(np.bincount(nucleus, minlength=3) / 10_000, [0, 2 / 3, 1 / 3], atol=2e-4)


@pytest.mark.parametrize("setting", [(-1, 1), (np.nan, 1), (np.inf, 1), (1, 0), (1, -0.5), (1, 1.5), (1, np.nan)])
def test_token_sampling_refuses_what_is_out_of_range(setting):
    with pytest.raises(BadValues, match="out of range"):
        sample_token(np.zeros((1, 3)), np.array([0.5]), *setting)


def test_token_sampling_at_the_ends_of_the_range_takes_the_most_likely_token():
    logits, u = np.log([[0.2, 0.5, 0.3]] * 3), np.array([0.0, 0.5, 0.999])
    for setting in ((1e-300, 1.0), (1e-9, 1.0), (1.0, 1e-13), (1.0, 5e-324), (0, 1.0)):
        assert sample_token(logits, u, *setting).tolist() == [1, 1, 1]


# ---- words and letters


def test_surface_forms():
    for text in ("A", " A", "A.", "(A", "A)", "Ａ", "**A", '"A"', "\nA"):
        assert bare(text) == "A"
    for text in ("a", "Ang", "AB", "А", "4", ""):
        assert bare(text) != "A"


def test_a_vocabulary_without_letters_is_refused(prompts):
    words = [w for w in made.WORDS if "C" not in w]
    with pytest.raises(ModelUnavailable, match="no token for the answer letter C"):
        ask(prompts, made.tiny(words=words))


def test_a_vocabulary_that_splits_letters_is_refused(prompts):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {w: i for i, w in enumerate(["<s>", "</s>", "<unk>", *map(chr, range(33, 127)), "▁", "\n"])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Split("", "isolated")])
    split = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    assert len(split.encode(" A", add_special_tokens=False)) == 2 and letter_tokens(split)["A"]
    with pytest.raises(ModelUnavailable, match="splits the answer letter A"):
        ask(prompts, Loaded(split, made.tiny().model, "splitter"))


def test_wordings():
    form = PromptForm.parse("mine", "{context}|{question}|{ans0}|{ans1}|{ans2}")
    row = pd.DataFrame([dict(context="a {b}", question="q", ans0="x", ans1="y", ans2="z")])
    assert form.render(row) == ["a {b}|q|x|y|z"]
    assert prompt_form("{context}{question}{ans0}{ans1}{ans2}").name == "custom"
    with pytest.raises(BadTable, match="each part of the prompt once"):
        PromptForm.parse("bad", "{context} {ans0} {ans1} {ans2}")
    with pytest.raises(UnknownName, match="wording"):
        prompt_form("filbbq")


@pytest.mark.mirror
def test_the_published_wording_is_what_its_expression_says(prompts, mirror):
    # the published file is a Python expression over row: evaluate it with no names but row
    source = (mirror / "filbbq/templates/prompt.txt").read_text(encoding="utf-8").split("=", 1)[1].strip()
    rows = prompts.head(3)
    want = [eval(source, {"__builtins__": {}}, {"row": row}) for row in rows.to_dict("records")]
    assert protocols.published_form().render(rows) == want
    assert prompt_form("auto").name == "filbbq-2026"


# ---- bad input


def test_prompts_that_cannot_be_asked(prompts, model):
    with pytest.raises(BadTable, match="no context"):
        ask(prompts.assign(context=["  ", *prompts["context"][1:]]), model)
    with pytest.raises(BadTable, match="no ans1"):
        ask(prompts.assign(ans1=None), model)
    with pytest.raises(BadTable, match="nothing to ask"):
        ask(prompts.head(0), model)
    with pytest.raises(BadTable, match="without"):
        ask(prompts.drop(columns="question"), model)
    with pytest.raises(BadTable, match="twice"):
        ask(pd.concat([prompts, prompts.head(1)]), model)
    with pytest.raises(UnknownName, match="protocol"):
        ask(prompts, model, "letters")


def test_prompts_longer_than_the_context(prompts):
    long = prompts.copy()
    long.loc[7, "context"] = "kuwento " * 300
    with pytest.raises(BadValues, match="longer than the model's context") as caught:
        ask(long, made.tiny())
    assert caught.value.where == "prompt 7"
    fits = made.tiny(positions=50)
    with pytest.raises(BadValues, match="for the answer"):
        ask(prompts, fits, "generate", draws={"max_new_tokens": 20})


def test_nan_logits_are_refused(prompts):
    broken = made.tiny()
    with torch.no_grad():
        broken.model.lm_head.weight[5] = float("nan")
    for protocol in ("next-token", "option-likelihood", "generate"):
        with pytest.raises(BadValues, match="no numbers"):
            ask(prompts, broken, protocol)


def test_a_protocol_for_another_kind_of_model(prompts, model):
    with pytest.raises(ModelUnavailable, match="masked"):
        ask(prompts, model, "masked")
    with pytest.raises(ModelUnavailable, match="next-token"):
        ask(prompts, made.tiny_masked(), "next-token")


# ---- stored answers


def contents(folder: Path) -> dict:
    return {p.name: p.read_bytes() for p in sorted([folder / "run.json", *folder.glob("*.parquet")])}


def test_stored_answers_are_read_not_asked_again(prompts, model, tmp_path):
    first = ask(prompts, model, folder=tmp_path)
    again = ask(prompts, Loaded(model.tokenizer, _Refusing(model.model), model.name, model.revision), folder=tmp_path)
    pd.testing.assert_frame_equal(first, again)
    assert np.abs(first[P].to_numpy() - ask(prompts, model)[P].to_numpy()).max() < 1e-12


class _Refusing(torch.nn.Module):
    """A model that answers the check at the start and then no more."""

    def __init__(self, model):
        super().__init__()
        self.inner, self.left = model, 4
        self.config, self.dtype, self.device = model.config, model.dtype, model.device

    def can_generate(self):
        return True

    def forward(self, *args, **kwargs):
        self.left -= 1
        assert self.left >= 0, "asked again"
        return self.inner(*args, **kwargs)


SCRIPT = """
import sys, time, torch
torch.set_num_threads(1)
sys.path[:0] = [{tests!r}, {tests!r} + "/models"]
import test_answers as test
from localbias.models import answer_store as store
write = store.AnswerStore.write
def slowly(self, *args):
    write(self, *args)
    print("part", flush=True)
    time.sleep(0.3)
store.AnswerStore.write = slowly
test.small_parts({folder!r})
"""


def small_parts(folder):
    """A run of many small parts."""
    answer_jobs.PART = 8
    answer_probabilities(made.prompts(3, 4), made.tiny(), form=OWN, budget=200, folder=folder, progress=False)


@pytest.mark.slow
def test_killed_and_resumed_ends_with_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(answer_jobs, "PART", 8)
    threads = torch.get_num_threads()
    code = SCRIPT.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path / "killed"))
    killed = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        torch.set_num_threads(1)
        small_parts(tmp_path / "whole")
        for _ in range(3):
            assert killed.stdout.readline() == "part\n"
    finally:
        os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    killed.stdout.close()
    whole, before = contents(tmp_path / "whole"), contents(tmp_path / "killed")
    assert len(whole) > 8 and 3 <= len(before) - 1 < len(whole) - 1
    # what a kill within a write leaves behind
    (tmp_path / "killed" / ".part-00005.parquet.x.part").write_bytes(b"half")
    asked = []
    write = AnswerStore.write
    monkeypatch.setattr(AnswerStore, "write", lambda self, i, *rest: (asked.append(i), write(self, i, *rest)))
    small_parts(tmp_path / "killed")
    torch.set_num_threads(threads)
    assert len(asked) == len(whole) - len(before)  # nothing asked twice
    assert contents(tmp_path / "killed") == whole
    assert not list((tmp_path / "killed").glob(".*.part"))


def test_two_runs_in_one_folder(prompts, model, tmp_path):
    with FileLock(tmp_path / ".lock"), pytest.raises(RunBusy, match="another run"):
        ask(prompts, model, folder=tmp_path)


def test_another_runs_folder(prompts, model, tmp_path):
    ask(prompts, model, folder=tmp_path)
    with pytest.raises(OtherRun, match="prompts"):
        ask(prompts.head(8), model, folder=tmp_path)
    with pytest.raises(OtherRun, match="revision"):
        ask(prompts, made.tiny(seed=1), folder=tmp_path)
    with pytest.raises(OtherRun, match="not what run"):
        (tmp_path / "run.json").unlink()
        ask(prompts, model, folder=tmp_path)


def test_damaged_parts_are_put_aside_and_asked_again(prompts, model, tmp_path):
    want = ask(prompts, model, folder=tmp_path)
    part = tmp_path / "part-00000.parquet"
    whole = part.read_bytes()
    stranger = pd.read_parquet(BytesIO(whole))
    stranger.loc[0, "key"] = "999:012"
    for damage in (whole[: len(whole) // 2], stranger.to_parquet(), b""):
        part.write_bytes(damage)
        with pytest.warns(UserWarning, match="part-00000.parquet is not as it was written"):
            pd.testing.assert_frame_equal(ask(prompts, model, folder=tmp_path), want)
        assert part.read_bytes() == whole and (tmp_path / "part-00000.parquet.damaged").read_bytes() == damage
    (tmp_path / "part-00099.parquet").write_bytes(whole)
    with pytest.raises(BrokenPart, match="does not have"):
        ask(prompts, model, folder=tmp_path)
    (tmp_path / "part-00099.parquet").unlink()
    (tmp_path / "run.json").write_text("{")
    with pytest.warns(UserWarning, match="run.json is not as it was written"):
        pd.testing.assert_frame_equal(ask(prompts, model, folder=tmp_path), want)
    with pytest.raises(BrokenPart, match="not its own"):
        AnswerStore(tmp_path, {}, [["999:012"]]).write(0, pd.read_parquet(BytesIO(whole)))


def test_what_changes_an_answer_is_in_the_key_of_kept_answers(prompts, tmp_path, monkeypatch):
    """Editing any file of the folder that is read gives other answers' folder; a note for people does not."""
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    folder, few = tmp_path / "model", prompts.head(8)
    chat = made.tiny()
    chat.tokenizer.chat_template = "{{ messages[0]['content'] }} Sagot:"
    chat.model.save_pretrained(folder)
    chat.tokenizer.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(chat.tokenizer.chat_template)

    def answers():
        runs = len(list((tmp_path / "cache" / "answers").glob("*")))
        got = ask(few, str(folder), folder="auto")
        return got, len(list((tmp_path / "cache" / "answers").iterdir())) > runs

    first, new = answers()
    assert new and not answers()[1]
    (folder / "README.md").write_text("for people")
    assert not answers()[1]
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }} pinili o Sagot:")
    second, new = answers()
    assert new and np.abs(first[P].to_numpy() - second[P].to_numpy()).max() > 1e-4
    settings = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(settings | {"eos_token_id": [2, 5]}))
    assert answers()[1]
    monkeypatch.setattr(answers_module, "version", lambda package: "0")
    assert answers()[1]
    assert second["revision"][0] != first["revision"][0]


def test_cached_answers_are_found_by_what_the_run_is(prompts, model, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    ask(prompts, model, folder="auto")
    ask(prompts, model, folder="auto", orders="cyclic")
    runs = sorted((tmp_path / "answers").iterdir())
    assert len(runs) == 2
    assert {json.loads((r / "run.json").read_text())["settings"]["orders"] for r in runs} == {"published", "cyclic"}
    seconds = AnswerStore(runs[0], {}, []).seconds()
    assert seconds[0] > 0


def test_answers_to_prompts_that_do_not_exist(prompts):
    answers = pd.DataFrame({"prompt_id": [0, 999], "answer": [0, 1]})
    with pytest.raises(BadTable, match="do not exist") as caught:
        attach(prompts, answers)
    assert "999" in caught.value.got
    good = attach(prompts, answers.head(1))
    assert good["template"].tolist() == ["T0"]
    with pytest.raises(BadTable, match="twice"):
        attach(pd.concat([prompts, prompts]), answers)


# ---- the packaged models


@pytest.mark.model
@pytest.mark.parametrize(("name", "cue"), [("smollm2-135m-instruct", ""), ("gemma-3-270m", "\nSagot:")])
def test_the_packaged_models(prompts, name, cue):
    packaged = load_answerer(name)
    table = ask(prompts.head(2), packaged)
    assert table["reuse"].all() and (table["cue"] == cue).all() and packaged.revision
    assert table["p0"].gt(0).all() and np.allclose(table[P].sum(axis=1), 1)
    alone = ask(prompts.head(2), packaged, reuse=False)
    assert np.abs(table[P].to_numpy() - alone[P].to_numpy()).max() < 1e-4
