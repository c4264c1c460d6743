"""A real PostgreSQL server for the tests of the store, on a Unix socket in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from breakeven.store.opening import open_store
from breakeven.store.repository import Repository

PASSWORD = "hunter2-secret"
_DATABASES = count()

Opener = Callable[[str], Repository]


def _program(name: str) -> str | None:
    newest_first = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or next((str(path) for path in newest_first), None)


def _identity() -> dict[str, Any]:
    """Whom the server runs as: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL refuses to run as root, and there is no other user")


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    """The folder of the server's socket."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None or not hasattr(os, "geteuid"):
        pytest.skip("PostgreSQL is not installed")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("the extra postgresql is not installed")
    identity = _identity()
    folder = Path(tempfile.mkdtemp(prefix="breakeven-pg-"))
    try:
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        if identity:
            for path in (folder, folder / "password"):
                os.chown(path, identity["user"], identity["group"])
        words = [initdb, "-D", "data", "-U", "breakeven", "-A", "scram-sha-256", "--pwfile=password", "-E", "UTF8"]
        made = subprocess.run(
            [*words, "--locale=C", "--no-sync"], cwd=folder, check=False, capture_output=True, text=True, **identity
        )
        assert made.returncode == 0, made.stderr
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [postgres, "-D", "data", "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"],
                cwd=folder,
                stdout=log,
                stderr=log,
                **identity,
            )
        try:
            _wait_for(process, folder)
            yield folder
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(process: subprocess.Popen[bytes], folder: Path) -> None:
    import psycopg

    for _ in range(200):
        assert process.poll() is None, (folder / "log").read_text(encoding="utf-8")
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url_of(folder, "postgres")):
            return
        time.sleep(0.05)
    pytest.fail("PostgreSQL did not start")


def url_of(folder: Path, database: str, password: str = PASSWORD) -> str:
    return f"postgresql://breakeven:{password}@/{database}?host={folder}"


@pytest.fixture
def database_url(server: Path) -> str:
    """A fresh database."""
    import psycopg

    name = f"store{next(_DATABASES)}"
    with psycopg.connect(url_of(server, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return url_of(server, name)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'deep' / 'store.sqlite'}"
    url: str = request.getfixturevalue("database_url")
    return url


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens stores, and closes them in the end."""
    with contextlib.ExitStack() as stack:

        def opener(url: str) -> Repository:
            repository = open_store(url)
            stack.callback(repository.close)
            return repository

        yield opener
