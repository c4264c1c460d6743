"""The general rule for GPU names: whole tokens of model, form and memory, matched against the catalog.

A name is exact only when every token that is not noise is accounted for by one product. Nothing is matched by
substring, and a memory size or form that the product does not come in is a contradiction, not a detail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from breakeven.gpus import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMS = ("sxm", "pcie", "nvl", "oam", "superchip", "soc", "apu")

_NOISE = frozenset(
    {
        "nvidia", "geforce", "tesla", "gpu", "gpus", "graphics", "card", "accelerator", "accelerators", "amd", "radeon",
        "instinct", "intel", "habana", "google", "cloud", "tensor", "core", "cores", "generation", "gen", "edition",
        "blackwell", "hopper", "ampere", "lovelace", "volta", "turing", "pascal", "nvlink", "nvswitch", "with", "mode",
        "compute", "on", "demand", "spot", "preemptible", "the", "a", "for", "of", "in", "vram", "ac", "ib", "eth",
        "high", "freq", "frequency", "plus", "none", "pc", "lc", "vws", "hl", "205", "225", "325", "tenstorrent",
    }
)  # fmt: skip
_REJECTED = frozenset(
    {
        "laptop", "mobile", "notebook", "jetson", "orin", "xavier", "drive", "tegra", "embedded", "cmp", "fpga", "cpu",
        "genoa", "milan", "rome", "sapphire", "emerald", "display", "soc-only",
    }
)  # fmt: skip
_MODEL_WORDS = frozenset(
    {
        "ti", "super", "d", "v2", "v3", "oem", "max", "q", "maxq", "sff", "ada", "se", "ws", "pro", "quadro", "titan",
        "xp", "x", "s", "m", "h", "lhr", "ultra", "lite", "mini", "le", "e", "design",
    }
)  # fmt: skip
_MEMORY = re.compile(
    r"(?<![a-z0-9.])(\d{1,6}(?:\.\d+)?) ?(gb|gib|mib|go)(?![a-z])|(?<![a-z0-9.])(\d{2,3})g(?![a-z0-9])"
)
_MEMORY_TYPES = re.compile(r"(?:hbm[234]e?|gddr[567]x?)")
_COUNT = re.compile(r"(?<![a-z0-9])(\d{1,3})x(?![a-z0-9])|(?<![a-z0-9])x(\d{1,3})(?![a-z0-9])")
_GLUED_COUNT = re.compile(r"(?<=[a-z0-9])(?<!mi\d\d\d)(?<!mi\d\d)x(\d{1,2})(?![a-z0-9])")
_MIG = re.compile(r"(?:mig[ .-]*)?(?<![a-z0-9])(\d)g\.(\d{1,3})gb(?:\+me)?")
_DEFAULT_MEMORY_GB = {
    ("h100", "sxm"): 80, ("h100", "pcie"): 80, ("gh200", "superchip"): 96, ("b200", "sxm"): 180, ("rtx-pro-5000", "pcie"): 48,
    ("p100", "sxm"): 16, ("a800", "pcie"): 80,
}  # fmt: skip
"""What a name without a memory size means, where one size is sold and the others are rarities."""

_GRACE_GB = {"gh200": frozenset({120.0, 480.0})}
"""Memory of the processor on the same module, which names state in place of the GPU's."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a name says: candidate ids (one: exact, when `is_sure`), GPUs in it, MIG profile."""

    candidates: tuple[str, ...]
    is_sure: bool
    count: int | None
    mig: str | None


class _Product(NamedTuple):
    id: str
    model: str
    form: str | None
    memory_gb: float | None
    memory_type: str | None
    is_bare: bool


@cache
def _lexicon() -> dict[frozenset[str], tuple[_Product, ...]]:
    """Products by the tokens of their model."""
    products: dict[frozenset[str], list[_Product]] = {}
    for gpu in catalog.catalog().values():
        model = _model_of(gpu)
        tokens = frozenset(model.split("-"))
        products.setdefault(tokens, []).append(
            _Product(gpu.id, model, gpu.form_factor, gpu.memory_gb, gpu.memory_type, set(gpu.values) <= {"memory_gb"})
        )
    return {tokens: tuple(found) for tokens, found in products.items()}


def _model_of(gpu: catalog.Gpu) -> str:
    """The model part of an id: between vendor and form."""
    parts = gpu.id.split("-")[1:]
    if parts and re.fullmatch(r"\d+gb", parts[-1]):
        parts = parts[:-1]
        if parts[-1] in FORMS:
            parts = parts[:-1]
    return "-".join(parts)


def cleaned(text: str) -> str:
    """Lower case, one space between tokens, glued words apart.

    >>> cleaned("NVIDIA_RTXA6000-48GB")
    'nvidia rtx a6000 48gb'
    """
    text = text.casefold().replace("pcle", "pcie").replace("®", " ").replace("™", " ")
    text = re.sub(r"[_\-/|()\[\],:;!+*'\"]+", " ", text)
    text = _GLUED_COUNT.sub(r" x\1", text)
    text = re.sub(r"\b(rtx|gtx|quadro|tesla|titan|nvidia|geforce)(?=[a-z]?\d|pro|rtx)", r"\1 ", text)
    text = re.sub(r"\bpro(?=\d)", "pro ", text)
    text = re.sub(r"(?<=\d)(ada|super|ti|nvl|sxm\d?|pcie|oam|maxq|bse|se|ws)(?![a-z])", r" \1", text)
    text = re.sub(r"\bti(super)\b", r"ti \1", text)
    text = re.sub(r"\bsupers?ti\b", "ti super", text)
    return " ".join(text.split())


def read(text: str) -> Reading:
    """The reading of a name by the general rule; no candidate when no model is named.

    >>> read("8x NVIDIA H100 SXM5 80GB")
    Reading(candidates=('nvidia-h100-sxm-80gb',), is_sure=True, count=8, mig=None)
    """
    words = cleaned(text)
    nothing = Reading((), is_sure=False, count=None, mig=None)
    mig_found = _MIG.search(words)
    mig = None if mig_found is None else f"{mig_found[1]}g.{mig_found[2]}gb"
    words = _MIG.sub(" ", words)
    memory_gb, words = _take_memory(words)
    count, words = _take_count(words)
    words = re.sub(r"\b(?:running|attached|committed)\b.*", " ", words)
    tokens = _tokens(words)
    if tokens & _REJECTED or _is_mobile(words) or any(re.fullmatch(r"mx\d{3}", token) for token in tokens):
        return nothing
    form, tokens = _take_form(tokens)
    memory_type = next((token for token in tokens if _MEMORY_TYPES.fullmatch(token)), None)
    tokens = {token for token in tokens if not _MEMORY_TYPES.fullmatch(token)} - _NOISE
    products, left = _products(tokens)
    if not products:
        return nothing
    if memory_gb in _GRACE_GB.get(products[0].model, ()):
        memory_gb = None
    if memory_type is not None:
        typed = tuple(one for one in products if one.memory_type is None or one.memory_type.lower() == memory_type)
        products = typed or products
    candidates, is_sure = _narrowed(products, form, memory_gb, count)
    return Reading(candidates, is_sure and not left, count, mig)


def _tokens(words: str) -> set[str]:
    tokens = set(words.replace(".", " ").split())
    short = next((token for token in tokens if re.fullmatch(r"[2345]0\d0[sd]", token)), None)
    if short is not None:
        tokens = (tokens - {short}) | {short[:-1], "super" if short.endswith("s") else "d"}
    spelled = {"workstation": "ws", "wk": "ws", "server": "se", "bse": "se", "q": "quadro" if "rtx" in tokens else "q"}
    tokens = {spelled.get(token, token) for token in tokens}
    if {"max", "quadro"} <= tokens and "pro" in tokens:  # Max-Q, whose q was taken for Quadro
        tokens = (tokens - {"max", "quadro", "ws"}) | {"maxq"}
    if "maxq" in tokens:
        tokens -= {"ws"}
    if "pro" in tokens and "6000s" in tokens:
        tokens = (tokens - {"6000s"}) | {"6000", "se"}
    if "v520" in tokens or "v620" in tokens or "v710" in tokens:
        tokens -= {"pro"}
    if "gaudi" in tokens:
        number = next((token for token in tokens if token in {"1", "2", "3"}), "1")
        tokens = (tokens - {"gaudi", number}) | {f"gaudi{number}"}
    return tokens


def _is_mobile(words: str) -> bool:
    return re.search(r"\bmax ?q design\b|\bwith max ?q\b", words) is not None


def _take_memory(words: str) -> tuple[float | None, str]:
    sizes = []
    for found in _MEMORY.finditer(words):
        number = float(found[1] or found[3])
        sizes.append(number / 1024 if found[2] == "mib" else number)
    return (sizes[0] if len(set(sizes)) == 1 else None), _MEMORY.sub(" ", words)


def _take_count(words: str) -> tuple[int | None, str]:
    found = _COUNT.search(words)
    if found is not None:
        return int(found[1] or found[2]), _COUNT.sub(" ", words, count=1)
    return None, words


def _take_form(tokens: set[str]) -> tuple[str | None, set[str]]:
    forms = set()
    rest = set()
    for token in tokens:
        if re.fullmatch(r"sxm\d?|hgx", token):
            forms.add("sxm")
        elif token in {"pcie", "oam"}:
            forms.add(token)
        elif token == "mega":  # one cloud's machines with eight SXM cards
            forms.add("sxm")
        elif re.fullmatch(r"nvl(?:16|36|72)?", token):
            forms.add("nvl")
        else:
            rest.add(token)
    return (forms.pop() if len(forms) == 1 else "several" if forms else None), rest


_SYNONYMS = {
    frozenset({name}): frozenset({"rtx", name})
    for name in ("a400", "a2000", "a4000", "a4500", "a5000", "a5500", "a6000")
} | {
    frozenset({"pro", "6000"}): frozenset({"rtx", "pro", "6000"}),
    frozenset({"rtx", "8000"}): frozenset({"quadro", "rtx", "8000"}),
    frozenset({"quadro", "8000"}): frozenset({"quadro", "rtx", "8000"}),
    frozenset({"p4000"}): frozenset({"quadro", "p4000"}),
}
_FAMILIES = {
    frozenset({"rtx", "pro", "6000"}): ("rtx-pro-6000-se", "rtx-pro-6000-ws", "rtx-pro-6000-maxq"),
    frozenset({"rtx", "6000"}): ("quadro-rtx-6000", "rtx-6000-ada"),
    frozenset({"rtx", "5000"}): ("quadro-rtx-5000", "rtx-5000-ada"),
    frozenset({"rtx", "4000"}): ("quadro-rtx-4000", "rtx-4000-ada"),
}
"""Names that several models share."""


def _named(tokens: frozenset[str]) -> tuple[_Product, ...]:
    lexicon = _lexicon()
    family = _FAMILIES.get(tokens)
    if family is not None:
        return tuple(product for model in family for product in lexicon[frozenset(model.split("-"))])
    return lexicon.get(tokens) or lexicon.get(_SYNONYMS.get(tokens, frozenset()), ())


def _products(tokens: set[str]) -> tuple[tuple[_Product, ...], set[str]]:
    """The products that the tokens name, and the tokens left over (none when all are accounted for)."""
    products = _named(frozenset(tokens))
    if products:
        return products, set()
    best: tuple[tuple[_Product, ...], set[str]] = ((), set())
    size = 0
    for names in (*_lexicon(), *_SYNONYMS, *_FAMILIES):
        if names <= tokens and len(names) > size:
            best, size = (_named(names), set(tokens - names)), len(names)
    # A leftover that makes another model of it (4090 super, 3050 oem) names something we do not know.
    return ((), set()) if best[1] & _MODEL_WORDS else best


def _narrowed(
    products: Iterable[_Product], form: str | None, memory_gb: float | None, count: int | None
) -> tuple[tuple[str, ...], bool]:
    """The products of that form and memory; sure when exactly one is left and nothing contradicts it."""
    everything = tuple(products)
    by_form = [
        product for product in everything if form is None or product.form == form or _is_superchip(product, form)
    ]
    contradicts = not by_form
    pool = by_form or list(everything)
    if memory_gb is not None:
        sizes = {memory_gb} if not count or count == 1 else {memory_gb, memory_gb / count}
        fitting = [product for product in pool if _is_near(product.memory_gb, sizes, slack=0.0)]
        fitting = fitting or [product for product in pool if _is_near(product.memory_gb, sizes, slack=0.1)]
        contradicts |= not fitting
        pool = fitting or pool
    else:
        pool = _usual(pool)
    if len(pool) == 1 and pool[0].is_bare:
        # Known by name alone, beside a product that is specified: the size may be marketing (B200: 192 GB sold, 180 usable).
        specified = [one for one in by_form if not one.is_bare and one.form == pool[0].form]
        pool = [*pool, *specified]
    return tuple(product.id for product in pool), len(pool) == 1 and not contradicts


def _is_superchip(product: _Product, form: str) -> bool:
    """Grace superchips are sold as SXM or NVL racks."""
    return product.form == "superchip" and form in {"sxm", "nvl"}


def _is_near(memory_gb: float | None, sizes: set[float], slack: float) -> bool:
    """Whether a stated size is the product's: large cards are also sold by a usable memory of up to a tenth less."""
    if memory_gb is None:
        return False
    slack = slack if memory_gb > 100 else 0.0
    return any((1 - slack) * memory_gb - 0.6 < size < (1 + slack / 3) * memory_gb + 0.6 for size in sizes)


def _usual(pool: list[_Product]) -> list[_Product]:
    """Without a memory size, rare variants stand back where one size is what is sold."""
    return [
        product for product in pool
        if _DEFAULT_MEMORY_GB.get((product.model, product.form or ""), product.memory_gb) == product.memory_gb
    ]  # fmt: skip
