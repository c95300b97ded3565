"""Pinned files: mirror, cache, download; what goes wrong on the way. The server is a local one."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from localbias import sources
from localbias.errors import BadTable, SourceUnavailable, UnknownName, WrongHash
from localbias.words import lexicon

CONTENT = {f"lists/{n}.json": f"content {n} ".encode() * 40 * (n + 1) for n in range(12)}
PART = 2048
"""Bytes that a cut or hanging answer sends; the client reads in steps of 1024."""
COMMIT = "0" * 40


class Server(ThreadingHTTPServer):
    """Serves CONTENT; ``faults`` maps a path to what goes wrong with its next requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.asked = {}, []
        self.address = f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.server.asked.append("HEAD " + self.path[1:])
        self.send_response(200 if self.path[1:] in CONTENT else 404)
        self.end_headers()

    def do_GET(self):
        path = self.path[1:]
        self.server.asked.append(path)
        faults = self.server.faults.get(path, [])
        fault = faults.pop(0) if faults else None
        if isinstance(fault, int):
            self.send_response(fault)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = b"something else" if fault == "changed" else CONTENT[path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:PART] if fault in ("cut", "hang") else content)
        self.wfile.flush()
        if fault == "hang":
            time.sleep(30)

    def log_message(self, *args):
        pass


def write_registry(path, address, content=CONTENT):
    files = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    block = {"address": address, "commit": COMMIT, "licence": "made up", "files": files}
    path.write_text(yaml.safe_dump({"made": block}))
    return path


@pytest.fixture
def server(tmp_path, monkeypatch):
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALBIAS_SOURCES", str(write_registry(tmp_path / "sources.yml", server.address)))
    monkeypatch.delenv("LOCALBIAS_MIRROR", raising=False)
    monkeypatch.delenv("LOCALBIAS_OFFLINE", raising=False)
    monkeypatch.setattr(sources, "_PROBES", {})
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "sources" / "made" / "lists"


def left(folder):
    return sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []


def test_a_file_is_downloaded_once_then_taken_from_the_cache(server, cache):
    path = sources.fetch("made/lists/3.json")
    assert path == cache / "3.json"
    assert path.read_bytes() == CONTENT["lists/3.json"]
    assert sources.fetch("made/lists/3.json") == path
    assert server.asked.count("lists/3.json") == 1
    assert left(cache) == ["3.json"]


def test_the_mirror_comes_first_and_the_cache_fills_its_gaps(server, cache, tmp_path, monkeypatch):
    mirrored = tmp_path / "mirror" / "made" / "lists" / "1.json"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT["lists/1.json"])
    monkeypatch.setenv("LOCALBIAS_MIRROR", str(tmp_path / "mirror"))
    assert sources.fetch("made/lists/1.json") == mirrored
    assert sources.fetch("made/lists/2.json") == cache / "2.json"
    assert "lists/1.json" not in server.asked


def test_everything_arrives_when_many_are_fetched_at_once(server):
    found = sources.fetch_all("made/", progress=False, workers=5)
    assert [path.read_bytes() for path in found] == [CONTENT[p.removeprefix("made/")] for p in sources.paths("made/")]
    assert sorted(p for p in server.asked if not p.startswith("HEAD")) == sorted(CONTENT)


def test_a_changed_download_says_expected_got_kept_and_leaves_nothing(server, cache):
    server.faults["lists/4.json"] = ["changed"]
    with pytest.raises(WrongHash) as caught:
        sources.fetch("made/lists/4.json")
    assert hashlib.sha256(CONTENT["lists/4.json"]).hexdigest() in caught.value.expected
    assert hashlib.sha256(b"something else").hexdigest() in caught.value.got
    assert "nothing was kept" in caught.value.todo
    assert left(cache) == []


@pytest.mark.parametrize("where", ["mirror", "cache"])
def test_a_wrong_file_here_is_kept_and_named(server, cache, tmp_path, monkeypatch, where):
    folder = cache if where == "cache" else tmp_path / "mirror" / "made" / "lists"
    folder.mkdir(parents=True)
    (folder / "1.json").write_bytes(b"edited")
    monkeypatch.setenv("LOCALBIAS_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(WrongHash) as caught:
        sources.fetch("made/lists/1.json")
    assert str(folder / "1.json") in caught.value.where
    assert hashlib.sha256(b"edited").hexdigest() in caught.value.got
    assert (folder / "1.json").read_bytes() == b"edited"


def test_a_file_mended_after_an_error_is_read_again(server, cache):
    cache.mkdir(parents=True)
    (cache / "1.json").write_bytes(b"edited")
    with pytest.raises(WrongHash):
        sources.fetch("made/lists/1.json")
    (cache / "1.json").unlink()
    assert sources.fetch("made/lists/1.json").read_bytes() == CONTENT["lists/1.json"]


def test_a_cut_connection_is_tried_again_then_an_error_that_leaves_nothing(server, cache):
    server.faults["lists/5.json"] = ["cut"]
    assert sources.fetch("made/lists/5.json").read_bytes() == CONTENT["lists/5.json"]
    server.faults["lists/6.json"] = ["cut"] * sources.ATTEMPTS
    with pytest.raises(SourceUnavailable) as caught:
        sources.fetch("made/lists/6.json")
    assert server.address in caught.value.where
    assert left(cache) == ["5.json"]


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(server):
    server.faults["lists/7.json"] = [503]
    assert sources.fetch("made/lists/7.json").read_bytes() == CONTENT["lists/7.json"]
    assert server.asked.count("lists/7.json") == 2
    server.faults["lists/8.json"] = [404] * 5
    with pytest.raises(SourceUnavailable, match="404"):
        sources.fetch("made/lists/8.json")
    assert server.asked.count("lists/8.json") == 1


def test_a_killed_download_leaves_nothing_under_the_name_and_the_next_succeeds(server, cache):
    server.faults["lists/9.json"] = ["hang"]
    code = "from localbias import sources; sources.fetch('made/lists/9.json')"
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ.copy(), stderr=subprocess.DEVNULL)
    for _ in range(600):
        if any(path.stat().st_size == PART for path in cache.glob(".9.json.*.part")):
            break
        time.sleep(0.05)
    drafts = list(cache.glob(".9.json.*.part"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [path.read_bytes() for path in drafts] == [CONTENT["lists/9.json"][:PART]]
    assert not (cache / "9.json").exists()
    os.utime(drafts[0], (0, 0))
    assert sources.fetch("made/lists/9.json").read_bytes() == CONTENT["lists/9.json"]
    assert left(cache) == ["9.json"], "the old draft is swept away"


def test_no_network_is_asked_once_and_said_plainly(server, monkeypatch, tmp_path):
    server.shutdown()
    server.server_close()
    asked = []
    monkeypatch.setattr(sources, "_answers", lambda address: asked.append(address) or False)
    assert not sources.available("made/")
    assert not sources.available("made/lists/1")
    with pytest.raises(SourceUnavailable) as caught:
        sources.fetch("made/lists/1.json")
    assert "LOCALBIAS_MIRROR" in caught.value.todo
    assert len(asked) == 1


def test_a_closed_port_counts_as_unreachable(server, monkeypatch, tmp_path):
    address = server.address
    server.shutdown()
    server.server_close()
    assert sources.reachable(address) is False


def test_a_server_that_never_answers_is_given_up(server, monkeypatch):
    monkeypatch.setattr(sources, "PROBE_SECONDS", 0.05)
    monkeypatch.setattr(sources, "_answers", lambda address: time.sleep(2) or True)
    assert sources.reachable(server.address) is False


def test_offline_never_asks_but_uses_what_is_here(server, monkeypatch):
    sources.fetch("made/lists/1.json")
    before = list(server.asked)
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    assert sources.available("made/lists/1.json")
    assert not sources.available("made/")
    with pytest.raises(SourceUnavailable, match="LOCALBIAS_OFFLINE"):
        sources.fetch("made/lists/2.json")
    assert server.asked == before


def test_available_when_the_server_answers(server):
    assert sources.available("made/")
    assert not sources.available("nothing/")


def test_unknown_paths_offer_the_nearest(server):
    with pytest.raises(UnknownName, match=r"did you mean made/lists/11\.json"):
        sources.fetch("made/list/11.json")
    with pytest.raises(UnknownName):
        sources.fetch_all("mode/", progress=False)


def test_status_counts_where_files_are(server, tmp_path, monkeypatch):
    sources.fetch("made/lists/1.json")
    mirrored = tmp_path / "mirror" / "made" / "lists" / "2.json"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(b"edited")
    monkeypatch.setenv("LOCALBIAS_MIRROR", str(tmp_path / "mirror"))
    row = sources.status(check=True).iloc[0]
    assert (row.source, row.folder, row.files, row.in_mirror, row.in_cache, row.missing, row.wrong) == (
        "made",
        "lists",
        12,
        1,
        1,
        10,
        1,
    )
    assert row.reachable == "yes"
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    assert sources.status().iloc[0][["wrong", "reachable"]].tolist() == [-1, "no"]


@pytest.mark.parametrize("text", ["made: {files: {a: b}}", "made: [", "- 1", "\ufffe: {"])
def test_a_broken_registry_is_named(tmp_path, monkeypatch, text):
    broken = tmp_path / "broken.yml"
    broken.write_text(text)
    monkeypatch.setenv("LOCALBIAS_SOURCES", str(broken))
    with pytest.raises(BadTable, match=r"broken\.yml"):
        sources.paths()


def test_auto_is_the_starter_when_nothing_can_be_had(server, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    monkeypatch.delenv("LOCALBIAS_SOURCES")
    assert lexicon.resolve_dataset("auto") == "starter"


def test_the_books_registry_pins_what_the_papers_need():
    """Counts from the upstream folders: 24 languages × 3 × 6 + 25 × 7 + 7 × 11 + 10 lists, 55 workbooks."""
    assert len(sources.paths("weathub/data/")) == 24 * 3 * 6 + 25 * 7 + 7 * 11 + 10 == 694
    assert len(sources.paths("weathub/annotations/")) == 55
    assert len(sources.paths("filbbq/")) == 6
    assert len(sources.paths()) == 999
    digests = [sources.pinned(path)[1] for path in sources.paths()]
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in digests)
    address, _ = sources.pinned("weathub/data/zh_all/weat1.json")
    assert address.endswith("/iamshnoo/weathub/878d6cea7aabc0ce4233bcf48e7ed1759ef41538/data/zh_all/weat1.json")


@pytest.mark.mirror
def test_the_mirror_holds_the_pinned_files():
    assert sources.status(check=True, probe=False)[["missing", "wrong"]].to_numpy().sum() == 0


@pytest.mark.parametrize("value", ["1", "on", "true", "YES", " on "])
def test_offline_is_one_switch_for_sources_and_hub(monkeypatch, value):
    from localbias.models import hub

    monkeypatch.setenv("LOCALBIAS_OFFLINE", "off")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert not sources.offline() and not hub.offline()
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert hub.offline() and not sources.offline()
    monkeypatch.setenv("HF_HUB_OFFLINE", "no")
    monkeypatch.setenv("LOCALBIAS_OFFLINE", value)
    assert sources.offline() and hub.offline()
