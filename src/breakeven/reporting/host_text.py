"""The acceptance test of a machine, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.bench.host_verdict import ACHIEVED_SOURCE
from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.json_documents import plain
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakeven.bench.host_verdict import Check, GpuVerdict, HostReport
    from breakeven.errors import Reason
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words

_PRECISIONS = ("bf16", "fp16", "tf32", "fp8")
_TERA, _GIGA, _MEGA = 1e12, 1e9, 1e6


def host_text(report: HostReport, words: Words, style: Style) -> str:
    """The verdict and why, what was measured of each GPU, and the machine around them."""
    lines = [style.strong(words("Host check: {verdict:code}", verdict=report.verdict))]
    lines.extend(_why(report, words))
    if any(one.measured.matmul_flop_per_s or one.measured.memory_bytes_per_s for one in report.gpus):
        lines.extend(["", *("  " + line for line in _rates(report, words, style))])
        lines.extend(_expectation(report, words))
    lines.extend(_load(report, words, style))
    lines.extend(_bus(report, words))
    lines.extend(["", *_machine(report, words)])
    if report.notes:
        lines.extend(["", f"  {words('Mind:')}"])
        lines.extend(line for one in report.notes for line in wrapped(words.reason(one), "  - ", "    "))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _why(report: HostReport, words: Words) -> list[str]:
    lines: list[str] = []
    if report.asked is not None:
        lines.extend(wrapped(words("Rented as {gpu:gpu}.", gpu=report.asked)))
    if report.reason is not None:
        lines.extend(wrapped(words.reason(report.reason)))
    told: dict[tuple[str, ...], list[int]] = {}
    for one in report.gpus:
        name = words.gpu(one.gpu) if one.gpu is not None else formats.printable(one.measured.name)
        reasons = [reason for reason in one.reasons if report.reason is None or reason.code != "not-measured"]
        key = (name, one.verdict, *(words.reason(reason) for reason in reasons))
        told.setdefault(key, []).append(one.measured.index)
    for (name, verdict, *texts), indices in told.items():
        text = words("GPU {index}, {name}: {verdict:code}.", index=_indices(indices), name=name, verdict=verdict)
        lines.extend(wrapped(text))
        lines.extend(line for text in texts for line in wrapped(text, "    ", "    "))
    return ["", *lines] if lines else []


def _indices(indices: Sequence[int]) -> str:
    return ", ".join(str(index) for index in indices)


def _short(value: float | None, unit: float, words: Words) -> str:
    return "" if value is None else formats.significant(value / unit, 3, words.locale)


def _rates(report: HostReport, words: Words, style: Style) -> list[str]:
    """Measured rates, and below them the least that is expected of each product."""
    shown = [name for name in _PRECISIONS if any(name in one.measured.matmul_flop_per_s for one in report.gpus)]
    rows = [_rate_row(one, shown, words) for one in report.gpus]
    expected = {one.gpu: one.checks for one in report.gpus if one.gpu is not None and one.checks}
    rows.extend(_expected_row(gpu, checks, shown, words) for gpu, checks in expected.items())
    head = [words("TFLOP/s, GB/s"), *(name.upper() for name in shown), words("memory")]
    return table_of(rows, head, style)


def _rate_row(one: GpuVerdict, shown: Sequence[str], words: Words) -> list[str]:
    rates = one.measured.matmul_flop_per_s
    return [
        words("GPU {index}", index=one.measured.index),
        *(_short(rates.get(name), _TERA, words) for name in shown),
        _short(one.measured.memory_bytes_per_s, _GIGA, words),
    ]


def _expected_row(gpu: str, checks: Sequence[Check], shown: Sequence[str], words: Words) -> list[str]:
    low = {check.what: check.low for check in checks}
    return [
        words("{gpu:gpu}, at least", gpu=gpu),
        *(_short(low.get(f"matmul-{name}"), _TERA, words) for name in shown),
        _short(low.get("memory-copy"), _GIGA, words),
    ]


def _expectation(report: HostReport, words: Words) -> list[str]:
    checks = [check for one in report.gpus for check in one.checks]
    if not checks:
        return []
    text = words(
        "Expected: four fifths of the share of the catalog's dense peak and bandwidth that is published for such cards."
    )
    if any(check.expected_source for check in checks):
        text += " " + words("Shares of the peak: {source}.", source=ACHIEVED_SOURCE)
    return wrapped(text)


def _load(report: HostReport, words: Words, style: Style) -> list[str]:
    """What the GPUs sustained together, and what their meters said."""
    held = [one for one in report.gpus if one.measured.sustained_flop_per_s is not None]
    if not held or report.load_s is None:
        return []
    rows = [_load_row(one, words) for one in held]
    head = [words("under load"), "TFLOP/s", "MHz", "°C" if style.has_unicode else "C", "W"]
    text = words("All GPUs at once for {seconds:number} s:", seconds=round(report.load_s, 1))
    lines = ["", f"  {text}", *("  " + line for line in table_of(rows, head, style))]
    slowed: dict[str, list[int]] = {}
    for one in held:
        slowed.setdefault(_slowed_by(one, words), []).append(one.measured.index)
    for by, indices in slowed.items():
        if by:
            lines.extend(wrapped(words("Clocks of GPU {index} were lowered by: {by}.", index=_indices(indices), by=by)))
    return lines


def _load_row(one: GpuVerdict, words: Words) -> list[str]:
    load = one.measured.load
    levels = {} if load is None else load.levels

    def middle(name: str) -> str:
        return "" if name not in levels else formats.number(levels[name].p50, 0, words.locale)

    return [
        words("GPU {index}", index=one.measured.index),
        _short(one.measured.sustained_flop_per_s, _TERA, words),
        middle("sm_clock_mhz"),
        middle("temperature_c"),
        middle("power_w"),
    ]


def _slowed_by(one: GpuVerdict, words: Words) -> str:
    throttled = {} if one.measured.load is None else one.measured.load.throttled
    return ", ".join(
        words("{reason:code} {share:pct}", reason=reason, share=100 * share)
        for reason, share in sorted(throttled.items(), key=lambda item: -item[1])
    )


def _bus(report: HostReport, words: Words) -> list[str]:
    lines = []
    told: dict[str, list[int]] = {}
    for one in report.gpus:
        to, back = one.measured.to_gpu_bytes_per_s, one.measured.to_host_bytes_per_s
        if to is not None and back is not None:
            text = words("{to} and {back} GB/s", to=_short(to, _GIGA, words), back=_short(back, _GIGA, words))
            told.setdefault(text + _link(one, words), []).append(one.measured.index)
    for text, indices in told.items():
        lines.extend(wrapped(words("GPU {index}, to and from the host: {text}", index=_indices(indices), text=text)))
    rates = [rate for *_, rate in report.between.pairs]
    if rates:
        low, high = _short(min(rates), _GIGA, words), _short(max(rates), _GIGA, words)
        text = words(
            "Between GPUs: {rates} GB/s (direct: {direct} of {pairs} pairs).", pairs=len(rates),
            rates=low if low == high else words("{low} to {high}", low=low, high=high),
            direct=sum(1 for one in report.between.pairs if one[2]),
        )  # fmt: skip
        lines.extend(wrapped(text))
    if report.between.all_reduce_bytes_per_s is not None:
        rate = _short(report.between.all_reduce_bytes_per_s, _GIGA, words)
        lines.extend(wrapped(words("Sum over all GPUs (NCCL): {rate} GB/s on the bus.", rate=rate)))
    for what, problem in report.between.failed.items():
        lines.extend(wrapped(words("{what}: {problem:quoted}", what=formats.printable(what), problem=problem)))
    return ["", *lines] if lines else []


def _link(one: GpuVerdict, words: Words) -> str:
    seen = one.measured.seen
    if seen is None or seen.pcie_generation is None or seen.pcie_width is None:
        return "."
    return words(
        " (PCIe {generation}, {width} of {most} lanes).", generation=seen.pcie_generation, width=seen.pcie_width,
        most=seen.max_pcie_width or seen.pcie_width,
    )  # fmt: skip


def _machine(report: HostReport, words: Words) -> list[str]:
    processor, disk = report.processor, report.disk
    cores = words("unknown") if processor.cores_allowed is None else f"{processor.cores_allowed:g}"
    texts = [
        words(
            "Processor: {model}, {cores} of {all} cores may be used.", cores=cores,
            model=formats.printable(processor.model or words("unknown")), all=processor.cores or words("unknown"),
        ),
        words(
            "One core: copies memory at {copy} GB/s (a lower bound of the memory's bandwidth), SHA-256 at {sha} GB/s, "
            "{loops} million Python loops/s (Python {python}).",
            copy=_short(processor.copy_bytes_per_s, _GIGA, words),
            sha=_short(processor.sha256_bytes_per_s, _GIGA, words),
            loops=_short(processor.python_loops_per_s, _MEGA, words), python=processor.python,
        ),
        words(
            "Disk at {folder} ({filesystem}): writes {write} MB/s until it is on the disk, reads {read} MB/s "
            "({way:code}), {random:number} random reads/s; {free} GB free.",
            folder=formats.printable(disk.folder), filesystem=formats.printable(disk.filesystem or words("unknown")),
            write=_short(disk.write_bytes_per_s, _MEGA, words),
            read=_short(disk.read_bytes_per_s, _MEGA, words) or words("unknown"), way=disk.way,
            random=round(disk.random_reads_per_s or 0), free=_short(disk.free_bytes, _GIGA, words),
        ),
    ]  # fmt: skip
    if report.download is not None:
        told = report.download
        text = words(
            "Download: {rate} MB/s from {url} ({size} MB in {seconds:number} s).", url=formats.printable(told.url),
            rate=_short(told.bytes_per_s, _MEGA, words), size=_short(told.size_bytes, _MEGA, words),
            seconds=round(told.seconds, 2),
        )  # fmt: skip
        texts.append(text)
    return [line for text in texts for line in wrapped(text)]


def host_document(report: HostReport, words: Words) -> dict[str, Any]:
    """`bench host --json`."""
    processor, disk, download = report.processor, report.disk, report.download
    return {
        "asked": report.asked,
        "verdict": report.verdict,
        "accepted": report.is_accepted,
        "reason": _reason(report.reason, words),
        "driver": report.driver,
        "cuda": report.cuda,
        "torch": report.torch,
        "gpus": [_gpu_document(one, words) for one in report.gpus],
        "pairs": [
            {"gpus": [first, second], "direct": is_direct, "bytes_per_s": rate}
            for first, second, is_direct, rate in report.between.pairs
        ],
        "all_reduce_bus_bytes_per_s": report.between.all_reduce_bytes_per_s,
        "failed": dict(report.between.failed),
        "load_s": report.load_s,
        "processor": {name: getattr(processor, name) for name in processor.__slots__},
        "disk": {name: getattr(disk, name) for name in disk.__slots__},
        "download": None if download is None else {name: getattr(download, name) for name in download.__slots__},
        "notes": [_reason(one, words) for one in report.notes],
    }


def _reason(reason: Reason | None, words: Words) -> dict[str, Any] | None:
    if reason is None:
        return None
    return {"code": reason.code, **plain(reason.values), "text": words.reason(reason)}


def _gpu_document(one: GpuVerdict, words: Words) -> dict[str, Any]:
    measured, seen = one.measured, one.measured.seen
    load = measured.load
    return {
        "index": measured.index,
        "name": measured.name,
        "gpu": one.gpu,
        "candidates": [] if seen is None else list(seen.candidates),
        "verdict": one.verdict,
        "reasons": [_reason(reason, words) for reason in one.reasons],
        "checks": [{name: getattr(check, name) for name in check.__slots__} for check in one.checks],
        "matmul_flop_per_s": dict(measured.matmul_flop_per_s),
        "sustained_flop_per_s": measured.sustained_flop_per_s,
        "sustained_precision": measured.sustained_precision,
        "memory_bytes_per_s": measured.memory_bytes_per_s,
        "to_gpu_bytes_per_s": measured.to_gpu_bytes_per_s,
        "to_host_bytes_per_s": measured.to_host_bytes_per_s,
        "load": {} if load is None else {name: levels._asdict() for name, levels in load.levels.items()},
        "throttled": {} if load is None else dict(load.throttled),
        "energy_j": None if load is None else load.energy_j,
        "failed": dict(measured.failed),
        "seen": None if seen is None else {
            name: getattr(seen, name)
            for name in (
                "uuid", "memory_bytes", "power_limit_w", "default_power_limit_w", "max_sm_clock_mhz",
                "max_memory_clock_mhz", "pcie_generation", "pcie_width", "max_pcie_width", "links", "mig",
            )
        },
    }  # fmt: skip
