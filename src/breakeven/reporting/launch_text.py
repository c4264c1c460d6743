"""Campaigns of launched runs, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakeven.reporting import formats
from breakeven.reporting.evidence_text import table_of
from breakeven.reporting.json_documents import decision_document
from breakeven.reporting.replay_documents import paired_document
from breakeven.reporting.replay_text import standing_line
from breakeven.reporting.terminal import next_text, wrapped

if TYPE_CHECKING:
    from breakeven.launching.campaign import Campaign, Candidate
    from breakeven.launching.standings import Standings
    from breakeven.reporting.terminal import Style
    from breakeven.reporting.words import Words


def planned_text(campaign: Campaign, words: Words, style: Style, *, is_next: bool = True) -> str:
    """What would be started: candidates with price, estimated and largest cost, and what ends them.

    is_next : say how to start it.
    """
    lines = [style.strong(line) for line in wrapped(_title(campaign, words), "", "")]
    head = [words("candidate"), words("$/h"), words("about $"), words("at most $"), words("at most h")]
    rows = [_planned_row(one, campaign, words) for one in campaign.candidates]
    lines.extend(["", *("  " + line for line in table_of(rows, head, style)), ""])
    lines.extend(wrapped(_limits(campaign, words)))
    names = {name for one in campaign.candidates for name in one.task.environment}
    if names:
        lines.extend(wrapped(words("Passed on by name: {names:list}.", names=sorted(names))))
    told = words("Read and edit the files, then start them:") if is_next else words("The files are in:")
    command = f"breakeven launch submit {_path(campaign)}" if is_next else _path(campaign)
    lines.extend([*wrapped(told), f"    {command}"])  # a path is never broken
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _path(campaign: Campaign) -> str:
    return formats.printable(str(campaign.folder))


def _title(campaign: Campaign, words: Words) -> str:
    return words.count(
        len(campaign.candidates),
        "{label}: {kind:code} plan {digest} on {n} candidate, engine {engine}",
        "{label}: {kind:code} plan {digest} on {n} candidates, engine {engine}",
        label=formats.printable(str(campaign.about["label"])), kind=campaign.kind, engine=campaign.engine,
        digest=str(campaign.about["plan_digest"])[:12],
    )  # fmt: skip


def _named(candidate: Candidate, words: Words) -> str:
    rented = candidate.task.rented
    place = "" if rented.offer.startswith("own/") else f"{words.provider(rented.provider)} "
    return formats.printable(f"{place}{rented.gpus} x {words.gpu(rented.gpu)}")


def _cents(usd: float | None, words: Words) -> str:
    return "?" if usd is None else formats.cents(usd, words.locale)


def _planned_row(one: Candidate, campaign: Campaign, words: Words) -> list[str]:
    price = one.task.rented.usd_per_h
    rate = "?" if price is None else formats.rate(price, words.locale)
    about = (campaign.about.get("estimates_usd") or {}).get(one.name)
    return [
        _named(one, words), rate, _cents(about, words), _cents(one.task.most_usd, words),
        formats.hours(one.task.run_s / 3600, words.locale),
    ]  # fmt: skip


def _limits(campaign: Campaign, words: Words) -> str:
    idle = campaign.candidates[0].task.limits.idle_s if campaign.candidates else 0.0
    text = words(
        "Each ends by itself at its limit, or once it wrote nothing for {idle:number} s.", idle=idle
    )  # fmt: skip
    if campaign.most_usd is None:
        return text + " " + words("No spending limit is set for all of them together.")
    return text + " " + words("All together cost {usd:usd} at most.", usd=campaign.most_usd)


def progress_line(campaign: Campaign, words: Words) -> str:
    """How every candidate stands, on one line."""
    parts = [f"{_named(one, words)}: {_result(one, words)}" for one in campaign.candidates]
    return formats.unbroken("; ".join(parts), words.locale)


def _result(one: Candidate, words: Words) -> str:
    text = words("{result:code}", result=f"result:{one.result}")
    if one.skipped_why is not None:
        text += " (" + words("{why:code}", why=f"why:{one.skipped_why}") + ")"
    elif one.detail and one.result in {"queued", "failed", "cancelled", "lost"}:
        text += f" ({formats.printable(one.detail)})"
    if one.failures:
        text += ": " + words("{kind:code}", kind=one.failures[0])
    if one.stopped_by is not None:
        text += ", " + words("stopped early ({by:code})", by=one.stopped_by)
    if one.attempts > 1:
        text += ", " + words("begun {n} times", n=one.attempts)
    return text


def campaign_text(
    campaign: Campaign, now_s: float, standing: Standings | None, words: Words, style: Style
) -> str:  # fmt: skip
    """How a campaign stands: every candidate, money, what ends what is still rented, and what was shown."""
    lines = [style.strong(line) for line in wrapped(_title(campaign, words), "", "")]
    rows = [
        [_named(one, words), _cents(one.spent_usd(now_s), words), formats.hours(one.paid_s(now_s) / 3600, words.locale)]
        for one in campaign.candidates
    ]
    lines.append("")
    head = [words("candidate"), words("$ so far"), words("hours")]
    for one, line in zip([None, *campaign.candidates], table_of(rows, head, style), strict=False):
        lines.append("  " + line)
        if one is not None:
            lines.extend(wrapped(_result(one, words), "      ", "      "))
            lines.extend(_of_recording(one, words))
    lines.extend(["", *wrapped(_money(campaign, now_s, words))])
    live = [one for one in campaign.candidates if one.is_live]
    if live:
        lines.extend([*wrapped(words("End what runs with:")), f"    breakeven launch stop {_path(campaign)}"])
    if standing is not None:
        lines.extend(["", *_shown(standing, words)])
    return formats.unbroken("\n".join(lines) + "\n", words.locale)


def _of_recording(one: Candidate, words: Words) -> list[str]:
    if one.run is None:
        return []
    text = words("recorded as {run}", run=one.run)
    if one.recorded:
        text += ", " + words("measurement {ids:list}", ids=one.recorded)
    elif one.not_recorded is not None:
        text += ", " + words("no measurement ({why})", why=one.not_recorded)
    return wrapped(text, "      ", "      ")


def _money(campaign: Campaign, now_s: float, words: Words) -> str:
    spent, projected = campaign.spent_usd(now_s), campaign.projected_usd(now_s)
    if spent is None or projected is None:
        return words("What it costs is not known, for a price is missing.")
    text = words("Spent {spent:usd} so far; {most:usd} at most in all.", spent=spent, most=projected)
    if campaign.most_usd is not None:
        text += " " + words("The limit is {usd:usd}.", usd=campaign.most_usd)
    return text


def _shown(standing: Standings, words: Words) -> list[str]:
    lines: list[str] = []
    for first, second, pair in standing.pairs:
        lines.extend(wrapped(words("{b} over {a}:", a=_named(first, words), b=_named(second, words))))
        lines.extend(wrapped(standing_line(pair, words), "    ", "    "))
    for one, error in standing.not_compared:
        lines.extend(wrapped(words("{name}: not compared. {why}", name=_named(one, words), why=words.error(error))))
    if standing.winner is None:
        lines.extend(wrapped(words("Nothing was measured, so nothing is decided.")))
    elif standing.is_settled or standing.usd_per_m_tokens:
        lines.extend(wrapped(words("Measured: {name} costs least for this work.", name=_named(standing.winner, words))))
    elif standing.pairs or standing.not_compared:
        lines.extend(wrapped(words("Not settled; {name} leads.", name=_named(standing.winner, words))))
    else:
        lines.extend(wrapped(words("Only {name} was measured.", name=_named(standing.winner, words))))
    if standing.decision is not None and standing.decision.next is not None:
        lines.extend(wrapped(next_text(standing.decision.next, words)))
    return lines


def campaign_document(
    campaign: Campaign, now_s: float, standing: Standings | None, words: Words
) -> dict[str, Any]:  # fmt: skip
    """`launch ... --json`."""
    return {
        "campaign": campaign.folder.name,
        "folder": str(campaign.folder),
        "engine": campaign.engine,
        "kind": campaign.kind,
        "plan_digest": campaign.about["plan_digest"],
        "limit_usd": campaign.most_usd,
        "spent_usd": campaign.spent_usd(now_s),
        "projected_usd": campaign.projected_usd(now_s),
        "candidates": [_candidate_document(one, campaign, now_s) for one in campaign.candidates],
        "standings": None if standing is None else _standings_document(standing, words),
    }


def _candidate_document(one: Candidate, campaign: Campaign, now_s: float) -> dict[str, Any]:
    rented, limits = one.task.rented, one.task.limits
    return {
        "name": one.name, "offer": rented.offer, "gpu": rented.gpu, "gpus": rented.gpus,
        "usd_per_h": rented.usd_per_h, "price_seen_at": rented.price_seen_at,
        "estimated_usd": (campaign.about.get("estimates_usd") or {}).get(one.name), "most_usd": one.task.most_usd,
        "limits": {"time_s": limits.time_s, "usd": limits.usd, "idle_s": limits.idle_s},
        "state": one.state, "result": one.result, "detail": one.detail, "why_skipped": one.skipped_why,
        "attempts": one.attempts, "handle": one.handle, "paid_s": one.paid_s(now_s),
        "spent_usd": one.spent_usd(now_s), "run": one.run, "recorded": list(one.recorded),
        "not_recorded": one.not_recorded, "stopped_by": one.stopped_by, "failures": list(one.failures),
    }  # fmt: skip


def _standings_document(standing: Standings, words: Words) -> dict[str, Any]:
    return {
        "winner": None if standing.winner is None else standing.winner.name,
        "is_settled": standing.is_settled,
        "pairs": [{"a": a.name, "b": b.name, **paired_document(pair)} for a, b, pair in standing.pairs],
        "not_compared": [{"name": one.name, "code": error.code} for one, error in standing.not_compared],
        "usd_per_m_tokens": dict(standing.usd_per_m_tokens),
        "decision": None if standing.decision is None else decision_document(standing.decision, words),
    }
