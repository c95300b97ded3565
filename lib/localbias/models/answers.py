"""From a model to answer probabilities: the front door of answering.

:func:`answer_probabilities` asks every prompt once and keeps what it learned; seeds, temperatures and
top-p then cost nothing more (:mod:`localbias.studies.seeds`).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from localbias.errors import BadTable, ModelUnavailable, unknown
from localbias.files import in_cache
from localbias.models import answer_jobs
from localbias.models.answer_store import AnswerStore, attach, fingerprint
from localbias.models.prefix_tree import BUDGET
from localbias.prompts.orders import reorder
from localbias.prompts.roles import role_codes
from localbias.prompts.wording import PromptForm, cue_of, prompt_form
from localbias.registry import ranges

FORMAT = 3
"""Raised when stored answers of earlier versions must not be taken up again."""
DESIGN = (
    "prompt_id",
    "permutation",
    "order",
    "category",
    "template",
    "block",
    "pair",
    "exchanged",
    "polarity",
    "condition",
    "role0",
    "role1",
    "role2",
    "label",
    "name1",
    "name2",
    "group1",
    "group2",
    "wording",
    "unknown",
    "dataset",
    "rules",
    "seed",
    "social_value",
)
"""Columns of the prompts that stay with the answers, as far as the prompts have them."""


@dataclass(frozen=True)
class Loaded:
    """A model ready to be asked, and what is to be said about it in results."""

    tokenizer: Any
    model: Any
    name: str
    revision: str = ""
    weights: str = "float32"

    def by(self, protocol: str) -> str:
        """The protocol asked for; for "auto" the model's own: "masked" for masked models, "next-token" for others.

        Raises
        ------
        ModelUnavailable
            When the model cannot answer by it.
        """
        masked = not _writes(self)
        own = "masked" if masked else "next-token"
        if protocol != "auto" and protocol.startswith("masked") != masked:
            raise ModelUnavailable(
                f"{self.name} cannot answer by protocol {protocol!r}",
                expected="a masked model for masked…, a causal one for the others",
                got=type(self.model).__name__,
                todo=f"use protocol={own!r}",
            )
        return own if protocol == "auto" else protocol


def load_answerer(model: str | Loaded, dtype: str = "float32", device: str | None = None) -> Loaded:
    """A model by name (packaged, local folder, GGUF file or hub id), or one that is loaded already.

    ``dtype`` and ``device`` are those of :func:`localbias.models.loading.load_causal`.
    """
    if isinstance(model, Loaded):
        return model
    ranges.check("model", model)
    ranges.check("dtype", dtype)
    from localbias.models.loading import load_causal

    tokenizer, network, info = load_causal(model, device=device, dtype=dtype)
    return Loaded(tokenizer, network, info.name, info.revision, info.weights)


def check_prompts(prompts: pd.DataFrame) -> None:
    """Refuse prompts that cannot be asked: columns missing, empty text, ids twice.

    Raises
    ------
    BadTable
    """
    wanted = ("prompt_id", "context", "question", "ans0", "ans1", "ans2")
    if missing := set(wanted) - set(prompts.columns):
        raise BadTable(
            "the table is not one of prompts",
            expected=", ".join(wanted),
            got=f"without {sorted(missing)}",
            todo="make it with generate_prompts",
        )
    if prompts.empty:
        raise BadTable("there is nothing to ask", expected="one prompt or more", got="an empty table")
    for column in wanted[1:]:
        empty = prompts[column].isna() | (prompts[column].astype(str).str.strip() == "")
        if empty.any():
            row = prompts[empty].iloc[0]
            raise BadTable(
                f"a prompt has no {column}",
                expected="text",
                got=repr(row[column]),
                where=f"prompt {row['prompt_id']}, template {row.get('template', '?')}",
                todo="fill in the template or leave it out",
            )
    if prompts["prompt_id"].duplicated().any():
        raise BadTable(
            "prompts are in the table twice",
            expected="prompt_id unique",
            got=f"{int(prompts['prompt_id'].duplicated().sum())} repeated",
        )
    role_codes(prompts)


def answer_probabilities(
    prompts: pd.DataFrame,
    model: str | Loaded = "gemma-3-270m",
    protocol: str = "auto",
    *,
    orders: str = "published",
    form: str | PromptForm = "auto",
    cue: str = "auto",
    folder: str | Path | None = "auto",
    reuse: bool = True,
    budget: int = BUDGET,
    progress: bool = True,
    draws: Mapping | None = None,
) -> pd.DataFrame:
    """The probability of each option, for every prompt, from one pass each.

    Parameters
    ----------
    prompts : DataFrame
        From generate_prompts, or any table with its columns.
    model : str or Loaded
        A packaged model, a local folder, a GGUF file, a hub id; or a model loaded already.
    protocol : "auto" | "next-token" | "option-likelihood" | "masked" | "masked-pseudo" | "generate"
        See :mod:`localbias.models.answer_jobs`; "auto": the model's own (:meth:`Loaded.by`). "generate" gives
        shares of sampled answers, see ``draws``.
    orders : "published" | "cyclic" | "all-six"
        In which orders the options are shown (:mod:`localbias.prompts.orders`).
    form : "auto" | "filbbq-2026" | "localbias" | a pattern | PromptForm
        The wording (:mod:`localbias.prompts.wording`).
    cue : str
        What follows the wording; "auto": nothing for chat models, "\\nSagot:" for others.
    folder : "auto" | path | None
        Where answers are kept as they come. "auto": in the user's cache, by what the run is, so that
        a stopped run goes on and a repeated one is read; a path: refused while another run works in
        it; None: nowhere.
    reuse : bool
        Compute common beginnings of prompts once. Off, every prompt is computed alone.
    budget : int
        Tokens computed in one pass, about.
    progress : bool
        Show a progress bar.
    draws : mapping, for "generate" only
        seeds, temperature, top_p, max_new_tokens, words of :func:`localbias.models.written_answers.generate`.

    Returns
    -------
    DataFrame, one row per prompt × order, sorted by prompt_id, permutation
        The design columns of the prompts (as shown); p0, p1, p2 (not renormalised) and p_neither;
        logp0 … logp2; the columns that :mod:`localbias.studies.seeds` needs; n_tokens; model,
        revision, weights, protocol, prompt_form, cue, reuse.

    Raises
    ------
    BadTable
        Prompts that cannot be asked.
    BadValues
        A prompt longer than the model's context; logits that are NaN.
    ModelUnavailable
        The model cannot be had, or its vocabulary has no usable answer letters.
    RunBusy, OtherRun, BrokenPart
        The folder is in use, another run's, or damaged (:mod:`localbias.models.answer_store`).
    """
    check_prompts(prompts)
    if protocol != "auto" and protocol not in answer_jobs.PROTOCOLS:
        raise unknown("protocol", protocol, ("auto", *answer_jobs.PROTOCOLS))
    shown, wording = reorder(prompts, orders), prompt_form(form)
    ready = load_answerer(model)
    protocol = ready.by(protocol)
    job = _job(ready, protocol, shown, wording.render(shown), cue, budget, reuse, dict(draws or {}))
    marks = {
        "model": ready.name,
        "revision": ready.revision,
        "weights": ready.weights,
        "protocol": protocol,
        "prompt_form": wording.name,
        "cue": cue_of(ready.tokenizer, cue),
        "reuse": job.about["reuse"],
    }
    settings = {
        "format": FORMAT,
        **marks,
        "orders": orders,
        "budget": budget,
        "prompts": prompts_hash(shown, wording),
        **_decisive(ready),
        **{f"draws.{k}": v for k, v in (draws or {}).items()},
    }
    answers = _run(job, shown, settings, folder, f"{ready.name}: {protocol}" if progress else None)
    table = attach(shown.filter(items=DESIGN), answers)
    return table.assign(**marks).sort_values(["prompt_id", "permutation"], ignore_index=True)


def _decisive(ready: Loaded) -> dict:
    """What else changes answers and may not be in a revision: precision, template, end tokens, the libraries."""
    from localbias.models.written_answers import end_tokens

    template = json.dumps(getattr(ready.tokenizer, "chat_template", None), default=str)
    return {
        "dtype": str(ready.model.dtype),
        "chat_template": hashlib.sha256(template.encode()).hexdigest(),
        "end_tokens": sorted(end_tokens(ready.tokenizer, ready.model)),
        "versions": {package: version(package) for package in ("torch", "transformers", "tokenizers")},
    }


def written_answers(
    prompts: pd.DataFrame,
    model: str | Loaded,
    n: int = 8,
    seeds: int = 10,
    *,
    seed: int = 0,
    progress: bool = True,
    temperature: float = 1.0,
    top_p: float = 1.0,
    **more,
) -> pd.DataFrame:
    """What a model writes out for ``n`` of the prompts, several times each: a check on ``next-token``.

    A first token "A" may begin an answer, or go on to "A, B, o C" or "A.M.". Strict parsing of whole
    answers tells these apart.

    Returns
    -------
    DataFrame, one row per prompt and draw
        The prompt's design columns, seed_of_draw, written, answer (−1: not parsed), reason, and
        ``begins`` (the answer begins with a letter A, B or C that stands alone). Empty for masked
        models, which write nothing.
    """
    from localbias.models.written_answers import drawn_answers

    ready = load_answerer(model)
    if not _writes(ready):
        columns = [c for c in DESIGN if c in prompts]
        return pd.DataFrame(columns=[*columns, "seed_of_draw", "written", "answer", "reason", "begins"])
    few = prompts.sample(min(n, len(prompts)), random_state=seed).sort_values("prompt_id")
    draws = {"seeds": seeds, "temperature": temperature, "top_p": top_p}
    table = drawn_answers(answer_probabilities(few, ready, "generate", progress=progress, draws=draws, **more))
    return table.assign(begins=table["written"].str.contains(r"^\W*[ABC](?!\w)", regex=True))


def prompts_hash(prompts: pd.DataFrame, wording: PromptForm) -> str:
    """sha256 over what is asked, prompt by prompt (id, order, text)."""
    digest = hashlib.sha256()
    for key, text in zip(_keys(prompts), wording.render(prompts), strict=True):
        digest.update(json.dumps([key, text], ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()


def _keys(shown):
    return [f"{i}:{p}" for i, p in zip(shown["prompt_id"], shown["permutation"], strict=True)]


def _writes(ready) -> bool:
    """Whether the model can go on from a text (not so masked models)."""
    return getattr(ready.model, "can_generate", lambda: False)()


def _job(ready, protocol, shown, texts, cue, budget, reuse, draws):
    ids, options = shown["prompt_id"].tolist(), shown[["ans0", "ans1", "ans2"]].astype(str).to_numpy()
    asked = (ready.tokenizer, ready.model, texts, ids)
    if protocol == "next-token":
        return answer_jobs.next_token(*asked, cue=cue, budget=budget, reuse=reuse)
    if protocol == "option-likelihood":
        return answer_jobs.option_likelihood(*asked, options, cue=cue, budget=budget, reuse=reuse)
    if protocol == "masked":
        return answer_jobs.masked(*asked, cue=cue)
    if protocol == "masked-pseudo":
        return answer_jobs.masked_pseudo(*asked, options, cue=cue)
    from localbias.models.written_answers import job

    return job(*asked, options, shown["permutation"].tolist(), cue=cue, **draws)


def _run(job, shown, settings, folder, title):
    """All parts of a job, stored as they come unless ``folder`` is None."""
    keys = pd.Series(_keys(shown))
    bar = tqdm(total=len(shown), desc=title, unit="prompt", disable=title is None)

    def compute(i):
        table = job.compute(i)
        rows = table.pop("row").to_numpy()
        table.insert(0, "key", keys.to_numpy()[rows])
        table.insert(1, "prompt_id", shown["prompt_id"].to_numpy()[rows])
        table.insert(2, "permutation", shown["permutation"].to_numpy()[rows])
        bar.update(len(job.parts[i]))
        return table

    with bar:
        if folder is None:
            return pd.concat([compute(i) for i in range(len(job.parts))], ignore_index=True).drop(columns="key")

        def stored(place):
            with AnswerStore(place, settings, [keys[p].tolist() for p in job.parts]).working(folder == "auto") as store:
                todo = store.missing()
                bar.update(len(shown) - sum(len(job.parts[i]) for i in todo))
                for i in todo:
                    wall, cpu = time.perf_counter(), time.process_time()
                    table = compute(i)
                    store.write(i, table, time.perf_counter() - wall, time.process_time() - cpu)
                return store.table().drop(columns="key")

        return in_cache(stored, "answers", fingerprint(settings)) if folder == "auto" else stored(Path(folder))
