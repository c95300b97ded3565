"""What is tried out in JupyterLab stays out of the book: a real JupyterLab, driven in headless Chromium."""

import io
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

import pandas as pd
import pytest
from test_site_browser import browser  # noqa: F401 (a fixture)

from localbias import files
from test_faults import PROJECT, STEM, built, contents, first_build, localbias, until  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.browser, pytest.mark.book, pytest.mark.timeout(900)]


@pytest.fixture
def lab(built):  # noqa: F811
    """The address of a JupyterLab in a built book, with settings of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = built.parent / "jupyter"
    places = {f"JUPYTER_{name}_DIR": str(own / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    places["JUPYTERLAB_SETTINGS_DIR"] = places["JUPYTERLAB_WORKSPACES_DIR"] = str(own / "lab")
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    makefile = (PROJECT / "Makefile").read_text()
    options = re.search(r"jupyter lab (.*)", makefile)[1].split()  # as `make lab` starts it
    options += ["--ServerApp.port_retries=0", "--IdentityProvider.token=made"]
    log = built.parent / "lab.log"
    with open(log, "w") as told:
        server = subprocess.Popen([*command, *options], env=os.environ | places, stdout=told, stderr=told, cwd=built)
    address = f"http://127.0.0.1:{port}"

    def answers():
        try:
            return urllib.request.urlopen(f"{address}/api?token=made", timeout=5).status == 200
        except OSError:
            return False

    try:
        assert until(answers, 180), log.read_text()
        yield address
    finally:
        server.terminate()
        server.wait(60)


def test_a_notebook_run_in_jupyterlab_leaves_the_book_alone(built, lab, browser):  # noqa: F811
    before = {name: contents(built / name) for name in ("data/results", "book/_executed", "_build/html")}
    page = browser.new_context(viewport={"width": 1360, "height": 900}).new_page()
    page.set_default_timeout(180_000)
    page.goto(f"{lab}/lab/tree/notebooks/{STEM}.ipynb?token=made")
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    cell.wait_for()
    # As a person does: another value in the parameters cell, then Run > Run All Cells.
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("n: int = 7  # rows")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    link = page.locator(".jp-OutputArea a", has_text="CSV")
    link.wait_for()
    assert "7 rows" in page.locator(".jp-Notebook").inner_text()
    tried = built / "data/results/interactive"
    assert until((tried / "findings/first.json").exists, 60)
    assert len(pd.read_csv(tried / "first.csv")) == len(pd.read_parquet(tried / "first.parquet")) == 7
    downloaded = page.request.get(link.get_attribute("href"))
    assert downloaded.ok and pd.read_csv(io.BytesIO(downloaded.body())).n.tolist() == list(range(7))
    page.close()
    localbias(built, "site")
    assert contents(built / "_build/html") == before["_build/html"]
    shutil.rmtree(tried)
    assert {name: contents(built / name) for name in before} == before
    assert files.published_files(built).keys() == {
        f"{kind}{table}.{end}"
        for table in ("first", "second")
        for kind, end in (("", "csv"), ("", "parquet"), ("findings/", "json"))
    }
