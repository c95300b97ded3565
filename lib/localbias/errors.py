"""The project's named errors: what was expected, what was got, where, and what to do.

Every error that this library raises on purpose derives from :class:`LocalBiasError`, so that a
notebook run can tell a bad input from a bug. The message is built from the same four parts
everywhere, and the parts stay readable as attributes.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

_NO_ROOM = ("EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EFBIG", "EIO", "ENOTDIR", "EEXIST")


def no_room(problem: BaseException) -> bool:
    """Whether an error says that a place cannot be written: no right, read-only, full, broken, no folder.

    >>> no_room(PermissionError(errno.EACCES, "no")), no_room(ValueError("I/O error: No space left on device"))
    (True, True)
    >>> no_room(FileNotFoundError(errno.ENOENT, "no"))
    False
    """
    return errno.errorcode.get(getattr(problem, "errno", None)) in _NO_ROOM or "No space left on device" in str(problem)


class LocalBiasError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    problem : str
        What is wrong, in one sentence.
    expected, got, where, todo : str, optional
        What was expected and got instead; the file, row, test, language, set or word; what to do.

    Examples
    --------
    >>> print(LocalBiasError("unknown test", expected="weat1 … weat26", got="'weat99'", todo="see `localbias tests`"))
    unknown test
      expected: weat1 … weat26
      got: 'weat99'
      to do: see `localbias tests`
    """

    def __init__(self, problem: str, *, expected: str = "", got: str = "", where: str = "", todo: str = ""):
        self.problem, self.expected, self.got, self.where, self.todo = problem, expected, got, where, todo
        parts = {"where": where, "expected": expected, "got": got, "to do": todo}
        super().__init__("\n  ".join([problem, *(f"{k}: {v}" for k, v in parts.items() if v)]))

    def __reduce__(self):
        state = {k: getattr(self, k) for k in ("expected", "got", "where", "todo")}
        return (_rebuild, (type(self), self.problem, state))


def _rebuild(kind, problem, state):
    return kind(problem, **state)


class UnknownName(LocalBiasError, KeyError):
    """A language, test, method, model, variant, category or parameter that does not exist."""

    __str__ = Exception.__str__


class BadValues(LocalBiasError, ValueError):
    """Numbers that no result can be computed from: NaN, infinite, empty, wrong shape."""


class BadTable(LocalBiasError, ValueError):
    """A table, spreadsheet or template that does not have the form it must have."""


class SourceUnavailable(LocalBiasError, OSError):
    """A pinned file that neither mirror, cache nor download could provide."""

    __str__ = Exception.__str__


class WrongHash(LocalBiasError, OSError):
    """A file whose content is not the pinned one."""

    __str__ = Exception.__str__


class ModelUnavailable(LocalBiasError, OSError):
    """A model that cannot be found, read or used for what was asked."""

    __str__ = Exception.__str__


class ProtocolUnfit(ModelUnavailable):
    """A model's words cannot be read under the protocol asked for; under another they can."""


class NotebookFailed(LocalBiasError, RuntimeError):
    """A notebook that stopped: names the notebook, the cell and the error."""


@contextmanager
def reading(what: str, where: object, expected: str = "", todo: str = "") -> Iterator[None]:
    """Whatever a reader of a model's files raises is a :class:`ModelUnavailable`: what was read, where, and why not.

    What the machine lacks (memory, room on the disk) stays what it is.

    >>> with reading("the weights of 'x'", "x/model.safetensors"):
    ...     [][0]
    Traceback (most recent call last):
    ...
    localbias.errors.ModelUnavailable: the weights of 'x' cannot be read: list index out of range
      where: x/model.safetensors
      got: IndexError
    """
    try:
        yield
    except (LocalBiasError, MemoryError):
        raise
    except Exception as problem:
        if no_room(problem):
            raise
        said = " ".join(str(problem).split())[:400]
        kind = type(problem).__name__
        raise ModelUnavailable(
            f"{what} cannot be read: {said}", expected=expected, got=kind, where=str(where), todo=todo
        ) from problem


def unknown(kind: str, name: object, known, todo: str = "") -> UnknownName:
    """An :class:`UnknownName` that offers the nearest known names.

    >>> unknown("test", "waet1", ["weat1", "weat2"]).todo
    'did you mean weat1?'
    """
    from difflib import get_close_matches

    known, shown = [str(k) for k in known], repr(name)[:200]
    near = get_close_matches(str(name)[:200], known, n=1)
    hint = f"did you mean {near[0]}?" if near else todo or f"choose one of the {len(known)} known names"
    return UnknownName(f"unknown {kind}: {shown}", expected=", ".join(known), got=shown, todo=hint)
