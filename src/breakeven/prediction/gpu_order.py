"""Which of two GPUs is better in everything that speed rests on, so that nothing makes it slower."""

from __future__ import annotations

from functools import cache

from breakeven.gpus.catalog import catalog
from breakeven.prediction import hardware

_POWER_REFERENCE = {"hopper": "nvidia-h100-sxm-80gb", "ampere": "nvidia-a100-sxm-80gb", "ada": "nvidia-l40s-pcie-48gb"}
_GENERATIONS = {
    name: place
    for place, names in enumerate(
        (("volta",), ("turing", "turing-pcie"), ("ampere", "ampere-pcie"), ("ada",), ("hopper",),
         ("blackwell", "blackwell-pcie"))
    )
    for name in names
} | {"cdna1": 0, "cdna2": 1, "cdna3": 2, "cdna4": 3}  # fmt: skip
"""Generations by age: software makes the most of the later ones."""


@cache
def power_share(gpu_id: str) -> float:
    """Watts per FLOP/s against the family's part with the highest limit, at most 1; 1 where unknown.

    >>> round(power_share("nvidia-h100-pcie-80gb"), 2), power_share("nvidia-h200-sxm-141gb")
    (0.65, 1.0)
    """
    reference = _POWER_REFERENCE.get(hardware.family(gpu_id))
    if reference is None:
        return 1.0
    shares = [_watts_per_flop_per_s(one) for one in (gpu_id, reference)]
    return min(1.0, shares[0] / shares[1]) if shares[0] and shares[1] else 1.0


@cache
def weaker_gpus(gpu_id: str) -> tuple[str, ...]:
    """GPUs of the same vendor, not of a later generation, that are better in nothing; only the best of them.

    >>> "nvidia-a100-pcie-80gb" in weaker_gpus("nvidia-a100-sxm-80gb")
    True
    """
    gpu, mine = catalog().get(gpu_id), _strengths(gpu_id)
    age = _GENERATIONS.get(hardware.family(gpu_id))
    if gpu is None or mine is None or age is None:
        return ()
    found = {}
    for other, one in catalog().items():
        strengths = _strengths(other) if one.vendor == gpu.vendor and other != gpu_id else None
        if (
            strengths is not None
            and _GENERATIONS.get(hardware.family(other), 99) <= age
            and _is_weaker(strengths, mine)
        ):
            found[other] = strengths
    return tuple(name for name, one in found.items() if not any(_is_weaker(one, two) for two in found.values()))


def _is_weaker(one: tuple[float, ...], two: tuple[float, ...]) -> bool:
    return one != two and all(a <= b for a, b in zip(one, two, strict=True))


@cache
def _strengths(gpu_id: str) -> tuple[float, ...] | None:
    """What serving speed rests on, None where a figure that every prediction needs is unknown."""
    needed = (
        hardware.bandwidth_bytes_per_s(gpu_id), hardware.memory_bytes(gpu_id), hardware.peak_flop_per_s(gpu_id, "fp16")
    )  # fmt: skip
    if None in needed:
        return None
    links, power = hardware.links(gpu_id), power_share(gpu_id)
    narrow = (hardware.peak_flop_per_s(gpu_id, name) or 0.0 for name in ("fp8", "fp4"))
    known = tuple(value for value in needed if value is not None)
    return (
        *known[:2],
        known[2] * power,
        *(value * power for value in narrow),
        links.within_node_bytes_per_s,
        float(links.is_switched),
    )


def _watts_per_flop_per_s(gpu_id: str) -> float | None:
    power, peak = hardware.tdp_w(gpu_id), hardware.peak_flop_per_s(gpu_id, "fp16")
    return power / peak if power and peak else None
