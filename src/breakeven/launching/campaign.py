"""The state of launched runs: lines appended to a file of their folder, so that a kill loses nothing.

`campaign.json` says what was planned, `events.jsonl` what happened since.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from breakeven.errors import ExternalError, InputError
from breakeven.launching.launcher import OVER
from breakeven.launching.runner import OUTCOME, states_of, write_whole
from breakeven.launching.task import Task, cost_usd, task_of

if TYPE_CHECKING:
    from pathlib import Path

ABOUT, EVENTS = "campaign.json", "events.jsonl"
FORMAT = 1
_OWNER_ONLY = 0o600


@dataclass(slots=True)
class Candidate:
    """One task of a campaign and what became of it.

    state : planned, one of the engine's states, or skipped; outcome : by the runner's own word, None where it left
    none; started_s, ended_s : when it was submitted and when it was over [s since 1970]; run : id of its recording.
    """

    task: Task
    folder: Path
    state: str = "planned"
    detail: str = ""
    handle: str | None = None
    started_s: float | None = None
    running_s: float | None = None
    ended_s: float | None = None
    outcome: dict[str, Any] | None = None
    run: str | None = None
    recorded: tuple[str, ...] = ()
    not_recorded: str | None = None
    skipped_why: str | None = None
    stopped_by: str | None = None
    """What ended its training before its last step: time, usd, settled, ...; None where nothing is known to have."""
    failures: tuple[str, ...] = ()
    """Why its training failed, by kind, the cause first."""

    @property
    def name(self) -> str:
        """The name of its task."""
        return self.task.name

    @property
    def is_live(self) -> bool:
        """Whether it was submitted and is not known to be over."""
        return self.handle is not None and self.state not in OVER

    @property
    def result(self) -> str:
        """What became of it in one word: the runner's outcome, else the engine's state."""
        if self.outcome is not None and not self.is_live:
            return str(self.outcome["outcome"])
        return self.state

    def paid_s(self, now_s: float) -> float:
        """How long a machine was paid for, as far as is known [s]; a queue costs nothing."""
        if self.outcome is not None:
            return float(self.outcome.get("paid_s", self.outcome.get("seconds", 0.0)))
        begun = [one["t_s"] for one in states_of(self.folder) if one["at"] == "start"]
        since = begun[0] if begun else self.running_s
        if since is None:
            return 0.0
        return max(0.0, (now_s if self.ended_s is None else self.ended_s) - since)

    def spent_usd(self, now_s: float) -> float | None:
        """What it cost so far, by the offer's billing rules [USD]; None where no price is known."""
        paid_s = self.paid_s(now_s)
        return cost_usd(self.task.rented, paid_s + self.task.overhead_s if paid_s else 0.0)

    @property
    def attempts(self) -> int:
        """How often it began; more than once after a requeue."""
        return sum(one["at"] == "start" for one in states_of(self.folder))


@dataclass(slots=True)
class Campaign:
    """Tasks of one plan on one engine, and what they may cost together [USD]."""

    folder: Path
    about: dict[str, Any]
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def engine(self) -> str:
        """The engine that runs it."""
        return str(self.about["engine"])

    @property
    def kind(self) -> str:
        """Whether trainings are measured (`train`) or servers (`serve`)."""
        return str(self.about["kind"])

    @property
    def most_usd(self) -> float | None:
        """The most that the whole campaign may cost [USD]."""
        return self.about["limits"]["usd"]  # type: ignore[no-any-return]

    def find(self, name: str) -> Candidate:
        """The candidate of that name, GPU or offer.

        Raises: InputError `unknown-candidate`.
        """
        for one in self.candidates:
            if name in {one.name, one.task.rented.gpu, one.task.rented.offer}:
                return one
        raise InputError("unknown-candidate", text=name, candidates=tuple(one.name for one in self.candidates))

    def spent_usd(self, now_s: float) -> float | None:
        """What was spent so far [USD]; None where a price is not known."""
        return _sum([one.spent_usd(now_s) for one in self.candidates if one.handle is not None])

    def committed_usd(self, now_s: float) -> float | None:
        """What was spent, and what runs may still spend until their own limits [USD]."""
        return _sum(
            [
                one.task.most_usd if one.is_live else one.spent_usd(now_s)
                for one in self.candidates
                if one.handle is not None
            ]
        )

    def projected_usd(self, now_s: float) -> float | None:
        """The most that all of it can cost: what is committed, and what is still planned at its limits [USD]."""
        planned = [one.task.most_usd for one in self.candidates if one.state == "planned"]
        return _sum([self.committed_usd(now_s), *planned])

    def left_usd(self, now_s: float) -> float | None:
        """What may still be committed [USD]; None without a limit or prices."""
        committed = self.committed_usd(now_s)
        return None if self.most_usd is None or committed is None else self.most_usd - committed

    def tell(self, at: str, candidate: Candidate | None = None, *, now_s: float, **values: Any) -> None:
        """Append what happened, and take it in.

        Raises: ExternalError `file-failed`.
        """
        named = {} if candidate is None else {"candidate": candidate.name}
        event = {"at": at, "t_s": now_s, **named, **values}
        try:
            file = os.open(self.folder / EVENTS, os.O_RDWR | os.O_CREAT | os.O_APPEND, _OWNER_ONLY)
            try:
                size = os.fstat(file).st_size
                has_half = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # of a writer that was killed
                os.write(file, (("\n" if has_half else "") + json.dumps(event) + "\n").encode())
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise ExternalError(
                "file-failed", file=str(self.folder / EVENTS), problem=error.strerror or str(error)
            ) from None
        if candidate is not None:
            _take_in(candidate, event)


def _sum(parts: list[float | None]) -> float | None:
    known = [one for one in parts if one is not None]
    return sum(known) if len(known) == len(parts) else None


def _take_in(candidate: Candidate, event: dict[str, Any]) -> None:
    """What an event says of its candidate."""
    at, t_s = event["at"], float(event["t_s"])
    if at == "submitted":
        candidate.handle, candidate.state, candidate.started_s = event["handle"], "queued", t_s
    elif at == "submit-failed":
        candidate.state, candidate.detail, candidate.ended_s = "failed", event["problem"], t_s
    elif at == "state":
        candidate.state, candidate.detail = event["state"], event.get("detail", "")
        if candidate.state == "running" and candidate.running_s is None:
            candidate.running_s = t_s
        if candidate.state in OVER:
            candidate.ended_s = t_s if candidate.ended_s is None else candidate.ended_s
    elif at == "collected":
        candidate.run, candidate.recorded = event.get("run"), tuple(event.get("recorded", ()))
        candidate.not_recorded = event.get("not_recorded")
        candidate.stopped_by, candidate.failures = event.get("stopped_by"), tuple(event.get("failures", ()))
    elif at == "skipped":
        candidate.state, candidate.skipped_why = "skipped", event["why"]


def make_campaign(folder: Path, about: dict[str, Any], tasks: list[Task]) -> Campaign:
    """Write down what is planned; folders of the tasks are named by them.

    Raises: ExternalError `file-failed`.
    """
    document = {"format": FORMAT, **about, "tasks": [task.document() for task in tasks]}
    try:
        write_whole(folder / ABOUT, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ExternalError("file-failed", file=str(folder), problem=error.strerror or str(error)) from None
    return read_campaign(folder)


def read_campaign(folder: Path) -> Campaign:
    """A campaign and what happened to it; half a last line, of a killed process, is left out.

    Raises: InputError `not-a-campaign`.
    """
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        tasks = [task_of(one) for one in about.pop("tasks")]
        if about["format"] != FORMAT:
            raise InputError("not-a-campaign", text=str(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError("not-a-campaign", text=str(folder)) from None
    campaign = Campaign(folder, about, [Candidate(task, folder / task.name) for task in tasks])
    by_name = {one.name: one for one in campaign.candidates}
    for event in _events(folder):
        if event.get("candidate") in by_name:
            _take_in(by_name[event["candidate"]], event)
    for one in campaign.candidates:
        one.outcome = outcome_of(one.folder)
    return campaign


def _events(folder: Path) -> list[dict[str, Any]]:
    try:
        *lines, _rest = (folder / EVENTS).read_text(encoding="utf-8").split("\n")
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            one = json.loads(line)
            if isinstance(one, dict) and {"at", "t_s"} <= set(one):
                found.append(one)
    return found


def outcome_of(folder: Path) -> dict[str, Any] | None:
    """How a task ended by its own word; None where it left none."""
    try:
        told = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("outcome"), str) else None
