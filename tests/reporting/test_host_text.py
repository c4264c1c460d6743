from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from breakeven.errors import Reason
from breakeven.reporting.host_text import host_document, host_text
from breakeven.reporting.json_documents import dumps
from breakeven.reporting.terminal import Style
from breakeven.reporting.words import Words
from tests.bench.hosts import H100, eight, measured, report, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from breakeven.bench.host_verdict import HostReport
    from breakeven.reporting.translations import Locale

REPORTS: dict[str, HostReport] = {
    "bench-host": report(measured()),
    "bench-host-eight": eight(),
    "bench-host-none": report(asked=None, reason=Reason("no-torch"), notes=(Reason("no-nvml-library"),), load_s=None),
    "bench-host-other": report(
        measured(seen=seen(gpu="nvidia-h100-pcie-80gb", name="NVIDIA H100 PCIe"), matmul_flop_per_s={}, load=None,
                 sustained_flop_per_s=None, memory_bytes_per_s=None, to_gpu_bytes_per_s=None),
        reason=Reason("no-torch"), load_s=None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("locale", ["en", "fr"])
@pytest.mark.parametrize("name", REPORTS)
def test_golden_output(name: str, locale: Locale, golden: Callable[[str, str], None]) -> None:
    text = host_text(REPORTS[name], Words(locale), Style())
    assert all(len(line) <= 80 for line in text.splitlines())
    golden(f"{name}.txt" if locale == "en" else f"{name}-fr.txt", text)


def test_golden_document(golden: Callable[[str, str], None]) -> None:
    golden("bench-host-json.txt", dumps(host_document(report(measured()), Words())))


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_json(name: str) -> None:
    document = json.loads(dumps(host_document(REPORTS[name], Words("fr"))))
    assert document["verdict"] == REPORTS[name].verdict
    assert document["accepted"] is REPORTS[name].is_accepted
    assert [one["index"] for one in document["gpus"]] == [one.measured.index for one in REPORTS[name].gpus]


def test_what_others_wrote_is_harmless() -> None:
    evil = measured(name="\x1b[31mGPU", seen=seen(gpu=None, name="\x1b[31mGPU"), failed={"gpu": "\x1b[2J"})
    text = host_text(report(evil, asked=None), Words(), Style())
    assert "\x1b" not in text


def test_without_unicode_there_is_none() -> None:
    assert host_text(eight(), Words(), Style(has_unicode=False)).isascii()
    assert H100 not in host_text(eight(), Words(), Style())
