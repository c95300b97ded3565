"""Answers that a model really writes: sampled token by token, then parsed.

Closest to what FilBBQ describes in section 4.3, answers collected anew under every seed. Every draw has
random numbers of its own, fixed by seed, prompt and order, so that neither batching nor a stop and resume changes
an answer. A prompt is read once for all seeds; only what follows it is sampled per seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from localbias.errors import BadValues
from localbias.models.answer_jobs import Job, by_length, context_limit
from localbias.models.parsing import WORDS, Words, parse
from localbias.prompts import wording

MAX_NEW_TOKENS = 12


def sample_token(logits: np.ndarray, u: np.ndarray, temperature: float, top_p: float) -> np.ndarray:
    """Draw one token per row by inverting the cumulative distribution at ``u``.

    Parameters
    ----------
    logits : (n, vocabulary) floats
    u : (n,) uniform numbers in [0, 1)
    temperature : 0 takes the most likely token
    top_p : keep the smallest set of most likely tokens that reaches this probability

    >>> sample_token(np.log([[0.5, 0.3, 0.2]] * 3), np.array([0.1, 0.6, 0.9]), 1.0, 1.0).tolist()
    [0, 1, 2]
    """
    if not np.isfinite(logits.max(axis=1)).all() or np.isnan(logits).any():
        raise BadValues(
            "the model gave logits that are no numbers",
            expected="finite values",
            got="NaN or infinity",
            todo="check the weights, or load the model in float32",
        )
    if not (np.isfinite(temperature) and temperature >= 0 and 0 < top_p <= 1):
        raise BadValues(
            "sampling settings out of range",
            got=f"temperature={temperature}, top_p={top_p}",
            expected="a temperature of 0 or more, top_p in (0, 1]",
        )
    if temperature == 0:
        return logits.argmax(axis=1)
    p = logits.astype(float)
    p = np.exp((p - p.max(axis=1, keepdims=True)) / temperature)
    p /= p.sum(axis=1, keepdims=True)
    if top_p < 1:
        order = np.argsort(-p, axis=1, kind="stable")
        ranked = np.take_along_axis(p, order, axis=1)
        kept = np.cumsum(ranked, axis=1) - ranked < top_p
        np.put_along_axis(p, order, np.where(kept, ranked, 0.0), axis=1)
    cumulative = np.cumsum(p, axis=1)
    wanted = u * cumulative[:, -1]
    return np.array([np.searchsorted(row, at, side="right") for row, at in zip(cumulative, wanted, strict=True)])


@torch.inference_mode()
def generate(
    tokenizer, model, prompt: Sequence[int], uniforms: np.ndarray, temperature: float = 1.0, top_p: float = 1.0
) -> list[str]:
    """Sample one continuation per row of ``uniforms`` (seeds × most new tokens), until an end token or a new line.

    Returns
    -------
    list of str, without the end token
    """
    ends = end_tokens(tokenizer, model)
    out = model(input_ids=torch.tensor([list(prompt)], device=model.device), use_cache=True, logits_to_keep=1)
    cache, n = out.cache, len(uniforms)
    logits = np.repeat(out.logits[:, -1].float().cpu().numpy(), n, axis=0)
    cache.batch_repeat_interleave(n)
    written: list[list[int]] = [[] for _ in range(n)]
    alive = np.arange(n)
    for step in range(uniforms.shape[1]):
        drawn = sample_token(logits, uniforms[alive, step], temperature, top_p)
        for i, token in zip(alive, drawn, strict=True):
            if token not in ends:
                written[i].append(int(token))
        going = np.array(
            [t not in ends and not _line_done(tokenizer, written[i]) for i, t in zip(alive, drawn, strict=True)],
            dtype=bool,
        )
        alive, drawn = alive[going], drawn[going]
        if not len(alive) or step + 1 == uniforms.shape[1]:
            break
        cache.batch_select_indices(torch.from_numpy(np.flatnonzero(going)).to(model.device))
        out = model(input_ids=torch.from_numpy(drawn)[:, None].to(model.device), cache=cache, use_cache=True)
        cache, logits = out.cache, out.logits[:, -1].float().cpu().numpy()
    return [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in written]


def end_tokens(tokenizer, model) -> set[int]:
    """The tokens that end an answer: the tokenizer's, and those of the model's generation settings."""
    config = getattr(model, "generation_config", None)
    ends = getattr(config, "eos_token_id", None)
    ends = [] if ends is None else ends if isinstance(ends, (list, tuple)) else [ends]
    return {*ends, *([] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id])}


def _line_done(tokenizer, tokens) -> bool:
    return "\n" in tokenizer.decode(tokens).lstrip()


def job(
    tokenizer,
    model,
    texts,
    prompt_ids,
    options,
    permutations,
    cue="auto",
    seeds: int = 10,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_new_tokens: int = MAX_NEW_TOKENS,
    words: Sequence[Words] = WORDS,
) -> Job:
    """The job of protocol ``generate``: shares of the parsed answers, and the answers themselves.

    Columns: p0 … p2 the shares of each option, p_neither of answers not parsed; ``drawn`` the parsed
    answer of every seed (−1: not parsed); ``written`` what was written; ``reasons`` how it was read.
    ``words`` are the languages in which answers are understood (:mod:`localbias.models.parsing`).
    """
    shown, special = wording.model_texts(tokenizer, texts, cue)
    sequences = wording.token_ids(
        tokenizer, shown, special, context_limit(model, tokenizer), prompt_ids, room=max_new_tokens
    )
    parts = [part for batch in by_length(sequences) for part in np.array_split(batch, max(1, len(batch) // 8))]
    asked = [(int(i), int(p)) for i, p in zip(prompt_ids, permutations, strict=True)]

    def one(row: int) -> dict:
        uniforms = np.stack(
            [np.random.default_rng([seed, *asked[row]]).random(max_new_tokens) for seed in range(seeds)]
        )
        written = generate(tokenizer, model, sequences[row], uniforms, temperature, top_p)
        parsed = [parse(text, options[row], words) for text in written]
        drawn = np.array([p.answer for p in parsed])
        shares = {f"p{k}": float((drawn == k).mean()) for k in range(3)}
        return {
            "row": row,
            **shares,
            "p_neither": float((drawn < 0).mean()),
            "drawn": drawn.tolist(),
            "written": written,
            "reasons": [p.reason for p in parsed],
            "n_tokens": len(sequences[row]),
        }

    return Job(parts, lambda part: pd.DataFrame([one(int(row)) for row in parts[part]]), {"reuse": True})


def drawn_answers(table: pd.DataFrame) -> pd.DataFrame:
    """One row per prompt and seed from a "generate" table: its design columns, seed, answer, written, reason."""
    long = table.drop(columns=["p0", "p1", "p2", "p_neither"]).rename(columns={"drawn": "answer", "reasons": "reason"})
    long["seed_of_draw"] = [list(range(len(d))) for d in long["answer"]]
    return long.explode(["answer", "written", "reason", "seed_of_draw"], ignore_index=True)
