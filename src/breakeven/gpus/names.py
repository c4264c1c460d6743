"""Which GPU does a name mean? Exact, ambiguous with its candidates, or unmapped with the nearest known ids.

A name is looked up in the alias table first (what known sources call GPUs), then among instance types, then read by the
general rule. The same text can mean different things at different sources: then it is ambiguous, unless the source is
given.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from breakeven.errors import nearest
from breakeven.gpus import catalog, grammar, instances

_DATA = Path(__file__).parent / "data" / "names.json"
_CANONICAL = re.compile(
    r"(?P<id>[a-z0-9-]+?)(?P<inferred>\?)?(?:\((?P<variant>modded|vws)\))?(?:#mig-(?P<mig>[0-9a-z.]+))?"
    r"(?:\*(?P<fraction>[0-9.]+|fraction))?(?: x(?P<count>\d+))?(?P<doubt>\?)?(?: \(.*\))?"
)
_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """What a name means. `count` and `fraction` None: the name leaves them open."""

    text: str
    match: str
    gpu: str | None
    candidates: tuple[str, ...]
    count: int | None = 1
    fraction: float | None = 1.0
    mig: str | None = None


def folded(text: str) -> str:
    """A name as the alias table keys it: case and spacing do not matter."""
    return " ".join(text.casefold().split())


@cache
def _aliases() -> dict[str, dict[str, list[str]]]:
    names: dict[str, dict[str, list[str]]] = json.loads(_DATA.read_text(encoding="utf-8"))["names"]
    return names


def sources() -> frozenset[str]:
    """The sources whose own names are known."""
    return frozenset(source for meanings in _aliases().values() for own in meanings.values() for source in own)


def identify(text: str, source: str | None = None) -> Identity:
    """What a name means, at a source where one is given.

    >>> identify("NVIDIA A100-SXM4-80GB").gpu
    'nvidia-a100-sxm-80gb'
    >>> identify("A100").match
    'ambiguous'
    """
    return _identify(text, source)


@lru_cache(maxsize=1 << 16)
def _identify(text: str, source: str | None) -> Identity:
    name = folded(text)
    if name in catalog.catalog():
        return Identity(text, "exact", name, (name,))
    if not name or len(name) > _MAX_LENGTH:
        return Identity(text, "unmapped", None, (), None, None)
    profile = _MIG_PROFILE.fullmatch(name)
    if profile is not None and (cut := grammar.of_mig_profile(profile[1])):
        gpu = cut[0] if len(cut) == 1 else None
        return Identity(text, "ambiguous" if gpu is None else "exact", gpu, cut, mig=profile[1])
    is_googles = _is_googles(text, source)
    meanings = {
        canonical: told_by
        for canonical, told_by in _aliases().get(name, {}).items()
        if is_googles or not all(map(_is_google, told_by))
    }
    own = [canonical for canonical, told_by in meanings.items() if source in told_by]
    known = own or list(meanings)
    if known:
        return _with_machine(_merged(text, [_meaning(text, canonical) for canonical in known]), name)
    machine = instances.machine_of(name)
    if machine is not None:
        return _of_machine(text, machine)
    spelled = instances.spelled_in(name)
    if spelled is not None:
        found = _of_spelled(text, spelled)
        if found.match != "unmapped":
            return found
    seller = _google_gpu(name) if is_googles else None
    return _of_reading(text, grammar.read(text)) if seller is None else _meaning(text, seller)


_MIG_PROFILE = re.compile(r"(?:mig[ -]?)?(\dg\.\d{1,3}gb)(?:[+-](?:me|gfx|all))*")
_GOOGLES = re.compile(
    r"(?i:commitment v\d: nvidia .*|nvidia .* gpu (?:running|attached|committed)\b.*)"
    r"|nvidia-tesla-.*|Nvidia(?:Tesla|[A-Za-z0-9]*Mega)[A-Za-z0-9]*"
)
"""What nobody but Google Cloud writes: SKU descriptions, and types and enumerations with Tesla or Mega in its spelling."""
_GOOGLE_SKU = re.compile(
    r"(?:commitment v\d: )?(?:nvidia[ _-]?)?(?:tesla[ _-]?)?(.+?)(?:[ _-]vws)?(?: gpu(?: (?:running|attached|committed).*)?)?"
)
_GOOGLE_GPUS = {
    "a100": "nvidia-a100-sxm-40gb", "a10080gb": "nvidia-a100-sxm-80gb", "h10080gb": "nvidia-h100-sxm-80gb",
    "h100mega80gb": "nvidia-h100-sxm-80gb", "h10080gbplus": "nvidia-h100-sxm-80gb", "h10080gbmega": "nvidia-h100-sxm-80gb",
    "h200141gb": "nvidia-h200-sxm-141gb", "b200": "nvidia-b200-sxm-180gb", "gb200": "nvidia-gb200-superchip-186gb",
    "p100": "nvidia-p100-pcie-16gb", "v100": "nvidia-v100-sxm-16gb", "k80": "nvidia-k80-pcie-12gb",
    "t4": "nvidia-t4-pcie-16gb", "p4": "nvidia-p4-pcie-8gb", "l4": "nvidia-l4-pcie-24gb", "rtxpro6000": "nvidia-rtx-pro-6000-se-pcie-96gb",
}  # fmt: skip
"""What Google Cloud rents under its accelerator types, SKU descriptions and enumerations, which leave the form out."""


def _is_google(source: str | None) -> bool:
    return source is not None and source.startswith("gcp")


def _is_googles(text: str, source: str | None) -> bool:
    """Whether a name is to be read as Google Cloud means it."""
    return _is_google(source) or _GOOGLES.fullmatch(text.strip()) is not None


def _google_gpu(name: str) -> str | None:
    found = _GOOGLE_SKU.fullmatch(name)
    return None if found is None else _GOOGLE_GPUS.get(re.sub(r"[ _-]", "", found[1]))


def _unmapped(text: str) -> Identity:
    return Identity(text, "unmapped", None, _nearest(text), None, None)


def _nearest(text: str) -> tuple[str, ...]:
    """The known ids nearest to a name nobody knows."""
    words = grammar.cleaned(text).replace(" ", "-")[:60]
    return nearest(f"nvidia-{words}", catalog.catalog()) or nearest(words, catalog.catalog())


def _meaning(text: str, canonical: str) -> Identity:
    """One canonical name of the alias table, as an answer."""
    if canonical.startswith("reject:") or canonical == "unmapped":
        own = grammar.read(text) if canonical == "reject:not-rentable" and "gtx" in text.casefold() else None
        # Old consumer cards are rented somewhere: the catalog has a row for those whose memory is known.
        return _of_reading(text, own) if own is not None and own.is_sure else _unmapped(text)
    if canonical.startswith("conflict:"):
        return Identity(text, "ambiguous", None, grammar.read(text).candidates)
    if canonical.startswith("class:"):
        models = canonical.removeprefix("class:").split("|")
        return Identity(text, "ambiguous", None, tuple(gpu for model in models for gpu in _of_model(model)))
    found = _CANONICAL.fullmatch(canonical)
    if found is None:
        return _unmapped(text)
    count = int(found["count"]) if found["count"] else 1
    fraction = None if found["fraction"] == "fraction" else float(found["fraction"] or 1.0)
    product = found["id"]
    if product in catalog.catalog() and found["inferred"] is None and found["doubt"] is None:
        return Identity(text, "exact", product, (product,), count, fraction, found["mig"])
    candidates = (product,) if product in catalog.catalog() else _candidates(product)
    return Identity(text, "ambiguous", None, candidates, count, fraction, found["mig"])


def _of_model(model: str) -> tuple[str, ...]:
    return tuple(
        gpu_id for gpu_id in catalog.catalog() if re.fullmatch(rf"[a-z]+-{re.escape(model)}-[a-z]+-\d+gb", gpu_id)
    )


def _candidates(product: str) -> tuple[str, ...]:
    """The catalog's products for a canonical name with an unknown part; of its model when none fits."""
    parts = product.split("-")
    vendor, model, form, memory = parts[0], "-".join(parts[1:-2]), parts[-2], parts[-1]
    form = "[a-z]+" if form == "unknown" else re.escape(form)
    memory = r"\d+gb" if memory == "unknown" else re.escape(memory)
    pattern = re.compile(rf"{vendor}-{re.escape(model)}(?:-(?:se|ws|maxq))?-{form}-{memory}")
    fitting = tuple(gpu_id for gpu_id in catalog.catalog() if pattern.fullmatch(gpu_id))
    return fitting or _of_model(model)


def _merged(text: str, answers: list[Identity]) -> Identity:
    """One answer from several meanings: exact only when all agree."""
    if len(answers) == 1:
        return answers[0]
    mapped = [answer for answer in answers if answer.match != "unmapped"]
    exact = {answer.gpu for answer in mapped}
    if len(mapped) == len(answers) and len(exact) == 1 and None not in exact:
        return answers[0]
    candidates = tuple(dict.fromkeys(candidate for answer in mapped for candidate in answer.candidates))
    return Identity(text, "ambiguous", None, candidates, answers[0].count, answers[0].fraction)


def _with_machine(answer: Identity, name: str) -> Identity:
    """An alias that leaves the count of a known instance type open takes it from the instance type."""
    if answer.match != "exact" or answer.count != 1 or answer.fraction != 1.0 or answer.mig is not None:
        return answer
    machine = instances.machine_of(name)
    if machine is not None and machine.canonical == answer.gpu:
        return replace(answer, count=None if machine.count is None else max(1, int(machine.count)))
    spelled = instances.spelled_in(name)
    return answer if spelled is None or spelled.count is None else replace(answer, count=spelled.count)


def _of_machine(text: str, machine: instances.Machine) -> Identity:
    answer = _meaning(text, machine.canonical)
    if answer.match == "unmapped":
        return answer
    if machine.count is not None and machine.count < 1:
        return replace(answer, count=1, fraction=machine.count)
    if answer.fraction is None:
        return answer
    return replace(answer, count=None if machine.count is None else int(machine.count))


def _of_spelled(text: str, spelled: instances.Spelled) -> Identity:
    alias = _aliases().get(spelled.words, {})
    answer = (
        _merged(text, [_meaning(text, one) for one in alias])
        if alias
        else _of_reading(text, grammar.read(spelled.words))
    )
    if answer.match == "unmapped":
        return answer
    if spelled.vram_gb is not None:
        return _sliced(answer, spelled.vram_gb)
    return answer if spelled.count is None else replace(answer, count=spelled.count)


def _sliced(answer: Identity, vram_gb: float) -> Identity:
    """A machine that states its video memory: a slice of one card, or several whole ones."""
    sizes = {catalog.catalog()[candidate].memory_gb for candidate in answer.candidates}
    largest = max((size for size in sizes if size is not None), default=None)
    if largest is None:
        return replace(answer, match="ambiguous", gpu=None)
    if vram_gb < 0.95 * largest:
        return replace(answer, count=1, fraction=round(vram_gb / largest, 3))
    return replace(answer, count=round(vram_gb / largest))


def _of_reading(text: str, reading: grammar.Reading) -> Identity:
    if not reading.candidates:
        return _unmapped(text)
    count = 1 if reading.count is None else reading.count or None
    if reading.is_sure:
        return Identity(text, "exact", reading.candidates[0], reading.candidates, count, 1.0, reading.mig)
    return Identity(text, "ambiguous", None, reading.candidates, count, 1.0, reading.mig)
