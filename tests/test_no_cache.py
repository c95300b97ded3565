"""A cache that cannot be written, or is full, stops nothing: everything is made all the same, and it is said once."""

import os
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

import embed_made
import filbbq_made as made
from localbias import files
from localbias.models.answers import answer_probabilities
from localbias.models.conversion import converted
from localbias.models.encoder import Encoder
from localbias.prompts.generation import generate_prompts


@pytest.fixture(params=["a file in the way", "a file where each folder would be", "read-only", "full"])
def no_cache(request, tmp_path, monkeypatch):
    """A cache that cannot be written, for one reason; disks are small file systems in memory."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("LOCALBIAS_CACHE", str(cache))
    if request.param == "a file in the way":
        cache.write_text("")
        yield cache
        return
    cache.mkdir()
    if request.param == "a file where each folder would be":
        for name in ("vectors", "answers", "models", "sources", "annotations", "lexicons", "fasttext"):
            (cache / name).write_text("")
        yield cache
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(cache)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    if request.param == "full":
        (cache / "ballast").write_bytes(bytes(64 * 1024 - 8192))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(cache)], check=True)
    yield cache
    subprocess.run(["umount", str(cache)], check=True)


def everything(folder):
    """One of each that is kept: word vectors, a converted model, answers."""
    vectors = Encoder(folder).encode(["bee", "flow", *(f"bee{i}" for i in range(300))], ["M5"], "en")["M5"]
    made_of = converted("name", "ab" * 32, lambda draft: (draft / "weights").write_bytes(bytes(100_000)))
    prompts = generate_prompts("gender_identity", dataset="starter").head(8)
    answers = answer_probabilities(prompts, made.tiny(), folder="auto", progress=False)
    return vectors, (made_of / "weights").read_bytes(), answers


def test_a_run_goes_on_without_its_cache_and_says_so_once(no_cache, tmp_path, monkeypatch):
    folder = str(embed_made.bert(tmp_path / "bert"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        vectors, weights, answers = everything(folder)
    told = [str(w.message) for w in said if "not kept" in str(w.message)]
    assert len(told) == 1 and str(no_cache) in told[0] and "LOCALBIAS_CACHE" in told[0]
    spare = files.spare_path()
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "good"))
    expected = everything(folder)
    np.testing.assert_array_equal(vectors, expected[0])
    assert weights == expected[1] and files.spare_path() is None and spare.is_dir()
    pd.testing.assert_frame_equal(answers, expected[2])
