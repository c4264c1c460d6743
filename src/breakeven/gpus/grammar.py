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
        "high", "freq", "frequency", "plus", "none", "pc", "lc", "vws", "tenstorrent",
        "data", "center",
    }
)  # fmt: skip
_VENDORS = {
    **dict.fromkeys(("nvidia", "geforce", "tesla", "quadro"), "nvidia"),
    **dict.fromkeys(("amd", "radeon", "instinct"), "amd"),
    **dict.fromkeys(("intel", "habana"), "intel"),
    "tenstorrent": "tenstorrent",
}
"""Whose product a word says it is. Google and AWS sell machines with the GPUs of others, so they say nothing."""
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
_COUNT = re.compile(
    r"(?<![a-z0-9.])(?:(?P<share>\d*\.\d+) ?x|(?P<before>\d{1,3}) ?x|x ?(?P<after>\d{1,3})"
    r"|(?P<gpus>\d|[12]\d|3[0-2]) gpus?(?: slices?)?)(?![0-9a-z.])"
)
_GLUED_COUNT = re.compile(r"(?<=[a-z0-9])(?<!mi\d\d\d)(?<!mi\d\d)x(\d{1,2})(?![a-z0-9])")
_LEADING_COUNT = re.compile(r"(?<![a-z0-9.])(\d{1,3}) ?[x\u00d7] ?(?=[a-z]|\d{4}(?!\d))")
_COLON_COUNT = re.compile(r":([1-8]) *$")
_LANES = re.compile(r"\bpcie(?: ?gen ?[3-6]| [3-6]\.0)?(?: ?x16)?(?![a-z0-9])")
_ALTERNATIVES = re.compile(r"[/|&,;]|\+(?!me\b|gfx\b)|\bor\b", re.IGNORECASE)
_MIG = re.compile(r"(?:mig[ .-]*)?(?<![a-z0-9])(\d)g\.(\d{1,3})gb(?:[ +-](?:me|gfx|all)\b)*")
_MIG_PROFILES = (
    ("a30-pcie-24gb", "1g.6 2g.12 4g.24"),
    (r"a[18]00-\w+-40gb", "1g.5 1g.10 2g.10 3g.20 4g.20 7g.40"),
    (r"[ah][18]00-\w+-80gb", "1g.10 1g.20 2g.20 3g.40 4g.40 7g.80"),
    (r"h100-\w+-94gb", "1g.12 1g.24 2g.24 3g.47 4g.47 7g.94"),
    (r"(?:h100|h20|gh200)-\w+-96gb", "1g.12 1g.24 2g.24 3g.48 4g.48 7g.96"),
    (r"gh200-\w+-144gb", "1g.18 1g.36 2g.36 3g.72 4g.72 7g.144"),
    (r"h200-\w+-141gb", "1g.18 1g.35 2g.35 3g.71 4g.71 7g.141"),
    (r"b200-\w+-180gb", "1g.23 1g.45 2g.45 3g.90 4g.90 7g.180"),
    (r"gb200-\w+-186gb", "1g.23 1g.47 2g.47 3g.95 4g.95 7g.189"),
    (r"b300-\w+-288gb", "1g.34 1g.67 2g.67 3g.135 4g.135 7g.269"),
    (r"gb300-\w+-288gb", "1g.35 1g.70 2g.70 3g.139 4g.139 7g.278"),
    (r"rtx-pro-6000-\w+-pcie-96gb", "1g.24 2g.48 4g.96"),
    (r"rtx-pro-5000-pcie-48gb", "1g.24 2g.48"),
    (r"rtx-pro-4500-pcie-32gb", "1g.16 2g.32"),
)
"""The MIG profiles that each product can be cut into. Source: NVIDIA MIG User Guide, supported profiles."""

_DEFAULT_MEMORY_GB = {
    ("h100", "sxm"): 80, ("h100", "pcie"): 80, ("gh200", "superchip"): 96, ("b200", "sxm"): 180, ("rtx-pro-5000", "pcie"): 48,
    ("p100", "sxm"): 16, ("a800", "pcie"): 80,
}  # fmt: skip
"""What a name without a memory size means, where one size is sold and the others are rarities."""

_GRACE_GB = {"gh200": frozenset({120.0, 480.0})}
"""Memory of the processor on the same module, which names state in place of the GPU's."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a name says: candidate ids (one: exact, when `is_sure`), GPUs in it, MIG profile.

    `count` None: it says none; 0: what it says is no one whole number of GPUs.
    """

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
    vendor: str
    is_ada: bool


class _Size(NamedTuple):
    """A stated memory size [GB]; `is_reported`: by a driver, which leaves out what it keeps (ECC)."""

    gb: float
    is_reported: bool


@cache
def _lexicon() -> dict[frozenset[str], tuple[_Product, ...]]:
    """Products by the tokens of their model."""
    products: dict[frozenset[str], list[_Product]] = {}
    for gpu in catalog.catalog().values():
        model = _model_of(gpu)
        tokens = frozenset(model.split("-"))
        products.setdefault(tokens, []).append(
            _Product(
                gpu.id,
                model,
                gpu.form_factor,
                gpu.memory_gb,
                (gpu.memory_type or "").lower() or None,
                set(gpu.values) <= {"memory_gb"},
                gpu.vendor.lower(),
                (gpu.architecture or "").startswith("Ada"),
            )
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
    text = _COLON_COUNT.sub(r" x\1", text)
    text = re.sub(r"[_\-/|()\[\],:;!+*'\"]+", " ", text)
    text = _LANES.sub("pcie", text)
    text = _LEADING_COUNT.sub(r"\1x ", text).replace("\u00d7", "x")
    text = _GLUED_COUNT.sub(r" x\1", text)
    text = re.sub(r"\b(rtx|gtx|quadro|tesla|titan|nvidia|geforce)(?=[a-z]?\d|pro|rtx)", r"\1 ", text)
    text = re.sub(r"\bpro(?=\d)", "pro ", text)
    text = re.sub(r"(?<=\d) ?tis\b", " ti super", text)
    text = re.sub(r"(?<=\d)(ada|super|ti|nvl|sxm\d?|pcie|oam|maxq|bse|se|ws)(?![a-z])", r" \1", text)
    text = re.sub(r"\bti(super)\b", r"ti \1", text)
    text = re.sub(r"\bsupers?ti\b", "ti super", text)
    return " ".join(text.split())


def read(text: str) -> Reading:
    """The reading of a name by the general rule; no candidate when no model is named.

    >>> read("8x NVIDIA H100 SXM5 80GB")
    Reading(candidates=('nvidia-h100-sxm-80gb',), is_sure=True, count=8, mig=None)
    """
    nothing = Reading((), is_sure=False, count=None, mig=None)
    said = _said(text)
    if said.tokens & _REJECTED or said.is_mobile or any(re.fullmatch(r"mx\d{3}", token) for token in said.tokens):
        return nothing
    parts = _ALTERNATIVES.split(text)
    alternatives = [part for part in parts if _said(part).model] if len(parts) > 1 else []
    candidates, is_sure = _candidates(said)
    if len(alternatives) > 1:
        found = [_candidates(_said(part))[0] for part in alternatives]
        candidates = tuple(dict.fromkeys(candidate for ids in (*found, candidates) for candidate in ids))
        is_sure = False
    if not candidates:
        return nothing
    return Reading(candidates, is_sure and said.gpus != 0, said.gpus, said.mig)


class _Said(NamedTuple):
    """What a name's words say, each kind apart; `model` is what is left for the model."""

    tokens: frozenset[str]
    model: frozenset[str]
    is_repeated: bool
    is_mobile: bool
    form: str | None
    memory_type: str | None
    sizes: frozenset[_Size]
    gpus: int | None
    mig: str | None
    vendors: frozenset[str]


def _said(text: str) -> _Said:
    words = cleaned(text)
    mig_found = _MIG.search(words)
    mig = None if mig_found is None else f"{mig_found[1]}g.{mig_found[2]}gb"
    sizes, words = _take_memory(_MIG.sub(" ", words))
    count, words = _take_count(words)
    words = re.sub(r"\b(?:running|attached|committed)\b.*", " ", words)
    spelled = _spelled(words)
    tokens = _tokens(set(spelled))
    form, rest = _take_form(tokens)
    memory_types = {token for token in rest if _MEMORY_TYPES.fullmatch(token)}
    model = rest - memory_types - _NOISE
    return _Said(
        tokens=frozenset(tokens),
        model=frozenset(model),
        is_repeated=any(spelled.count(token) > 1 for token in model),
        is_mobile=_is_mobile(words),
        form=form,
        memory_type=min(memory_types, default=None),
        sizes=frozenset(sizes),
        gpus=count,
        mig=mig,
        vendors=frozenset(_VENDORS[token] for token in tokens if token in _VENDORS),
    )


def _candidates(said: _Said) -> tuple[tuple[str, ...], bool]:
    """The products that a name may mean, and whether it is sure to mean the only one."""
    products, left = _products(set(said.model))
    if said.vendors:
        own = tuple(one for one in products if one.vendor in said.vendors)
        if not own:
            return (), False
        products = own
    if not products:
        return (), False
    candidates, is_sure = _narrowed(products, said)
    return candidates, is_sure and not left and not said.is_repeated and len(said.vendors) < 2


@cache
def of_mig_profile(profile: str) -> tuple[str, ...]:
    """The products that can be cut into this MIG profile.

    >>> of_mig_profile("2g.12gb")
    ('nvidia-a30-pcie-24gb',)
    """
    patterns = [pattern for pattern, profiles in _MIG_PROFILES if profile.removesuffix("gb") in profiles.split()]
    return tuple(gpu for gpu in catalog.catalog() if any(re.fullmatch(f"nvidia-{one}", gpu) for one in patterns))


def _spelled(words: str) -> list[str]:
    """The words one by one, glued endings of consumer cards apart."""
    found: list[str] = []
    for word in words.replace(".", " ").split():
        short = re.fullmatch(r"([2345]0\d0)([sd])", word)
        found += [word] if short is None else [short[1], "super" if short[2] == "s" else "d"]
    return found


def _tokens(tokens: set[str]) -> set[str]:
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
    if "hl" in tokens:
        boards = {"205": "gaudi1", "225": "gaudi2", "325": "gaudi3", "325l": "gaudi3"}
        tokens = {boards.get(token, token) for token in tokens} - {"hl"}
    return tokens


def _is_mobile(words: str) -> bool:
    return re.search(r"\bmax ?q design\b|\bwith max ?q\b", words) is not None


def _take_memory(words: str) -> tuple[set[_Size], str]:
    sizes = set()
    for found in _MEMORY.finditer(words):
        number = float(found[1] or found[3])
        sizes.add(_Size(number / 1024, is_reported=True) if found[2] == "mib" else _Size(number, is_reported=False))
    return sizes, _MEMORY.sub(" ", words)


def _take_count(words: str) -> tuple[int | None, str]:
    """The GPUs that the words say, 0 where they say several numbers or a share of one."""
    stated = {
        0 if found["share"] else int(found["before"] or found["after"] or found["gpus"])
        for found in _COUNT.finditer(words)
    }
    return (None if not stated else stated.pop() if len(stated) == 1 else 0), _COUNT.sub(" ", words)


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
    frozenset({"mi300"}): ("mi300a", "mi300x"),
    frozenset({"rtx", "6000"}): ("quadro-rtx-6000", "rtx-6000-ada"),
    frozenset({"rtx", "5000"}): ("quadro-rtx-5000", "rtx-5000-ada"),
    frozenset({"rtx", "4000"}): ("quadro-rtx-4000", "rtx-4000-ada"),
}
"""Names that several models share."""


_SERIES_NUMBER = re.compile(r"[2-5]0[5-9]0|10[678]0|16[56]0|[24-6][05]00")
"""Numbers that name a card without its series: 4090, 3090 Ti, 4000 Ada (but 4000 alone names several)."""


def _named(tokens: frozenset[str]) -> tuple[_Product, ...]:
    lexicon = _lexicon()
    family = _FAMILIES.get(tokens)
    if family is not None:
        return tuple(product for model in family for product in lexicon[frozenset(model.split("-"))])
    named = lexicon.get(tokens) or lexicon.get(_SYNONYMS.get(tokens, frozenset()), ())
    if not named and any(_SERIES_NUMBER.fullmatch(token) for token in tokens) and not tokens & {"rtx", "gtx"}:
        return lexicon.get(tokens | {"rtx"}) or lexicon.get(tokens | {"gtx"}, ())
    return named


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
    if best[0] and all(product.is_ada for product in best[0]):
        best[1].discard("ada")
    # A leftover that makes another model of it (4090 super, 3050 oem) names something we do not know.
    return ((), set()) if best[1] & _MODEL_WORDS else best


def _narrowed(products: Iterable[_Product], said: _Said) -> tuple[tuple[str, ...], bool]:
    """The products of that form, memory and MIG profile; sure when exactly one is left and nothing contradicts it."""
    everything = list(products)
    form, count = said.form, said.gpus or 1
    by_form = [one for one in everything if form is None or one.form == form or _is_superchip(one, form)]
    is_contradicted = not by_form
    pool = by_form or everything
    if said.memory_type is not None and any(one.memory_type for one in pool):
        # HBM2 is also said of HBM2e, never the other way round; an unknown type confirms nothing.
        is_typed = any((one.memory_type or "").startswith(said.memory_type) for one in pool)
        is_contradicted |= not is_typed
        if is_typed:
            pool = [one for one in pool if one.memory_type is None or one.memory_type.startswith(said.memory_type)]
    if said.mig is not None:
        cut = [one for one in pool if one.id in of_mig_profile(said.mig)]
        is_contradicted |= not cut
        pool = cut or pool
    sizes = {size for size in said.sizes if size.gb not in _GRACE_GB.get(everything[0].model, ())}
    if sizes:
        fitting = [one for one in pool if all(_is_near(one.memory_gb, size, slack=0.0) for size in sizes)]
        fitting = fitting or [one for one in pool if all(_is_near(one.memory_gb, size, slack=0.1) for size in sizes)]
        is_contradicted |= not fitting
        # A size that no product has may be the machine's: then it says which one, but not for sure.
        totals = {_Size(size.gb / count, size.is_reported) for size in sizes}
        total = [one for one in pool if all(_is_near(one.memory_gb, size, slack=0.0) for size in totals)]
        pool = fitting or total or pool
    elif said.mig is None:
        pool = _usual(pool) or pool
    if len(pool) == 1 and pool[0].is_bare:
        # Known by name alone, beside a specified product of nearly its size: it may be marketing (B200: 192 GB sold, 180 usable).
        pool = [*pool, *(one for one in by_form if not one.is_bare and _is_nearly_as_large(one, pool[0]))]
    return tuple(product.id for product in pool), len(pool) == 1 and not is_contradicted


def _is_nearly_as_large(one: _Product, other: _Product) -> bool:
    return one.form == other.form and abs((one.memory_gb or 0) - (other.memory_gb or 0)) < 0.1 * (one.memory_gb or 0)


def _is_superchip(product: _Product, form: str) -> bool:
    """Grace superchips are sold as SXM or NVL racks."""
    return product.form == "superchip" and form in {"sxm", "nvl"}


def _is_near(memory_gb: float | None, size: _Size, slack: float) -> bool:
    """Whether a stated size is the product's: large cards, and drivers, also give a usable memory of up to a tenth less."""
    if memory_gb is None:
        return False
    slack = max(slack, 0.01) if size.is_reported else slack if memory_gb > 100 else 0.0
    return (1 - slack) * memory_gb - 0.6 < size.gb < (1 + slack / 3) * memory_gb + 0.6


def _usual(pool: list[_Product]) -> list[_Product]:
    """Without a memory size, rare variants stand back where one size is what is sold."""
    return [
        product for product in pool
        if _DEFAULT_MEMORY_GB.get((product.model, product.form or ""), product.memory_gb) == product.memory_gb
    ]  # fmt: skip
