"""Sees which files a process of the tests opens: Python imports this module first, child processes too.

``TESTS_FORBIDDEN`` lists folders (separated as PATH is). Opening, listing or changing anything in one of them
is an error, and is noted in the file ``TESTS_TOUCHED``, so that the test fails even where the error is caught.
So is a connection to another machine.
"""

import os
import sys

LOCAL = ("127.", "::1", "localhost", "0.0.0.0")


def forbidden(event: str, arguments: tuple) -> str:
    """What an event of the interpreter touches that the tests must leave alone; empty when nothing."""
    if event == "open" or (event.startswith(("os.", "pathlib.", "glob.")) and "env" not in event):
        places = tuple(filter(None, os.environ.get("TESTS_FORBIDDEN", "").split(os.pathsep)))
        for argument in arguments[:2]:
            if isinstance(argument, (str, bytes, os.PathLike)):
                path = os.fsdecode(argument)
                if not path.startswith(os.sep) and _in_an_open_folder(event, arguments):
                    continue
                path = path if path.startswith(os.sep) else os.path.abspath(path)
                if path.startswith(places) and any(path == p or path.startswith(p + os.sep) for p in places):
                    return path
    elif event in ("socket.getaddrinfo", "socket.connect"):
        host = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = host[0] if isinstance(host, tuple) else host if event == "socket.getaddrinfo" else "localhost"
        if host and not os.fsdecode(host).startswith(LOCAL):
            return f"the network ({os.fsdecode(host)})"
    return ""


def _in_an_open_folder(event: str, arguments: tuple) -> bool:
    """Whether a relative name may be one in a folder that is open (``dir_fd``, as rmtree does), not in this one."""
    return arguments[1] is None if event == "open" else any(isinstance(a, int) and a >= 0 for a in arguments[1:])


def watch(event: str, arguments: tuple) -> None:
    """The audit hook: note what is forbidden, then refuse it."""
    if "TESTS_TOUCHED" not in os.environ:
        return
    try:
        found = forbidden(event, arguments)
    except (OSError, ValueError):
        return
    if found:
        with open(os.environ["TESTS_TOUCHED"], "a", encoding="utf-8") as notes:
            notes.write(f"{event} {found}\n")
        raise PermissionError(f"a test must leave this alone: {found} ({event})")


if "TESTS_TOUCHED" in os.environ:
    sys.addaudithook(watch)
