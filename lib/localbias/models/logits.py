"""What a pass keeps of the logits at the answer position, so that any sampling setting can be computed after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localbias.errors import BadValues

if TYPE_CHECKING:
    import torch


FORMS = ("forms0", "forms1", "forms2")


TOP = 100


TEMPERATURES = (2.0, 1.75, 1.5, 1.25, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def summarise_logits(logits: torch.Tensor, forms: list[tuple[int, ...]]) -> dict[str, np.ndarray]:
    """What is kept of the logits at the answer position.

    Parameters
    ----------
    logits : (n, vocabulary) float tensor
    forms : the token ids of each of the three letters

    Returns
    -------
    dict of arrays with n rows: p0, p1, p2, p_neither, logp0 … logp2, forms0 … forms2, top, tail

    Raises
    ------
    BadValues
        When a logit is NaN or +infinite.
    """
    import torch

    broken = ~torch.isfinite(logits).all(dim=1) & ~(torch.isneginf(logits) | torch.isfinite(logits)).all(dim=1)
    if broken.any():
        raise BadValues(
            "the model gave logits that are no numbers",
            expected="finite values",
            got=f"NaN or infinity for {int(broken.sum())} of {len(logits)} prompts",
            todo="check the weights, or load the model in float32",
        )
    logp = torch.log_softmax(logits.double(), dim=-1)
    kept: dict[str, np.ndarray] = {}
    rest = logp.clone()
    for k, ids in enumerate(forms):
        values = logp[:, list(ids)]
        rest[:, list(ids)] = -torch.inf
        kept[f"logp{k}"] = torch.logsumexp(values, dim=1).numpy()
        kept[FORMS[k]] = values.float().numpy()
    top, at = rest.topk(min(TOP, rest.shape[1]), dim=1)
    kept["p_neither"] = torch.logsumexp(rest, dim=1).exp().numpy()
    rest.scatter_(1, at, -torch.inf)
    kept["top"] = top.float().numpy()
    kept["tail"] = torch.stack([torch.logsumexp(rest / t, dim=1) for t in TEMPERATURES], dim=1).float().numpy()
    for k in range(3):
        kept[f"p{k}"] = np.exp(kept[f"logp{k}"])
    return kept
