"""What to ask a provider before reserving: ten questions, and what the book or a facts file already answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from breakeven.documents import Mapping, Node, Scalar, Sequence, describe_kind, read_yaml
from breakeven.errors import BreakevenError, InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.offers.offer import Offer

QUESTIONS = {
    "sku": "Which exact product is it: form factor, memory size, and is MIG used or allowed?",
    "node": "What is in the machine: number of GPUs, processor, memory, local disks, network, interconnect?",
    "fabric": "How are GPUs and machines joined: NVLink or NVSwitch inside, InfiniBand or Ethernet between?",
    "storage": "What does storage cost and deliver: local disk, volumes, object store, snapshots, time to restore?",
    "egress": "What does sending data out cost, and how fast is it?",
    "billing": "By which unit is it billed: second, minute or hour, with what minimum?",
    "interruption": "When and with what notice can capacity be taken away?",
    "region": "In which region is it, and which certificates does it hold?",
    "support": "What does the service level promise, and how fast is a bad machine replaced?",
    "reservation": "Which terms do reservations have, and how are they cancelled?",
}
"""The ten questions by key, in our words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one question: the text, who says it, and when; `from_book` tells the book from a facts file."""

    question: str
    text: str
    source: str | None
    seen_at: str | None
    from_book: bool


@dataclass(frozen=True, slots=True)
class Checklist:
    """Ten questions for a provider (None: for any), each with what is known."""

    provider: str | None
    answers: dict[str, list[Answer]]


def answers_of(offers: Iterable[Offer], facts: Iterable[Answer]) -> dict[str, list[Answer]]:
    """What is known of each question about the provider of these offers; an empty list where nobody knows."""
    found: dict[str, list[Answer]] = {question: [] for question in QUESTIONS}
    for fact in facts:
        found[fact.question].append(fact)
    for offer in offers:
        for question, text in _told(offer):
            seen = None if offer.seen_at is None else offer.seen_at.date().isoformat()
            answer = Answer(question, text, offer.source, seen, from_book=True)
            if all(known.text != text for known in found[question]):
                found[question].append(answer)
    return found


def _told(offer: Offer) -> list[tuple[str, str]]:
    """What one line of the book answers, as data; blank columns answer nothing."""
    machine = [
        part
        for part in (
            None if offer.gpus is None else f"{offer.gpus} x GPU",
            None if offer.vcpu is None else f"{offer.vcpu:g} vCPU",
            None if offer.ram_gb is None else f"{offer.ram_gb:g} GB RAM",
            None if offer.nvme_gb is None else f"{offer.nvme_gb:g} GB NVMe",
            None if offer.network_gbps is None else f"{offer.network_gbps:g} Gbit/s",
        )
        if part is not None
    ]
    told: list[tuple[str, str | None]] = [
        ("sku", offer.gpu + ("" if offer.mig is None else f", MIG {offer.mig}")),
        ("node", f"{offer.gpu}: {', '.join(machine)}" if len(machine) > 1 else None),
        ("fabric", ", ".join(part for part in (offer.interconnect, offer.fabric) if part) or None),
        (
            "storage",
            None if offer.storage_usd_per_gb_month is None else f"{offer.storage_usd_per_gb_month:g} USD/GB/month",
        ),
        (
            "egress",
            None
            if offer.egress is None
            else "; ".join(f"> {one.from_gb:g} GB: {one.usd_per_gb:g} USD/GB" for one in offer.egress),
        ),
        (
            "billing",
            None
            if offer.billing_increment_s is None
            else f"{offer.billing_increment_s:g} s, >= {offer.billing_minimum_s or 0:g} s",
        ),
        ("interruption", None if offer.interruption_notice_s is None else f"{offer.interruption_notice_s:g} s"),
        ("region", ", ".join(part for part in (offer.region, offer.country, *offer.compliance) if part) or None),
        ("support", None if offer.sla_pct is None else f"{offer.sla_pct:g} %"),
        ("reservation", None if offer.term_months is None else f"{offer.gpu}: {offer.term_months:g} months"),
    ]
    return [(question, text) for question, text in told if text]


def read_facts(text: str, *, file: str) -> tuple[str, list[Answer]]:
    """The provider and the answered questions of a filled questionnaire; questions left blank are still unknown.

    Raises: InputError with file, line and key.
    """
    try:
        root = _mapping(read_yaml(text, file=file), "")
        for name in root.entries:
            if name not in {"provider", "questions"}:
                raise InputError(
                    "unknown-key",
                    line=root.key_lines[name],
                    key=name,
                    candidates=nearest(name, ("provider", "questions")),
                    known=("provider", "questions"),
                )
        provider = _text(root.entries.get("provider"))
        listed = root.entries.get("questions")
        if not provider:
            raise InputError("missing-key", line=root.line, key="provider")
        if not isinstance(listed, Sequence):
            raise InputError("missing-key", line=root.line, key="questions")
        facts = [
            fact for index, item in enumerate(listed.items) if (fact := _fact(item, f"questions[{index}]")) is not None
        ]
    except BreakevenError as error:
        raise error.at(file=file) from None
    return provider.lower(), facts


_FACT_KEYS = ("key", "question", "known", "answer", "source", "seen_at")


def _fact(node: Node, place: str) -> Answer | None:
    item = _mapping(node, place)
    for name in item.entries:
        if name not in _FACT_KEYS:
            near = nearest(name, _FACT_KEYS, count=1)
            raise InputError(
                "unknown-key", line=item.key_lines[name], key=f"{place}.{name}", candidates=near, known=_FACT_KEYS
            )
    key = _text(item.entries.get("key"))
    if key not in QUESTIONS:
        raise InputError(
            "not-a-choice",
            line=node.line,
            key=f"{place}.key",
            text=key,
            choices=tuple(QUESTIONS),
            candidates=nearest(key, QUESTIONS),
        )
    answer = _text(item.entries.get("answer"))
    if not answer:
        return None
    if not answer.isprintable():
        raise InputError("unprintable-text", line=node.line, key=f"{place}.answer", text=answer)
    for name in ("source", "seen_at"):
        if not _text(item.entries.get(name)):
            raise InputError("fact-without", line=node.line, key=f"{place}.{name}")
    return Answer(key, answer, _text(item.entries.get("source")), _text(item.entries.get("seen_at")), from_book=False)


def _mapping(node: Node, place: str) -> Mapping:
    if not isinstance(node, Mapping):
        raise InputError("wrong-kind", line=node.line, key=place or None, found=describe_kind(node), expected="mapping")
    return node


def _text(node: Node | None) -> str:
    return "" if not isinstance(node, Scalar) or node.is_null else node.text.strip()
