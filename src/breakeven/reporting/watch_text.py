"""What became of recorded decisions, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from breakeven.decisions.watching import Change, Watched
    from breakeven.reporting.words import Words


def watch_document(path: str, watched: Sequence[Watched]) -> dict[str, Any]:
    """`watch --json`, of one record."""
    return {
        "record": path,
        "jobs": [
            {
                "job": one.job,
                "recorded": one.recorded,
                "as_of": one.decision.as_of.isoformat(),
                "before": None if one.before is None else one.before["offer"],
                "now": None if one.now is None else one.now.offer.id,
                "flipped": one.is_flipped,
                "changes": [
                    {"offer": change.offer, "what": change.what, "before": change.before, "now": change.now}
                    for change in one.changes
                ],
            }
            for one in watched
        ],
    }


def watch_text(path: str, watched: Sequence[Watched], words: Words) -> str:
    """A paragraph per job: whether the winner holds, and what moved."""
    lines = [formats.printable(path)]
    for one in watched:
        lines.extend(wrapped(_verdict(one, words), "  ", "    "))
        for change in one.changes:
            lines.extend(wrapped(_moved(change, one, words), "    ", "      "))
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _verdict(one: Watched, words: Words) -> str:
    before = words("no answer") if one.before is None else _named(one.before, words)
    now = words("no answer") if one.now is None else words.offer(one.now.offer)
    if one.is_flipped:
        return words(
            "{job}: flipped since {day:date}. Then: {before}. Now: {now}.",
            job=one.job, day=one.recorded, before=before, now=now,
        )  # fmt: skip
    return words("{job}: unchanged since {day:date}. Rent {now}.", job=one.job, day=one.recorded, now=now)


def _named(option: Mapping[str, Any], words: Words) -> str:
    return words.line(option["provider"], option["tier"], option["gpu"], option["market"])


def _moved(change: Change, one: Watched, words: Words) -> str:
    name = change.offer
    for option in one.decision.options:
        if option.offer.id == change.offer:
            name = words.offer(option.offer)
    before = words("new") if change.before is None else formats.usd(change.before, words.locale)
    now = words("gone") if change.now is None else formats.usd(change.now, words.locale)
    if change.what == "usd_per_gpu_h":
        return words("{offer}: {before} to {now} per GPU and hour", offer=name, before=before, now=now)
    return words("{offer}: {before} to {now} per result", offer=name, before=before, now=now)
