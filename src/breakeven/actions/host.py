"""The acceptance test of a machine that was just rented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.bench.host_cpu import check_download, measure_disk, measure_download, measure_processor
from breakeven.bench.host_load import measure_gpus
from breakeven.bench.host_verdict import HostReport, judge_all, overall
from breakeven.errors import Reason
from breakeven.gpus.catalog import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from breakeven.bench.host_cpu import Download

LOAD_S = 20.0


def check_host(
    gpu: str | None = None,
    *,
    seconds: float = LOAD_S,
    download: str | None = None,
    folder: str | Path = ".",
    python: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> HostReport:
    """Whether this machine is what it was rented as: every GPU against the catalog, and what is around it.

    gpu : the exact SKU that was rented; None takes each GPU for what its name says. seconds : how long the GPUs are
    held under load [s]. download : an http(s) address whose speed is measured. folder : whose disk is measured.
    python : the interpreter of the environment with torch.

    Raises: InputError for a GPU that is not in the catalog, a folder that is not one, an address that is not http(s).
    """
    asked = None if gpu is None else find(gpu).id
    if download is not None:
        check_download(download)
    tell = progress or (lambda _what: None)
    tell("disk")
    disk = measure_disk(folder)
    tell("processor")
    processor = measure_processor()
    tell("gpu")
    part = measure_gpus(seconds=seconds, python=python, progress=progress)
    fetched: Download | Reason | None = None
    if download is not None:
        tell("download")
        fetched = measure_download(download)
    verdicts = judge_all(part.gpus, asked)
    notes = [*part.notes, *([fetched] if isinstance(fetched, Reason) else [])]
    return HostReport(
        asked=asked, verdict=overall(verdicts), gpus=verdicts, reason=part.reason, between=part.between,
        processor=processor, disk=disk, download=None if isinstance(fetched, Reason) else fetched, notes=tuple(notes),
        driver=part.seen.driver, cuda=part.seen.cuda, torch=part.torch, load_s=part.load_s,
    )  # fmt: skip
