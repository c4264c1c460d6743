"""`breakeven launch render|submit|status|collect|stop`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options, add_store_option, number, style_of, verb_adder, whole_number
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.actions.campaigns import Place
    from breakeven.launching.campaign import Campaign
    from breakeven.launching.standings import Standings
    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `launch`."""
    add = verb_adder(parser, "render|submit|status|collect|stop", locale)
    rendering = add(
        "render",
        "write the engine's job files for every candidate, to read and edit; nothing is started",
        "Example: breakeven launch render plan.yaml --on slurm --gpu nvidia-a100-sxm-80gb -o out -- python train.py",
    )
    rendering.set_defaults(run=run_render)
    submitting = add(
        "submit",
        "start them, once the plan, its cost and its limits were shown and confirmed",
        "Example: breakeven launch submit plan.yaml --on local --gpu nvidia-a100-sxm-80gb --yes -- python train.py",
    )
    told = translated("start without asking", locale)
    submitting.add_argument("--yes", action="store_true", help=told)
    told = translated("stay: one candidate after the other, the one worth most first (local always does)", locale)
    submitting.add_argument("--wait", action="store_true", help=told)
    submitting.set_defaults(run=run_submit)
    for verb in (rendering, submitting):
        verb.takes_command = True  # type: ignore[attr-defined]
        verb.set_defaults(command=[])
        _add_work(verb, locale)
        _add_limits(verb, locale)
    asking = add("status", "how a campaign stands, and what it cost so far", "Example: breakeven launch status")
    asking.set_defaults(run=run_status)
    collecting = add(
        "collect",
        "bring recordings in as runs and as measurements, compare them, and decide again",
        "Example: breakeven launch collect",
    )
    collecting.set_defaults(run=run_collect)
    stopping = add("stop", "end what runs or waits", "Example: breakeven launch stop")
    told = translated("only this candidate", locale)
    stopping.add_argument("--candidate", metavar="NAME", help=told)
    stopping.set_defaults(run=run_stop)
    for verb in (asking, collecting, stopping):
        told = translated("its folder, its id or the beginning of it (default: the newest)", locale)
        verb.add_argument("campaign", metavar="CAMPAIGN", nargs="?", help=told)
    for verb in (rendering, submitting, asking, collecting, stopping):
        told = translated("where runs are kept (default: BREAKEVEN_RUNS, or the user's data folder)", locale)
        verb.add_argument("--runs", metavar="FOLDER", help=told)
        add_store_option(verb, locale)
        add_output_options(verb, locale)


def _add_work(parser: ArgumentParser, locale: Locale) -> None:
    told = translated("a job file, a locked plan (YAML), or the folder that render wrote", locale)
    parser.add_argument("work", metavar="JOB|PLAN", help=told)
    group = parser.add_argument_group(translated("candidates", locale))
    told = translated("skypilot, dstack, slurm, kubernetes, ssh, local, or a plug-in", locale)
    group.add_argument("--on", metavar="ENGINE", help=told)
    told = translated("an exact SKU to measure, on its cheapest offer (repeatable)", locale)
    group.add_argument("--gpu", metavar="GPU", action="append", default=[], help=told)
    told = translated("an offer to measure, by its id (repeatable)", locale)
    group.add_argument("--offer", metavar="ID", action="append", default=[], help=told)
    told = translated("GPUs of each candidate (default: the job's, or 1)", locale)
    group.add_argument("--count", metavar="N", type=whole_number("--count"), help=told)
    told = translated("use this book alone (CSV or YAML; repeatable)", locale)
    group.add_argument("--offers", metavar="PATH", action="append", default=[], help=told)
    told = translated("decide as if it were that day, such as 2026-10-19 (default: today)", locale)
    group.add_argument("--as-of", metavar="DATE", help=told)
    told = translated("a setting of the engine, for all or for one GPU (repeatable)", locale)
    group.add_argument("--set", metavar="[GPU:]NAME=VALUE", action="append", default=[], help=told)
    work = parser.add_argument_group(translated("work", locale))
    told = translated("the job that is measured: its decisions rest on the result", locale)
    work.add_argument("--job", metavar="JOB", help=told)
    told = translated("what is trained on, a file or folder: its digest is locked", locale)
    work.add_argument("--data", metavar="PATH", help=told)
    told = translated("optimizer steps of a training (default: 600)", locale)
    work.add_argument("--steps", metavar="N", type=whole_number("--steps"), help=told)
    told = translated("a file or folder that the command finds beside it (repeatable)", locale)
    work.add_argument("--with", metavar="PATH", action="append", default=[], dest="carried", help=told)
    told = translated("pass this variable on, by name (repeatable)", locale)
    work.add_argument("--env", metavar="NAME", action="append", default=[], help=told)
    told = translated("where the server answers (default: http://127.0.0.1:8000)", locale)
    work.add_argument("--url", metavar="U", default="http://127.0.0.1:8000", help=told)
    told = translated("breakeven is installed there already", locale)
    work.add_argument("--installed", action="store_true", help=told)


def _add_limits(parser: ArgumentParser, locale: Locale) -> None:
    group = parser.add_argument_group(translated("limits", locale))
    told = translated("end each candidate after that many seconds (default: 7200)", locale)
    group.add_argument("--time-limit", metavar="S", type=number("--time-limit"), default=7200.0, help=told)
    told = translated("all candidates together cost at most that much", locale)
    group.add_argument("--spend-limit", metavar="USD", type=number("--spend-limit"), help=told)
    told = translated("end one that writes nothing for that many seconds (default: 900)", locale)
    group.add_argument("--idle-limit", metavar="S", type=number("--idle-limit"), default=900.0, help=told)
    told = translated("what a machine that fails the host check does: not measured, measured, not checked", locale)
    group.add_argument("--host-check", choices=("require", "record", "skip"), default="require", help=told)
    told = translated("write to this folder (default: in the user's data folder)", locale)
    group.add_argument("-o", "--output", metavar="FOLDER", help=told)


def _rendered(arguments: Any) -> Campaign:
    from breakeven.actions.campaigns import find_campaign, is_campaign  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.launch import LaunchOptions, render_campaign  # noqa: PLC0415
    from breakeven.errors import InputError  # noqa: PLC0415

    if is_campaign(arguments.work):
        return find_campaign(arguments.work)
    if arguments.on is None:
        raise InputError("missing-option", key="--on")
    options = LaunchOptions(
        engine=arguments.on, gpus=arguments.gpu, offer_ids=arguments.offer, count=arguments.count, job=arguments.job,
        command=arguments.command, carried=arguments.carried, data=arguments.data, steps=arguments.steps,
        time_s=arguments.time_limit, usd=arguments.spend_limit, idle_s=arguments.idle_limit,
        environment=arguments.env, host=arguments.host_check, settings=arguments.set, url=arguments.url,
        is_installed=arguments.installed, folder=arguments.output, books=arguments.offers, store=arguments.store,
        as_of=arguments.as_of, runs=arguments.runs,
    )  # fmt: skip
    return render_campaign(arguments.work, options)


def _place(arguments: Any) -> Place:
    from breakeven.actions.campaigns import Place  # noqa: PLC0415

    return Place(runs=arguments.runs, store=arguments.store)


def run_render(arguments: Any) -> int:
    """Write the files."""
    return _tell(_rendered(arguments), arguments, is_planned=True)


def run_submit(arguments: Any) -> int:
    """Show the plan, ask, and start."""
    from breakeven.actions.campaigns import drive, launcher_of, submit_all  # noqa: PLC0415
    from breakeven.errors import ExternalError  # noqa: PLC0415

    campaign = _rendered(arguments)
    launcher = launcher_of(campaign)
    if not arguments.yes:
        _confirm(campaign, arguments)
    elif not arguments.quiet:
        sys.stderr.write(_planned_text(campaign, arguments))
    place = _place(arguments)
    if not (arguments.wait or campaign.engine == "local"):
        started = submit_all(campaign, launcher, place)
        status = _tell(campaign, arguments)
        return status if started else ExternalError.exit_status
    show = None if arguments.quiet else _shower(arguments)
    return _tell(campaign, arguments, standing=drive(campaign, launcher, place, show))


def _planned_text(campaign: Campaign, arguments: Any) -> str:
    from breakeven.reporting.launch_text import planned_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    return planned_text(campaign, Words(arguments.locale), style_of(arguments), is_next=False)


def _confirm(campaign: Campaign, arguments: Any) -> None:
    """Show the plan, its cost and its limits, and wait for a yes.

    Raises: InputError `not-confirmed`.
    """
    from breakeven.errors import InputError  # noqa: PLC0415

    sys.stderr.write(_planned_text(campaign, arguments))
    if not sys.stdin.isatty():
        raise InputError("not-confirmed", key="--yes")
    sys.stderr.write(translated("Start it? [y/N] ", arguments.locale))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes", "o", "oui"}:
        raise InputError("not-confirmed", key="--yes")


def _shower(arguments: Any) -> Any:
    from breakeven.reporting.launch_text import progress_line  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words, last = Words(arguments.locale), [""]

    def show(campaign: Campaign) -> None:
        line = progress_line(campaign, words)
        if line != last[0]:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        last[0] = line

    return show


def run_status(arguments: Any) -> int:
    """How a campaign stands."""
    from breakeven.actions.campaigns import find_campaign, launcher_of, refresh, within_budget  # noqa: PLC0415

    campaign, place = find_campaign(arguments.campaign, arguments.runs), _place(arguments)
    if any(one.is_live for one in campaign.candidates):
        launcher = launcher_of(campaign)
        refresh(campaign, launcher, place)
        within_budget(campaign, launcher, place)
    return _tell(campaign, arguments)


def run_collect(arguments: Any) -> int:
    """Bring in what there is."""
    from breakeven.actions.campaigns import collect, find_campaign, launcher_of, refresh, standings  # noqa: PLC0415

    campaign, place = find_campaign(arguments.campaign, arguments.runs), _place(arguments)
    if any(one.is_live for one in campaign.candidates):
        refresh(campaign, launcher_of(campaign), place)
    collect(campaign, place)
    return _tell(campaign, arguments, standing=standings(campaign, place))


def run_stop(arguments: Any) -> int:
    """End what runs."""
    from breakeven.actions.campaigns import find_campaign, launcher_of, stop  # noqa: PLC0415

    campaign, place = find_campaign(arguments.campaign, arguments.runs), _place(arguments)
    launcher = launcher_of(campaign, needs_engine=any(one.is_live for one in campaign.candidates))
    stop(campaign, launcher, place, name=arguments.candidate)
    return _tell(campaign, arguments)


def _tell(
    campaign: Campaign, arguments: Any, *, is_planned: bool = False, standing: Standings | None = None
) -> int:  # fmt: skip
    from time import time  # noqa: PLC0415

    from breakeven.errors import UndecidableError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.launch_text import campaign_document, campaign_text, planned_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)
    if arguments.json:
        sys.stdout.write(dumps(campaign_document(campaign, time(), standing, words)))
    elif is_planned:
        sys.stdout.write(planned_text(campaign, words, style_of(arguments)))
    else:
        sys.stdout.write(campaign_text(campaign, time(), standing, words, style_of(arguments)))
    has_answer = standing is None or standing.winner is not None
    return 0 if has_answer else UndecidableError.exit_status
