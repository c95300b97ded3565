"""One pass over many prompts that begin alike: their common beginnings are computed once.

Prompts share their instruction, their context and often their question. Token sequences, sorted and
laid over one another, make a tree; its nodes are what has to be computed. A *bundle* is a tree
flattened to one sequence in which every node attends to its ancestors only and stands at the
position of its depth, so each path through the tree is computed as if it were alone. Sequences are
compared token by token after each text was tokenized whole, so no token is ever split at a shared
text boundary. Only the logits that are asked for are computed.

What it saves is stated by :func:`saving`; that it changes nothing is checked against plain passes
at the start of every run by :func:`same_as_alone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

BUDGET = 512
"""Nodes of a bundle: large enough to share, small enough that attention (quadratic) stays cheap."""

TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.15}
"""How far log-probabilities may be apart, by the precision of the weights."""


@dataclass(frozen=True)
class Bundle:
    """A flattened tree.

    ``members`` are positions in the list of sequences; ``paths[k]`` the nodes of member k in order;
    ``tokens`` and ``depth`` belong to nodes.
    """

    members: np.ndarray
    paths: tuple[np.ndarray, ...]
    tokens: np.ndarray
    depth: np.ndarray

    def visible(self) -> np.ndarray:
        """(n, n) bool: which node (column) a node (row) may attend to: itself and its ancestors."""
        n = len(self.tokens)
        seen = np.zeros((n, n), dtype=bool)
        for path in self.paths:
            new = path[~seen[path, path]]
            if len(new):
                shared = path[: len(path) - len(new)]
                seen[np.ix_(new, shared)] = True
                seen[np.ix_(new, new)] = np.tri(len(new), dtype=bool)
        return seen


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two sequences share at their beginning."""
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def bundles(sequences: Sequence[Sequence[int]], budget: int = BUDGET, share: bool = True) -> list[Bundle]:
    """Sort sequences and pack them into bundles of at most ``budget`` nodes (or one long sequence).

    The packing depends on the sequences alone, so a resumed run meets the same bundles.
    ``share=False`` puts every sequence into a bundle of its own.

    >>> [b.members.tolist() for b in bundles([[1, 2, 3], [5], [1, 2, 4]], budget=4)]
    [[0, 2], [1]]
    """
    ordered = sorted(range(len(sequences)), key=lambda i: (list(sequences[i]), i))
    groups: list[list[int]] = []
    used = previous = 0
    for i in ordered:
        fresh = len(sequences[i]) - (common_prefix(sequences[previous], sequences[i]) if groups else 0)
        if not groups or not share or used + fresh > budget:
            groups.append([])
            used, fresh = 0, len(sequences[i])
        groups[-1].append(i)
        used, previous = used + fresh, i
    return [_flatten(group, sequences) for group in groups]


def _flatten(group, sequences):
    paths, tokens, depth, previous = [], [], [], ()
    for i in group:
        shared = common_prefix(previous, sequences[i]) if paths else 0
        fresh = np.arange(len(tokens), len(tokens) + len(sequences[i]) - shared)
        paths.append(np.concatenate([paths[-1][:shared], fresh]) if paths else fresh)
        tokens.extend(sequences[i][shared:])
        depth.extend(range(shared, len(sequences[i])))
        previous = sequences[i]
    return Bundle(np.array(group), tuple(paths), np.array(tokens), np.array(depth))


def saving(sequences: Sequence[Sequence[int]], packed: list[Bundle]) -> dict[str, float]:
    """Tokens of all sequences, tokens computed, and their ratio."""
    total, computed = sum(map(len, sequences)), sum(len(b.tokens) for b in packed)
    return {"tokens": total, "computed": computed, "times_fewer": total / computed}


def _mask(bundle: Bundle, window: int | None, dtype: torch.dtype) -> torch.Tensor:
    seen = bundle.visible()
    if window is not None:
        seen &= (bundle.depth[:, None] - bundle.depth[None, :]) < window
    mask = torch.zeros(seen.shape, dtype=dtype)
    mask.masked_fill_(torch.from_numpy(~seen), torch.finfo(dtype).min)
    return mask[None, None]


def _masks(model, bundle: Bundle):
    """The attention mask in the form the model takes: one, or one for each kind of layer."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    if kinds == {"full_attention", "sliding_attention"}:
        return {
            "full_attention": _mask(bundle, None, model.dtype),
            "sliding_attention": _mask(bundle, window, model.dtype),
        }
    return _mask(bundle, window if kinds == {"sliding_attention"} else None, model.dtype)


@torch.inference_mode()
def node_logits(model, bundle: Bundle, nodes: np.ndarray) -> torch.Tensor:
    """Logits at the given nodes of a bundle: (len(nodes), vocabulary) float32."""
    device = model.device
    masks = _masks(model, bundle)
    masks = {k: v.to(device) for k, v in masks.items()} if isinstance(masks, dict) else masks.to(device)
    out = model(
        input_ids=torch.from_numpy(bundle.tokens)[None].to(device),
        position_ids=torch.from_numpy(bundle.depth)[None].to(device),
        attention_mask=masks,
        logits_to_keep=torch.from_numpy(np.asarray(nodes)).to(device),
        use_cache=False,
    )
    return out.logits[0].float().cpu()


@torch.inference_mode()
def plain_logits(model, sequence: Sequence[int], positions) -> torch.Tensor:
    """The same for one sequence alone, by the model's ordinary pass: (len(positions), vocabulary) float32."""
    ids = torch.tensor([list(sequence)], device=model.device)
    return model(input_ids=ids, use_cache=False).logits[0, list(positions)].float().cpu()


def same_as_alone(model, sequences, packed: list[Bundle]) -> bool:
    """Whether the first shared bundle gives what its first and last member give alone.

    The log-probabilities of the 50 most likely tokens are compared, to :data:`TOLERANCE`.
    """
    tolerance = TOLERANCE.get(model.dtype, max(TOLERANCE.values()))
    shared = next((b for b in packed if len(b.members) > 1), None)
    if shared is None:
        return True
    ends = [0, len(shared.members) - 1]
    last = np.array([shared.paths[k][-1] for k in ends])
    try:
        together = node_logits(model, shared, last).log_softmax(-1)
    except (TypeError, ValueError, RuntimeError):
        return False
    for k, logp in zip(ends, together, strict=True):
        alone = plain_logits(model, sequences[shared.members[k]], [-1])[0].log_softmax(-1)
        likely = alone.topk(min(50, len(alone))).indices
        if not bool(((logp - alone)[likely].abs() <= tolerance).all()):
            return False
    return True
