"""Where the answers of a run are kept as they come, so that a stopped run goes on where it was.

A run folder holds ``run.json`` (what the run is), ``part-00000.parquet`` … (finished parts, each
written whole or not at all), ``SHA256SUMS`` (:mod:`localbias.files`) and a lock while a run works in it. A file
that is not as it was written is put aside, named in a warning, and made anew. Which prompts belong to which part
is fixed before the first is asked, so a run that was killed and resumed ends with the same bytes as
one that was not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout

from localbias.errors import BadTable, LocalBiasError
from localbias.files import checked, kept, put_aside, read_checked


class RunBusy(LocalBiasError, RuntimeError):
    """Another run works in the same folder."""


class OtherRun(LocalBiasError, ValueError):
    """A folder that holds the answers of another run: other prompts, model or settings."""


class BrokenPart(LocalBiasError, OSError):
    """A part that holds answers to prompts it must not hold."""

    __str__ = Exception.__str__


def fingerprint(settings: dict) -> str:
    """A short hash of what makes a run: same settings, same hash.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:20]


class AnswerStore:
    """The parts of one run.

    Parameters
    ----------
    folder : Path
    settings : dict
        All that decides the answers (JSON-able). A folder made with other settings is refused.
    parts : list of lists of keys
        Which prompts, by key, each part holds; fixed for the run.
    """

    def __init__(self, folder, settings: dict, parts: list[list[str]]):
        self.folder, self.settings, self.parts = Path(folder), settings, parts

    @contextmanager
    def working(self, wait: bool = False) -> Iterator[AnswerStore]:
        """Hold the folder for this run.

        Raises
        ------
        RunBusy
            When another run holds it (with ``wait=True``: it is waited for instead).
        OtherRun
            When the folder belongs to a run with other settings.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock", timeout=-1 if wait else 0)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunBusy(
                "another run writes into this folder",
                where=str(self.folder),
                todo="wait for it, or give this run a folder of its own",
            ) from error
        try:
            self._claim()
            for left_over in self.folder.glob(".*.part"):
                left_over.unlink()
            yield self
        finally:
            lock.release()

    def _claim(self):
        path = self.folder / "run.json"
        mine = {"fingerprint": fingerprint(self.settings), "settings": self.settings, "parts": len(self.parts)}
        there = path.exists()
        theirs = kept(path, json.load)
        if theirs is None:
            self._clear(there)
            with checked(path) as draft:
                draft.write_text(
                    json.dumps(mine, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n", encoding="utf-8"
                )
            return
        if theirs.get("fingerprint") != mine["fingerprint"]:
            settings = json.loads(json.dumps(self.settings, default=str))
            before = theirs.get("settings", {})
            differing = sorted(k for k in {*settings, *before} if settings.get(k) != before.get(k))
            raise OtherRun(
                "the folder holds another run's answers",
                where=str(self.folder),
                expected=f"the same {', '.join(differing)}",
                got=str({k: before.get(k) for k in differing})[:300],
                todo="give this run a folder of its own, or delete that one",
            )

    def _clear(self, damaged: bool) -> None:
        """Before run.json is written: no parts may be there but those of a run whose run.json was damaged."""
        strangers = sorted(self.folder.glob("*.parquet"))
        if strangers and not damaged:
            raise OtherRun(
                "the folder holds answers but not what run they are from",
                where=str(self.folder),
                expected="an empty folder or one with run.json",
                got=", ".join(p.name for p in strangers[:3]),
            )
        for part in strangers:
            put_aside(part, ValueError("what run this part is from is not known"))

    def path(self, index: int) -> Path:
        """Where part ``index`` is kept."""
        return self.folder / f"part-{index:05d}.parquet"

    def missing(self) -> list[int]:
        """The parts still to be computed: not there, or damaged; a part that is there is read and checked first."""
        names = {self.path(i).name for i in range(len(self.parts))}
        if extra := sorted(p.name for p in self.folder.glob("part-*.parquet") if p.name not in names):
            raise BrokenPart(
                "the folder holds parts that this run does not have",
                where=str(self.folder),
                got=", ".join(extra[:3]),
                todo="delete the folder and run again",
            )
        todo = []
        for index in range(len(self.parts)):
            table = kept(self.path(index), pd.read_parquet)
            if table is None:
                todo.append(index)
            else:
                self._check(index, table)
        return todo

    def write(self, index: int, table: pd.DataFrame, wall: float = 0.0, cpu: float = 0.0) -> None:
        """Store a finished part, whole or not at all, and note how long it took (seconds) in ``times.csv``."""
        self._check(index, table)
        with checked(self.path(index)) as draft:
            table.to_parquet(draft, index=False)
        with open(self.folder / "times.csv", "a", encoding="utf-8") as times:
            times.write(f"{index},{wall:.3f},{cpu:.3f}\n")

    def seconds(self) -> tuple[float, float]:
        """Wall and processor seconds that the stored parts took, as far as noted."""
        path = self.folder / "times.csv"
        if not path.exists():
            return 0.0, 0.0
        times = pd.read_csv(path, names=["part", "wall", "cpu"]).drop_duplicates("part", keep="last")
        wall, cpu = times[["wall", "cpu"]].to_numpy(float).sum(axis=0).tolist()
        return wall, cpu

    def read(self, index: int) -> pd.DataFrame:
        """A stored part."""
        table = read_checked(self.path(index), pd.read_parquet)
        self._check(index, table)
        return table

    def _check(self, index, table):
        wanted, got = set(self.parts[index]), set(table["key"])
        if wanted != got or len(table) < len(wanted):
            raise BrokenPart(
                "a part holds answers to prompts that are not its own",
                expected=f"{len(wanted)} prompts",
                where=str(self.path(index)),
                got=f"unknown {sorted(got - wanted)[:3]}, missing {sorted(wanted - got)[:3]}",
                todo="delete this file and run again",
            )

    def table(self) -> pd.DataFrame:
        """All parts, in order."""
        return pd.concat([self.read(i) for i in range(len(self.parts))], ignore_index=True)


def attach(prompts: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Join answers to the prompts they belong to, by prompt_id and permutation.

    Raises
    ------
    BadTable
        When an answer belongs to a prompt that is not in the table, or a prompt is in it twice.
    """
    keys = [k for k in ("prompt_id", "permutation") if k in prompts and k in answers]
    if twice := prompts.duplicated(keys).sum():
        raise BadTable(
            "prompts are in the table twice", expected=f"{' and '.join(keys)} unique", got=f"{twice} repeated"
        )
    known = pd.MultiIndex.from_frame(prompts.filter(items=keys))
    given = pd.MultiIndex.from_frame(answers.filter(items=keys))
    stray = ~given.isin(known)
    if stray.any():
        raise BadTable(
            "answers to prompts that do not exist",
            expected=f"the {len(prompts)} prompts of the table",
            got=f"{int(stray.sum())} others, first {answers.loc[stray, keys].iloc[0].to_dict()}",
            todo="score answers with the prompts they were asked with",
        )
    design = prompts[[c for c in prompts.columns if c in keys or c not in answers.columns]]
    return answers.merge(design, on=keys, how="left", validate="many_to_one")
