"""The words for every error, caveat and reason, in English, and in French through gettext.

A template is found by its code; `{name:spec}` formats a value for the locale (see `Words.format_field`).
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any

from breakeven.gpus import catalog
from breakeven.reporting import formats
from breakeven.reporting.formats import printable
from breakeven.reporting.messages import CAVEATS, CODES, ERRORS, HINT_OPEN, HINTS_WITHOUT_CANDIDATES, REASONS, SKIPPED
from breakeven.reporting.translations import translations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from breakeven.errors import BreakevenError, Caveat
    from breakeven.offers.offer import Offer
    from breakeven.reporting.translations import Locale

_PROVIDERS = {
    "lowcostgpu": "LowCostGPU", "runpod": "Runpod", "lambda": "Lambda", "massed-compute": "Massed Compute",
    "aws": "AWS", "azure": "Azure", "gcp": "GCP", "oci": "OCI", "vastai": "Vast.ai", "coreweave": "CoreWeave",
}  # fmt: skip
_TOOLS = {
    "llama-factory": "LLaMA-Factory",
    "training-arguments": "TrainingArguments",
    "vllm": "vLLM",
    "sglang": "SGLang",
}
_FORM_FACTORS = {"sxm": "SXM", "pcie": "PCIe", "nvl": "NVL", "oam": "OAM", "soc": "SoC", "apu": "APU"}


class Words(Formatter):
    """One language's words and number formats; `offers` lets offer ids be shown as people name them."""

    def __init__(self, locale: Locale = "en", offers: Mapping[str, Offer] | None = None) -> None:
        self.locale: Locale = locale
        self.offers = offers or {}
        self._translations = translations(locale)

    def __call__(self, template: str, /, **values: Any) -> str:
        """The template in this language, with its values formatted."""
        if self._translations is not None:
            template = self._translations.gettext(template)
        return str(self.vformat(template, (), values))

    def count(self, number: int, singular: str, plural: str, **values: Any) -> str:
        """The template for that many things."""
        if self._translations is not None:
            template = self._translations.ngettext(singular, plural, number)
        else:
            template = singular if number == 1 else plural
        return str(self.vformat(template, (), {"n": number, **values}))

    def format_field(self, value: Any, format_spec: str) -> str:
        """A value by its spec, one of those in `_FIELDS`."""
        shown = _FIELDS.get(format_spec)
        if shown is not None:
            return shown(self, value)
        return str(super().format_field(value, format_spec))

    def gpu(self, gpu_id: str) -> str:
        """A GPU as people write it, with form factor and memory."""
        known = catalog.catalog().get(gpu_id)
        if known is None:
            return gpu_id
        parts = [known.model]
        form = known.form_factor
        if form and form.lower() not in known.model.lower().split() and form not in {"board", "superchip"}:
            parts.append(_FORM_FACTORS.get(form, form))
        if known.memory_gb is not None:
            parts.append(formats.scaled(known.memory_gb, "GB", self.locale))
        return " ".join(parts)

    def short_gpu(self, gpu_id: str, other: str | None = None) -> str:
        """The model name alone where it tells the two GPUs apart, else the full name."""
        known = catalog.catalog()
        if other is None or gpu_id not in known or other not in known or known[gpu_id].model == known[other].model:
            return self.gpu(gpu_id)
        return known[gpu_id].model

    def the_gpu(self, gpu_id: str, other: str | None = None) -> str:
        """The GPU with its article, told apart from another."""
        name = self.short_gpu(gpu_id, other)
        if self.locale == "fr":
            return f"l\N{RIGHT SINGLE QUOTATION MARK}{name}" if name[0] == "A" else f"la {name}"
        return f"the {name}"

    def provider(self, provider_id: str) -> str:
        """A provider as it writes itself."""
        return _PROVIDERS.get(provider_id, provider_id)

    def tool(self, tool_id: str) -> str:
        """A tool as it writes itself."""
        return _TOOLS.get(tool_id, tool_id)

    def offer(self, offer: Offer, *, names_market: bool = False) -> str:
        """An offer in words: provider, tier, GPU, and its market where it is not on-demand or `names_market`."""
        name = f"{self.provider(offer.provider)} {offer.tier} " if offer.tier else f"{self.provider(offer.provider)} "
        name += self.gpu(offer.gpu)
        extra = [self(CODES[offer.market])] if names_market or offer.market != "on-demand" else []
        if offer.instance:
            extra.append(offer.instance)
        if offer.region:
            extra.append(offer.region)
        if offer.is_private:
            extra.append(self(CODES["private"]))
        return ", ".join([name, *extra])

    def line(self, provider: str, tier: str | None, gpu: str, market: str) -> str:
        """A line of the market in words."""
        name = f"{self.provider(provider)} {tier} " if tier else f"{self.provider(provider)} "
        name += self.gpu(gpu)
        return name if market == "on-demand" else f"{name}, {self(CODES[market])}"

    def date(self, iso: str) -> str:
        """A date, from its ISO form."""
        if self.locale == "fr":
            year, month, day = iso.split("-")
            return f"{day}/{month}/{year}"
        return iso

    def reason(self, reason: Caveat) -> str:
        """A reason in words."""
        return self.coded_reason(reason)

    def coded_reason(self, reason: Caveat, **more: Any) -> str:
        """A reason in words, with values that only the reader's words need."""
        return self._coded(REASONS, reason.code, {**reason.values, **more})

    def caveat(self, caveat: Caveat) -> str:
        """A caveat in words."""
        if f"{caveat.code}-on" in CAVEATS and caveat.values.get("gpus"):
            return self._coded(CAVEATS, f"{caveat.code}-on", caveat.values)
        is_bare = f"{caveat.code}-bare" in CAVEATS and None in caveat.values.values()
        return self._coded(CAVEATS, f"{caveat.code}-bare" if is_bare else caveat.code, caveat.values)

    def skipped(self, code: str) -> str:
        """Why a row was skipped: by its code, the error's message, or the word that a map gave."""
        if code in SKIPPED:
            return self(SKIPPED[code])
        if code in ERRORS:
            return f"{code}"
        return printable(code)

    def _coded(self, table: Mapping[str, str], code: str, values: Mapping[str, Any]) -> str:
        return self(table[code], **values)

    def error(self, error: BreakevenError) -> str:
        """An error in words: where, what is wrong with which value, and on a line of its own what to do."""
        message, hint = ERRORS.get(error.code, (error.code, None))
        place = []
        if error.file is not None:
            place.append(printable(error.file))
        if error.line is not None:
            place.append(self("line {line}", line=error.line))
        if error.key is not None:
            place.append(self("column {key}" if error.place == "column" else "key {key}", key=printable(error.key)))
        text = self(message, **error.values)
        if place:
            text = self("{place}: {text}", place=", ".join(place), text=text)
        if error.values.get("candidates") == ():
            hint = HINTS_WITHOUT_CANDIDATES.get(error.code, None if "{candidates" in (hint or "") else hint)
        elif hint is None and "candidates" in error.values:
            hint = "Did you mean {candidates:or-list}?"
        if error.values.get("is_open"):
            hint = HINT_OPEN
        if hint is not None:
            text += f"\n  {self(hint, **error.values)}"
        return text


def _items(words: Words, items: Sequence[Any], last: str) -> str:
    shown = [str(item) for item in items]
    return formats.listed(shown, words(last))


def _plain_number(words: Words, value: Any) -> str:
    return formats.significant(float(value), 4, words.locale) if abs(float(value)) < 1e15 else f"{float(value):g}"


def _offer_name(words: Words, offer_id: str) -> str:
    offer = words.offers.get(offer_id)
    return offer_id if offer is None else words.offer(offer)


def _offer_names(words: Words, offer_ids: Sequence[str]) -> str:
    return _some(words, list(dict.fromkeys(_offer_name(words, offer_id) for offer_id in offer_ids)))


def _some(words: Words, names: Sequence[str]) -> str:
    """A few names, and how many more."""
    if len(names) > 3:
        return words("{first:list} and {n} more", first=names[:2], n=len(names) - 2)
    return formats.listed(names, words("and"))


_FIELDS: dict[str, Callable[[Words, Any], str]] = {
    "usd": lambda words, value: formats.usd(value, words.locale),
    "rate": lambda words, value: formats.usd(value, words.locale),
    "hours": lambda words, value: formats.hours(value, words.locale),
    "gb": lambda words, value: formats.scaled(float(f"{value:.2g}"), "GB", words.locale),
    "why": lambda words, value: words.coded_reason(value),
    "and-list": lambda words, value: _items(words, value, "and"),
    "ratio": lambda words, value: formats.significant(value, 3, words.locale),
    "pct": lambda words, value: formats.percent(value, words.locale),
    "number": _plain_number,
    "date": lambda words, value: words.date(value),
    "gpu": lambda words, value: words.gpu(value),
    "gpus": lambda words, value: formats.listed([words.gpu(gpu) for gpu in value], words("and")),
    "some-gpus": lambda words, value: _some(words, [words.gpu(gpu) for gpu in value]),
    "offer": _offer_name,
    "offers": _offer_names,
    "code": lambda words, value: words(CODES.get(str(value), str(value).replace("{", "{{").replace("}", "}}"))),
    "skip": lambda words, value: words.skipped(value),
    "skips": lambda words, value: formats.listed([words.skipped(code) for code in value], words("and")),
    "codes": lambda words, value: formats.listed([words(CODES.get(code, code)) for code in value], words("and")),
    "tools": lambda words, value: formats.listed([words.tool(tool) for tool in value], words("and")),
    "list": lambda _words, value: ", ".join(str(item) for item in value),
    "or-list": lambda words, value: _items(words, value, "or"),
    "quoted": lambda _words, value: f"'{_shortened(str(value))}'",
}


def _shortened(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
