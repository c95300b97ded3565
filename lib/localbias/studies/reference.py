"""The whole benchmark, run once with the packaged model, and its result kept small.

``python -m localbias.studies.reference`` asks all prompts and writes ``data/reference/``:

- ``filbbq-<model>.json``: what was run: model, revision, wording, numbers of prompts and tokens, the
  time it took, and hashes of the prompts and of the probabilities;
- ``filbbq-<model>-scores.csv``: expected scores per template × context, per category and overall, with
  answers that are no option left out (``unparsed``) and with the options alone (``renormalise``);
- ``filbbq-<model>-profile.csv``: every template's score with interval, null band, q and shrunken value;
- ``filbbq-<model>-chance.csv``: the largest scores beside the largest by chance;
- ``filbbq-<model>-probabilities.parquet``: the three probabilities of each prompt, half precision.

Stopped, it goes on where it was. No seed takes part: a second run gives the same numbers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import torch

from localbias.errors import BadTable, SourceUnavailable, WrongHash
from localbias.files import checked, project_root, read_checked, write_csv
from localbias.models.answer_store import AnswerStore
from localbias.models.answers import answer_probabilities, prompts_hash
from localbias.prompts.generation import generate_prompts
from localbias.prompts.orders import reorder
from localbias.prompts.roles import CONDITIONS
from localbias.prompts.wording import prompt_form
from localbias.studies.seeds import expected_scores
from localbias.studies.selection import bias_profile, largest_by_chance

P = ["p0", "p1", "p2"]


def all_prompts(rules: str = "filbbq-2026", seed: int = 0, dataset: str = "auto") -> pd.DataFrame:
    """The prompts of every category."""
    return generate_prompts("all", seed=seed, rules=rules, dataset=dataset).sort_values("prompt_id", ignore_index=True)


def probabilities_hash(probabilities: pd.DataFrame) -> str:
    """sha256 of the option probabilities in half precision, as they are kept, in the order of the prompts."""
    table = probabilities.sort_values("prompt_id")
    content = table["prompt_id"].to_numpy("<i8").tobytes() + table[P].to_numpy("<f2").tobytes()
    return hashlib.sha256(content).hexdigest()


def _stem(folder: Path, model: str) -> Path:
    return folder / f"filbbq-{model.replace('/', '--')}"


def reference_folder() -> Path:
    """Where reference results are kept."""
    return project_root() / "data" / "reference"


def run(model: str = "gemma-3-270m", folder: str | Path | None = None, out: Path | None = None, progress=True) -> Path:
    """Ask all prompts of FilBBQ and write the reference files.

    Parameters
    ----------
    model : str
    folder : path, optional
        Where answers are kept as they come; in the user's cache by default.
    out : path, optional
        Instead of ``data/reference``.

    Returns
    -------
    Path of the JSON file
    """
    prompts = all_prompts(dataset="filbbq")
    probabilities = answer_probabilities(prompts, model, folder=folder or "auto", progress=progress)
    out = out or reference_folder()
    about = {
        **probabilities.iloc[0][["model", "revision", "weights", "protocol", "prompt_form", "cue"]].to_dict(),
        "rules": prompts["rules"].iloc[0],
        "seed_of_prompts": int(prompts["seed"].iloc[0]),
        "orders": "published",
        "prompts": len(prompts),
        "tokens": int(probabilities["n_tokens"].sum()),
        "sha256_prompts": prompts_hash(reorder(prompts), prompt_form()),
        "versions": {p: version(p) for p in ("torch", "transformers", "tokenizers")},
        "threads": torch.get_num_threads(),
    }
    if folder:
        wall, cpu = AnswerStore(folder, {}, []).seconds()
        about |= {"wall_seconds": round(wall), "processor_seconds": round(cpu)}
    return write(probabilities, about, out)


def write(probabilities: pd.DataFrame, about: dict, out: Path) -> Path:
    """Write the reference files of a run; returns the JSON's path."""
    stem = _stem(out, about["model"])
    scores = pd.concat(
        [
            expected_scores(probabilities, off_option=how).assign(off_option_treated=how)
            for how in ("renormalise", "unparsed")
        ]
    )
    settings = {"off_option": "renormalise"}
    profiles = pd.concat([bias_profile(probabilities, c, **settings) for c in CONDITIONS], ignore_index=True)
    chance = pd.concat([largest_by_chance(probabilities, c, **settings) for c in CONDITIONS])
    for name, table in (("scores", scores), ("profile", profiles), ("chance", chance)):
        with checked(stem.with_name(f"{stem.name}-{name}.csv")) as draft:
            write_csv(table.round(6), draft)
    kept = probabilities[["prompt_id", *P]].sort_values("prompt_id").astype({p: "float16" for p in P})
    with checked(stem.with_name(stem.name + "-probabilities.parquet")) as draft:
        kept.to_parquet(draft, index=False, compression="zstd")
    about = about | {
        "sha256_probabilities": probabilities_hash(probabilities),
        "sha256_probabilities_of": "prompt_id and p0, p1, p2 in half precision",
    }
    path = stem.with_name(stem.name + ".json")
    with checked(path) as draft:
        draft.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def has_reference(model: str = "gemma-3-270m") -> bool:
    """Whether a full run with this model is kept."""
    return _stem(reference_folder(), model).with_name(_stem(reference_folder(), model).name + ".json").exists()


def nearest(model: str) -> str:
    """The model whose full run to show: the one asked for, or the default where none of it is kept."""
    return model if has_reference(model) else "gemma-3-270m"


def read(model: str = "gemma-3-270m") -> dict:
    """A kept full run.

    Returns
    -------
    dict
        "about" (what was run), and the tables "scores", "profile", "chance", "probabilities"; every row
        says whose it is (model, revision, weights, protocol).

    Raises
    ------
    SourceUnavailable
        When no full run with this model is kept.
    WrongHash
        When a file of it is not as it was written.
    """
    stem = _stem(reference_folder(), model)
    if not has_reference(model):
        raise SourceUnavailable(
            f"no full run with {model} is kept",
            expected=f"{stem.name}.json",
            where=str(stem.parent),
            todo="python -m localbias.studies.reference --model …",
        )
    tables = ("scores", "profile", "chance")
    held = {name: read_checked(stem.with_name(f"{stem.name}-{name}.csv"), pd.read_csv) for name in tables}
    about = held["about"] = read_checked(stem.with_name(stem.name + ".json"), json.load)
    whose = {key: about.get(key, "not stated") for key in ("model", "revision", "weights", "protocol")}
    held |= {name: held[name].assign(dataset="filbbq", **whose) for name in tables}
    kept = read_checked(stem.with_name(stem.name + "-probabilities.parquet"), pd.read_parquet)
    if (got := probabilities_hash(kept)) != about["sha256_probabilities"]:
        raise WrongHash(
            "the kept probabilities are not those of the run",
            expected=f"sha256 {about['sha256_probabilities']}",
            got=got,
            where=stem.name,
            todo="restore data/reference, or run python -m localbias.studies.reference again",
        )
    kept = kept.astype({p: float for p in P})
    kept[P] = kept[P].div(kept[P].sum(axis=1).clip(lower=1.0), axis=0)  # half precision may round a sum above 1
    held["probabilities"] = kept.assign(**whose)
    return held


def attach_reference(model: str = "gemma-3-270m", prompts: pd.DataFrame | None = None) -> pd.DataFrame:
    """The kept probabilities with their prompts, ready to be scored; needs the published templates.

    ``prompts`` are all prompts where they are generated already, with the run's rules and seed.

    Raises
    ------
    BadTable
        When today's prompts are not those of the run.
    """
    held = read(model)
    about, kept = held["about"], held["probabilities"]
    if prompts is None:
        prompts = all_prompts(about["rules"], about["seed_of_prompts"], dataset="filbbq")
    prompts = reorder(prompts)
    now = prompts_hash(prompts, prompt_form(about["prompt_form"]))
    if now != about["sha256_prompts"]:
        raise BadTable(
            "the prompts are not those of the kept run",
            expected=f"sha256 {about['sha256_prompts'][:12]}…",
            got=f"{now[:12]}…",
            todo="run python -m localbias.studies.reference again",
        )
    return prompts.merge(kept, on="prompt_id", validate="one_to_one")


def is_of(asked: pd.DataFrame, about: dict) -> bool:
    """Whether answers were got as those of a kept run: same model, protocol, wording, rules and seed of prompts."""
    first = asked.iloc[0]
    alike = all(first[c] == about.get(c) for c in ("model", "weights", "protocol", "prompt_form", "cue", "rules"))
    return alike and first["dataset"] == "filbbq" and first["seed"] == about.get("seed_of_prompts")


def widest(asked: pd.DataFrame, whole: pd.DataFrame, temperature: float = 1.0, top_p: float = 1.0) -> pd.DataFrame:
    """The answers to all prompts where such a run is kept, else those to the prompts asked.

    Parameters
    ----------
    asked : DataFrame from answer_probabilities, in the published orders
    whole : all prompts, as generated
    temperature, top_p : a kept run has the options' probabilities only, so it stands for the plain ones
    """
    model = asked["model"].iloc[0]
    if len(asked) == len(whole) or (temperature, top_p) != (1.0, 1.0) or not has_reference(model):
        return asked
    if not is_of(asked, read(model)["about"]):
        return asked
    try:
        return attach_reference(model, whole)
    except BadTable:  # the templates have changed since
        return asked


def main() -> None:
    """The command line: ``python -m localbias.studies.reference [--model M] [--folder F]``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--model", default="gemma-3-270m")
    parser.add_argument("--folder", help="where answers are kept as they come (default: the user's cache)")
    given = parser.parse_args()
    print(run(given.model, given.folder))


if __name__ == "__main__":
    main()
