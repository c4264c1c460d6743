from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from breakeven.bench import host_cpu
from breakeven.bench.host_cpu import Download, measure_disk, measure_download, measure_processor
from breakeven.errors import InputError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_cpu, "_SPEED_S", 0.05)
    monkeypatch.setattr(host_cpu, "_COPY_BYTES", 2**24)
    told = measure_processor()
    assert told.cores is not None
    assert told.cores_allowed is not None
    assert 0 < told.cores_allowed <= told.cores
    assert told.copy_bytes_per_s > 1e8
    assert told.sha256_bytes_per_s > 1e7
    assert told.python_loops_per_s > 1e5
    assert told.python == sys.version.split()[0]


def test_the_disk_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_cpu, "_RANDOM_S", 0.2)
    told = measure_disk(tmp_path, size_bytes=2**25, seconds=1)
    assert told.folder == str(tmp_path.resolve())
    assert told.size_bytes == 2**25
    assert told.write_bytes_per_s > 1e5
    assert told.read_bytes_per_s is not None
    assert told.random_reads_per_s is not None
    assert told.way in {"direct", "dropped", "cached"}
    assert told.free_bytes > 2**25
    assert list(tmp_path.iterdir()) == []


def test_a_file_never_takes_more_than_a_tenth_of_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr(host_cpu, "_RANDOM_S", 0.05)
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=200 * 2**20))
    assert measure_disk(tmp_path, seconds=1).size_bytes == 20 * 2**20


def test_a_disk_in_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("this system has no /dev/shm")
    monkeypatch.setattr(host_cpu, "_RANDOM_S", 0.05)
    told = measure_disk("/dev/shm", size_bytes=2**23)
    assert (told.filesystem, told.way) == ("tmpfs", "cached")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_of_one_that_is_stopped(sent: int, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom breakeven.bench.host_cpu import measure_disk\nprint(flush=True)\n"
        "while True: measure_disk(sys.argv[1], size_bytes=2**27)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(0.4)
    running.send_signal(sent)
    running.wait(20)
    running.stdout.close()
    assert running.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, code in ((tmp_path / "none", "not-a-folder"), (tmp_path / "file", "not-a-folder")):
        with pytest.raises(InputError) as caught:
            measure_disk(place)
        assert caught.value.code == code
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(InputError) as caught:
            measure_disk(tmp_path / "locked")
        assert caught.value.code == "folder-not-writable"


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/large":
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(512):
                    self.wfile.write(b"x" * 2**16)
            except OSError:
                pass
        elif self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.5)
        elif self.path in {"/here", "/file", "/ftp", "/loop"}:
            self.send_response(302)
            targets = {
                "/here": "/large",
                "/file": "file:///etc/hostname",
                "/ftp": "ftp://127.0.0.1/x",
                "/loop": "/loop",
            }
            self.send_header("Location", targets[self.path])
            self.end_headers()
        else:
            self.send_response(404)
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(socket_enabled: None) -> Iterator[str]:
    found = HTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    thread.join()
    found.server_close()


def test_a_download_is_bounded(server: str) -> None:
    told = measure_download(f"{server}/large", max_bytes=2**20)
    assert isinstance(told, Download)
    assert 2**20 <= told.size_bytes < 2**20 + 2**17
    assert told.bytes_per_s == pytest.approx(told.size_bytes / told.seconds)
    redirected = measure_download(f"{server}/here", max_bytes=2**17)
    assert isinstance(redirected, Download)


def test_a_download_takes_no_longer_than_it_may(server: str) -> None:
    told = measure_download(f"{server}/slow", seconds=0.1)
    assert isinstance(told, Download)
    assert told.size_bytes == 1


def test_a_redirect_to_anything_but_http_is_not_followed(server: str) -> None:
    for path, problem in (("/file", "HTTP 302"), ("/ftp", "redirect"), ("/none", "HTTP 404")):
        told = measure_download(f"{server}{path}")
        assert told == Reason("download-failed", text=f"{server}{path}", problem=problem)
    assert isinstance(measure_download(f"{server}/loop"), Reason)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x", "x", "", "http://", "http://a b/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError) as caught:
        measure_download(url)
    assert caught.value.code == "bad-download-url"


def test_secrets_in_an_address_are_not_repeated(socket_enabled: None) -> None:
    told = measure_download("http://user:secret@127.0.0.1:1/x?key=secret")
    assert isinstance(told, Reason)
    assert "secret" not in str(told.values)
