"""How each protocol asks: from prompt texts to answer probabilities, part by part.

A job knows which prompts belong to which part before anything is computed, and computes one part at
a time. The protocols (their names are those of :data:`PROTOCOLS`):

``next-token``
    The probabilities of the letters A, B and C, and of anything else, as the first token of the
    answer. Every surface form of a letter counts (:mod:`localbias.models.letters`).
``option-likelihood``
    How likely each option's *text* is as the answer, per token: exp of the mean log-probability of
    its tokens, normalised over the three options (a forced choice: p_neither = 0). ``logp0`` …
    hold the sums, ``length0`` … the numbers of tokens. For base models, which were never taught
    to answer with a letter.
``masked``
    The letters at a mask token after the cue, for masked models.
``masked-pseudo``
    Pseudo-likelihood of each option's text after the cue, each of its tokens masked in turn (Salazar
    et al. 2020), per token, normalised over the options as above.

The authors' prompt asks for letters; how answers were read out the paper does not say. ``generate``
(:mod:`localbias.models.written_answers`) is closest to it, ``next-token`` is its limit for one-token answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch

from localbias.errors import BadValues, ModelUnavailable
from localbias.models import prefix_tree
from localbias.models.letters import LETTERS, check_letters_fit, letter_tokens
from localbias.models.logits import FORMS, summarise_logits
from localbias.prompts import wording

PROTOCOLS = ("next-token", "option-likelihood", "masked", "masked-pseudo", "generate")
PART = 64
"""Prompts of a part, about: what a kill can lose."""
MASKED_BATCH = 32


@dataclass
class Job:
    """A protocol applied to prompts: ``parts`` hold positions in the prompt table."""

    parts: list[np.ndarray]
    compute: Callable[[int], pd.DataFrame]
    about: dict = field(default_factory=dict)


def context_limit(model, tokenizer) -> int:
    """Tokens a model can take: its positions, or less when its tokenizer says so."""
    config = model.config.get_text_config()
    limits = [getattr(config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    return min(int(limit) for limit in limits if limit)


def _group(sizes: Sequence[int]) -> list[list[int]]:
    """Consecutive positions grouped until each group holds :data:`PART` items."""
    groups, held = [[]], 0
    for i, size in enumerate(sizes):
        if groups[-1] and held >= PART:
            groups.append([])
            held = 0
        groups[-1].append(i)
        held += size
    return groups


def _rows(positions, columns: dict[str, np.ndarray]) -> pd.DataFrame:
    flat = {k: v if v.ndim == 1 else list(v) for k, v in columns.items()}
    return pd.DataFrame({"row": np.asarray(positions), **flat})


class _Tree:
    """Bundles of a causal model's sequences, with a plain fall-back that is never silent."""

    def __init__(self, model, sequences, budget, reuse):
        self.model, self.sequences = model, sequences
        self.packed = prefix_tree.bundles(sequences, budget, share=reuse)
        self.reuse = reuse and prefix_tree.same_as_alone(model, sequences, self.packed)
        if reuse and not self.reuse:
            self.packed = prefix_tree.bundles(sequences, budget, share=False)
        self.about = {"reuse": self.reuse, **prefix_tree.saving(sequences, self.packed)}

    def logits(self, bundle, counts) -> list[torch.Tensor]:
        """For each member, the logits at its last ``counts[k]`` positions but those after the end."""
        if not self.reuse:
            return [
                prefix_tree.plain_logits(self.model, self.sequences[m], range(len(p) - n, len(p)))
                for m, p, n in zip(bundle.members, bundle.paths, counts, strict=True)
            ]
        wanted = np.unique(np.concatenate([p[len(p) - n :] for p, n in zip(bundle.paths, counts, strict=True)]))
        logits = prefix_tree.node_logits(self.model, bundle, wanted)
        return [logits[np.searchsorted(wanted, p[len(p) - n :])] for p, n in zip(bundle.paths, counts, strict=True)]


def next_token(tokenizer, model, texts, prompt_ids, cue="auto", budget=prefix_tree.BUDGET, reuse=True) -> Job:
    """The job of protocol ``next-token``."""
    shown, special = wording.model_texts(tokenizer, texts, cue)
    forms = letter_tokens(tokenizer)
    check_letters_fit(tokenizer, shown[0], forms, spaced=not wording.is_chat(tokenizer))
    sequences = wording.token_ids(tokenizer, shown, special, context_limit(model, tokenizer), prompt_ids, room=1)
    trees = _Tree(model, sequences, budget, reuse)
    groups = _group([len(b.members) for b in trees.packed])
    ids = [forms[letter] for letter in LETTERS]

    def compute(part: int) -> pd.DataFrame:
        tables = []
        for bundle in (trees.packed[i] for i in groups[part]):
            logits = torch.cat(trees.logits(bundle, [1] * len(bundle.members)))
            n_tokens = np.array([len(p) for p in bundle.paths])
            tables.append(_rows(bundle.members, {**summarise_logits(logits, ids), "n_tokens": n_tokens}))
        return pd.concat(tables, ignore_index=True)

    parts = [np.concatenate([trees.packed[i].members for i in group]) for group in groups]
    return Job(parts, compute, {**trees.about, **{f"n_{f}": len(i) for f, i in zip(FORMS, ids, strict=True)}})


def _option_ids(tokenizer, shown, options, special, join) -> list[list[int]]:
    """Tokens of prompt plus option; the option's are those after the last token both share."""
    return tokenizer(
        [text + join + option for text, option in zip(shown, options, strict=True)], add_special_tokens=special
    )["input_ids"]


def _choice(logp: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Columns for a forced choice among options by mean log-probability per token; (n, 3) arrays in."""
    if not np.isfinite(logp).all():
        raise BadValues(
            "the model gave log-probabilities that are no numbers",
            expected="finite values",
            got=f"NaN or infinity for {int((~np.isfinite(logp)).any(axis=1).sum())} prompts",
            todo="check the weights, or load the model in float32",
        )
    mean = logp / lengths
    p = np.exp(mean - mean.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    columns = {f"p{k}": p[:, k] for k in range(3)} | {"p_neither": np.zeros(len(p))}
    return columns | {f"logp{k}": logp[:, k] for k in range(3)} | {f"length{k}": lengths[:, k] for k in range(3)}


def option_likelihood(
    tokenizer, model, texts, prompt_ids, options, cue="auto", budget=prefix_tree.BUDGET, reuse=True
) -> Job:
    """The job of protocol ``option-likelihood``; ``options`` is (n, 3) texts."""
    shown, special = wording.model_texts(tokenizer, texts, cue)
    join = "" if wording.is_chat(tokenizer) else " "
    limit = context_limit(model, tokenizer)
    stems = wording.token_ids(tokenizer, shown, special, limit, prompt_ids)
    longer = [text + join + option for text, row in zip(shown, options, strict=True) for option in row]
    sequences = wording.token_ids(tokenizer, longer, special, limit, np.repeat(list(prompt_ids), 3))
    starts = [prefix_tree.common_prefix(stems[i // 3], seq) for i, seq in enumerate(sequences)]
    # the last token of an option is predicted, never read: leave it out of what is computed
    inputs, targets = [s[:-1] for s in sequences], [s[a:] for s, a in zip(sequences, starts, strict=True)]
    trees = _Tree(model, inputs, budget, reuse)
    sums = np.full(len(sequences), np.nan)
    # a part holds whole prompts: the bundles that hold any option of them
    home = np.empty(len(sequences), dtype=int)
    for b, bundle in enumerate(trees.packed):
        home[bundle.members] = b
    last = home.reshape(-1, 3).max(axis=1)
    order = np.lexsort((np.arange(len(last)), last))
    parts = [order[group] for group in np.array_split(np.arange(len(order)), max(1, round(len(order) / PART)))]
    done: set[int] = set()

    def need(b: int) -> None:
        bundle = trees.packed[b]
        counts = [len(targets[m]) for m in bundle.members]
        for m, logits in zip(bundle.members, trees.logits(bundle, counts), strict=True):
            logp = torch.log_softmax(logits.double(), dim=-1)
            sums[m] = logp[torch.arange(len(targets[m])), torch.tensor(targets[m])].sum().item()
        done.add(b)

    def compute(part: int) -> pd.DataFrame:
        rows = parts[part]
        for b in sorted(set(home.reshape(-1, 3)[rows].ravel()) - done):
            need(b)
        lengths = np.array([len(t) for t in targets]).reshape(-1, 3)[rows]
        n_tokens = np.array([len(stems[r]) for r in rows])
        return _rows(rows, {**_choice(sums.reshape(-1, 3)[rows], lengths), "n_tokens": n_tokens})

    return Job(parts, compute, trees.about)


@torch.inference_mode()
def _masked_logits(model, batch: list[list[int]], at: list[int], pad: int) -> torch.Tensor:
    """Logits at one position of each sequence of a padded batch: (n, vocabulary)."""
    width = max(map(len, batch))
    ids = torch.tensor([seq + [pad] * (width - len(seq)) for seq in batch])
    attend = torch.tensor([[1] * len(seq) + [0] * (width - len(seq)) for seq in batch])
    logits = model(input_ids=ids.to(model.device), attention_mask=attend.to(model.device)).logits
    return logits[torch.arange(len(batch)), torch.tensor(at)].float().cpu()


def _mask_id(tokenizer) -> int:
    if tokenizer.mask_token_id is None:
        raise ModelUnavailable(
            "the model has no mask token",
            expected="a masked language model",
            got=type(tokenizer).__name__,
            todo="use protocol='next-token' with causal models",
        )
    return tokenizer.mask_token_id


def by_length(sequences) -> list[np.ndarray]:
    """Positions in batches of like length, longest first: little padding, and memory trouble shows at once."""
    order = sorted(range(len(sequences)), key=lambda i: (-len(sequences[i]), i))
    return [np.array(order[i : i + MASKED_BATCH]) for i in range(0, len(order), MASKED_BATCH)]


def masked(tokenizer, model, texts, prompt_ids, cue="auto") -> Job:
    """The job of protocol ``masked``: the letters at one mask after the cue."""
    mask, forms = _mask_id(tokenizer), letter_tokens(tokenizer)
    ending = wording.CUE if cue == "auto" else cue
    shown = [f"{text}{ending} {tokenizer.mask_token}" for text in texts]
    sequences = wording.token_ids(tokenizer, shown, True, context_limit(model, tokenizer), prompt_ids, open_end=False)
    parts = by_length(sequences)
    ids = [forms[letter] for letter in LETTERS]
    pad = tokenizer.pad_token_id or 0

    def compute(part: int) -> pd.DataFrame:
        batch = [sequences[i] for i in parts[part]]
        logits = _masked_logits(model, batch, [len(seq) - 1 - seq[::-1].index(mask) for seq in batch], pad)
        n_tokens = np.array(list(map(len, batch)))
        return _rows(parts[part], {**summarise_logits(logits, ids), "n_tokens": n_tokens})

    return Job(parts, compute, {"reuse": False, **{f"n_{f}": len(i) for f, i in zip(FORMS, ids, strict=True)}})


def masked_pseudo(tokenizer, model, texts, prompt_ids, options, cue="auto") -> Job:
    """The job of protocol ``masked-pseudo``: each token of an option masked in turn."""
    mask, pad = _mask_id(tokenizer), tokenizer.pad_token_id or 0
    ending = wording.CUE if cue == "auto" else cue
    limit = context_limit(model, tokenizer)
    stems = wording.token_ids(tokenizer, [t + ending for t in texts], True, limit, prompt_ids, open_end=False)
    longer = [f"{text}{ending} {option}" for text, row in zip(texts, options, strict=True) for option in row]
    sequences = wording.token_ids(tokenizer, longer, True, limit, np.repeat(list(prompt_ids), 3), open_end=False)
    closing = _closing(tokenizer)
    parts = by_length(stems)

    def spans(i: int) -> range:
        return range(prefix_tree.common_prefix(stems[i // 3], sequences[i]), len(sequences[i]) - closing)

    def score(i: int) -> float:
        total = 0.0
        where = list(spans(i))
        for k in range(0, len(where), MASKED_BATCH):
            at = where[k : k + MASKED_BATCH]
            batch = [[mask if j == a else t for j, t in enumerate(sequences[i])] for a in at]
            logp = torch.log_softmax(_masked_logits(model, batch, at, pad).double(), dim=-1)
            total += logp[torch.arange(len(at)), torch.tensor([sequences[i][a] for a in at])].sum().item()
        return total

    def compute(part: int) -> pd.DataFrame:
        rows = parts[part]
        logp = np.array([[score(3 * r + k) for k in range(3)] for r in rows])
        lengths = np.array([[len(spans(3 * r + k)) for k in range(3)] for r in rows])
        n_tokens = np.array([len(stems[r]) for r in rows])
        return _rows(rows, {**_choice(logp, lengths), "n_tokens": n_tokens})

    return Job(parts, compute, {"reuse": False})


def _closing(tokenizer) -> int:
    """How many special tokens a tokenizer puts after a text."""
    ids = tokenizer("A")["input_ids"]
    n = 0
    while n < len(ids) and ids[len(ids) - 1 - n] in tokenizer.all_special_ids:
        n += 1
    return n
