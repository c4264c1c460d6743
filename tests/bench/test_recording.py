from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from breakeven.bench.answers import understand
from breakeven.bench.recording import Note, RecordingWriter, Understood, read_recording
from breakeven.errors import ExternalError, InputError
from tests.bench.scripted import HEAD, whole
from tests.bench.test_answers import exchange

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    one = exchange([HEAD, *whole(3)])
    writer = RecordingWriter(path)
    writer.note("begin", step=0)
    writer.write(one)
    writer.write_understood(one, understand(one))
    writer.close()
    note, again, meant = read_recording(path)
    assert note == Note("begin", {"step": 0})
    assert again == one
    assert isinstance(meant, Understood)
    assert meant.answer["output_tokens"] == 3
    assert b" of" not in path.read_bytes()[-400:]  # neither prompt nor answer
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recording_cut_anywhere_keeps_every_whole_record(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    writer = RecordingWriter(path)
    ends = []
    for _ in range(3):
        writer.write(exchange([HEAD, *whole(2)]))
        ends.append(path.stat().st_size)
    writer.close()
    content = path.read_bytes()
    part = tmp_path / "part.rec"
    for size in range(len(content)):
        part.write_bytes(content[:size])
        assert len(list(read_recording(part))) == sum(end <= size for end in ends)


def test_damage_before_the_last_record_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    writer = RecordingWriter(path)
    for _ in range(2):
        writer.write(exchange([HEAD, *whole(2)]))
    writer.close()
    content = bytearray(path.read_bytes())
    content[120] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_recording(path))
    assert caught.value.code == "bad-recording"
    path.write_bytes(b"something else entirely, and long enough")
    with pytest.raises(InputError):
        list(read_recording(path))


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(b"")
    with pytest.raises(FileExistsError):
        RecordingWriter(tmp_path / "a.rec")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110
def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RecordingWriter(tmp_path / "a.rec")
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(writer, "_file", full)
    with pytest.raises(ExternalError) as caught:
        writer.write(exchange([HEAD]))
    assert caught.value.code == "no-space"
    os.close(full)
