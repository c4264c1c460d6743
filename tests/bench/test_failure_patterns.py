from __future__ import annotations

import pytest

from breakeven.bench.failure_patterns import EXCEPTION, LAUNCHERS, PATTERNS, XID, XID_MEANINGS, XIDS_SURVIVED
from breakeven.reporting.messages import CODES


def test_every_kind_and_meaning_has_words() -> None:
    kinds = {pattern.kind for pattern in PATTERNS} | {"loss-diverged", "host-lost", "program-error", "unknown"}
    assert kinds <= set(CODES)
    assert set(XID_MEANINGS.values()) <= set(CODES)
    assert set(XID_MEANINGS) >= XIDS_SURVIVED


def test_hints_are_lower_case_as_they_are_looked_for() -> None:
    for pattern in PATTERNS:
        assert pattern.hint
        assert pattern.hint == pattern.hint.lower()


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("[ 1843.3] NVRM: Xid (PCI:0000:44:00): 79, pid=1234, GPU has fallen off the bus.", 79),
        ("NVRM: Xid (PCI:0000:c1:00): 48, pid=0, name=<unknown>, DBE", 48),
        ("XID 79(GPU has fallen off the bus) detected on PCI:0000:ae:00", 79),
    ],
)
def test_the_number_of_an_xid_is_read(line: str, number: int) -> None:
    found = XID.search(line)
    assert found is not None
    assert int(found[1] or found[2]) == number


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ValueError: too many values", "ValueError"),
        ("zmq.error.Again: busy", "zmq.error.Again"),
        ("KeyError", "KeyError"),
        ("struct.error: unpack", "struct.error"),
    ],
)
def test_the_last_line_of_a_traceback_names_its_exception(line: str, name: str) -> None:
    found = EXCEPTION.match(line)
    assert found is not None
    assert found[1] == name


@pytest.mark.parametrize("line", ["step: 3", "Saving model checkpoint", "  File", "loss: 1", "Error in rule"])
def test_other_lines_name_none(line: str) -> None:
    assert EXCEPTION.match(line) is None


def test_what_a_launcher_raises_is_no_cause() -> None:
    assert LAUNCHERS.match("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    assert LAUNCHERS.match("subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 1.")
    assert not LAUNCHERS.match("RuntimeError: no")
