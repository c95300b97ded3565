"""Shared fixtures: where the published files are, and which tests need them."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(config, items):
    if os.environ.get("LOCALBIAS_MIRROR"):
        return
    skip = pytest.mark.skip(reason="needs the published files: set LOCALBIAS_MIRROR")
    for item in items:
        if "mirror" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def mirror() -> Path:
    """The folder with the published files."""
    return Path(os.environ["LOCALBIAS_MIRROR"])
