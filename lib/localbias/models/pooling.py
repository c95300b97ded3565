r"""Hidden states → word vectors, methods M1–M9 (WEATHub, section 3.2 and Table 3).

With hidden states :math:`h_0 \dots h_L` (0 is the embedding layer) and the positions of a word's
subwords, one forward pass gives the average and the first subword of each of

=========  ==========================  ========
methods    states                      key here
=========  ==========================  ========
M1, M2     :math:`h_0`                 "0"
M3, M4     :math:`h_{L-1}`             "L-1"
M5, M6     mean of h_0 … h_L           "mean"
M8, M9     :math:`h_L`                 "L"
M7         :math:`h_L`, at [CLS]       "L"
=========  ==========================  ========
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from localbias.errors import ModelUnavailable
from localbias.registry import METHODS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LAYERS = ("0", "L-1", "mean", "L")
POOLINGS = ("average", "first")
WORD_METHODS = tuple(m.code for m in METHODS.values() if m.pooling in POOLINGS)
"""Methods that one forward pass of a word gives: all but M7 and M10."""

_ROWS = 8  # batches are filled to a multiple of this: below it, matrix products round in another order


def place(code: str) -> tuple[int, int]:
    """Where a method's vectors stand in what :func:`pooled_states` returns: layer and pooling index.

    >>> place("M5"), place("M9"), place("M7")
    ((2, 0), (3, 1), (3, 0))
    """
    method = METHODS[code]
    return LAYERS.index(method.layer), POOLINGS.index(method.pooling) if method.pooling in POOLINGS else 0


def pooled_states(
    model: PreTrainedModel,
    sequences: Sequence[Sequence[int]],
    readouts: Sequence[tuple[int, Sequence[int]]],
    batch_size: int = 128,
    progress: bool = False,
    title: str = "",
) -> np.ndarray:
    """One forward pass per sequence; its hidden states pooled over the positions that are read.

    Parameters
    ----------
    model : PreTrainedModel
        A model that returns hidden states.
    sequences : sequences of int
        Token ids, special tokens included.
    readouts : n pairs of int and non-empty sequence of int
        Which sequence is read, and at which positions.
    batch_size : int
        Sequences per pass. A batch holds sequences of one length, so that nothing is padded and a
        vector does not depend on its neighbours.
    progress, title : bool, str
        Show a bar when it takes longer than a second.

    Returns
    -------
    (n, 4, 2, dim) float32 array
        A row a readout. Axis 1: :data:`LAYERS`. Axis 2: :data:`POOLINGS` (the first position in reading order).

    Raises
    ------
    ModelUnavailable
        When the model gives no hidden states.
    """
    of_sequence: dict[int, list[int]] = {}
    for row, (i, _) in enumerate(readouts):
        of_sequence.setdefault(i, []).append(row)
    order = sorted(of_sequence, key=lambda i: (len(sequences[i]), i))
    result: np.ndarray | None = None
    with tqdm(total=len(order), desc=title, unit="word", delay=1, leave=False, **_shown(progress)) as bar:
        for batch in _equal_length(order, sequences, batch_size):
            rows = [(row, k) for k, i in enumerate(batch) for row in of_sequence[i]]
            pooled = _pass(model, [sequences[i] for i in batch], [(k, readouts[row][1]) for row, k in rows])
            if result is None:
                result = np.empty((len(readouts), *pooled.shape[1:]), np.float32)
            result[[row for row, _ in rows]] = pooled
            bar.update(len(batch))
    return np.empty((0, len(LAYERS), len(POOLINGS), 0), np.float32) if result is None else result


def _shown(progress: bool) -> dict:
    return {} if progress else {"disable": True}


def _equal_length(order: list[int], sequences: Sequence[Sequence[int]], batch_size: int) -> list[list[int]]:
    batches: list[list[int]] = []
    for i in order:
        if batches and len(batches[-1]) < batch_size and len(sequences[batches[-1][0]]) == len(sequences[i]):
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _pass(model: PreTrainedModel, sequences: list[Sequence[int]], readouts: list[tuple[int, Sequence[int]]]):
    import torch

    filled = [*sequences, *[sequences[-1]] * (-len(sequences) % _ROWS)]
    ids = torch.tensor(filled, device=model.device)
    with torch.inference_mode():
        answer = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
        states = getattr(answer, "hidden_states", None)
        if not states or len(states) < 2:
            raise ModelUnavailable(
                f"the model {model.config.name_or_path or type(model).__name__!r} gives no hidden states",
                expected="a transformer encoder or decoder with an embedding layer and at least one layer",
                todo="choose another model; static vectors give M10",
            )
        mean = states[0].float().clone()
        for state in states[1:]:
            mean += state
        picked = torch.stack([states[0].float(), states[-2].float(), mean / len(states), states[-1].float()], 1)
        weights = torch.zeros((len(readouts), 2, ids.shape[1]), device=ids.device)
        for row, (_, where) in enumerate(readouts):
            weights[row, 0, list(where)] = 1 / len(where)
            weights[row, 1, min(where)] = 1
        pooled = torch.einsum("nltd,npt->nlpd", picked[[k for k, _ in readouts]], weights)
    return pooled.cpu().numpy()
