"""`breakeven bench train`, and `bench compare` of trainings."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_store_option, number, several, style_of, whole_number
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any

    from breakeven.bench.report import TrainReport
    from breakeven.reporting.translations import Locale


def add_train(add: Callable[[str, str, str], ArgumentParser], locale: Locale) -> ArgumentParser:
    """The arguments of `bench train`."""
    parser = add(
        "train",
        "run a training under watch: its steps, what failed, where the paid time went",
        "Example: breakeven bench train --gpu nvidia-a100-sxm-80gb -- torchrun --nproc-per-node 8 train.py",
    )
    parser.add_argument("command", metavar="COMMAND", nargs="*", help=translated("after --, what to run", locale))
    work = parser.add_argument_group(translated("work", locale))
    told = translated("a locked plan (YAML) that the training shall follow", locale)
    work.add_argument("--plan", metavar="PLAN", help=told)
    told = translated("end, with a checkpoint, once the comparison with that run is settled", locale)
    work.add_argument("--until-settled", metavar="RUN", help=told)
    told = translated("ratio of that run's time over this one's at which both cost the same (default: prices)", locale)
    work.add_argument("--break-even", metavar="X", type=number("--break-even"), help=told)
    told = translated("accept that the runs differ in this (repeatable)", locale)
    work.add_argument("--accept", metavar="NAME", action="append", default=[], help=told)
    told = translated("first steps that are left out (default: the plan's, or 5)", locale)
    work.add_argument("--warm-up", metavar="N", type=whole_number("--warm-up"), help=told)
    run = parser.add_argument_group(translated("run", locale))
    told = translated("start it again when it fails, that often (default: 0)", locale)
    run.add_argument("--restarts", metavar="N", type=whole_number("--restarts"), default=0, help=told)
    told = translated("end it after that many seconds, with a checkpoint", locale)
    run.add_argument("--time-limit", metavar="S", type=number("--time-limit"), help=told)
    told = translated("end it when it has cost that much, with a checkpoint", locale)
    run.add_argument("--spend-limit", metavar="USD", type=number("--spend-limit"), help=told)
    machine = parser.add_argument_group(translated("machine", locale))
    told = translated("the job that is measured: its decisions rest on the result", locale)
    machine.add_argument("--job", metavar="JOB", help=told)
    told = translated("the exact SKU that trains (default: what NVML says); its offers give the cost", locale)
    machine.add_argument("--gpu", metavar="GPU", help=told)
    told = translated("how many of them it trains on (default: as many as it sees)", locale)
    machine.add_argument("--gpus", metavar="N", type=whole_number("--gpus"), help=told)
    told = translated("what the machine costs per hour, instead", locale)
    machine.add_argument("--usd-per-h", metavar="X", type=number("--usd-per-h"), help=told)
    told = translated("use this book alone (CSV or YAML; repeatable)", locale)
    machine.add_argument("--offers", metavar="PATH", action="append", default=[], help=told)
    add_store_option(machine, locale)
    parser.set_defaults(run=run_train)
    return parser


def run_train(arguments: Any) -> int:
    """Run a training under watch."""
    from breakeven.actions.training import TrainOptions, bench_train  # noqa: PLC0415 - `--help` does without
    from breakeven.bench.report import Machine  # noqa: PLC0415

    machine = Machine(job=arguments.job, gpu=arguments.gpu, usd_per_h=arguments.usd_per_h)
    options = TrainOptions(
        runs=arguments.runs, restarts=arguments.restarts, time_s=arguments.time_limit, usd=arguments.spend_limit,
        until_settled=arguments.until_settled, break_even=arguments.break_even, accepts=arguments.accept,
        warm_up=arguments.warm_up, gpus=arguments.gpus,
    )  # fmt: skip
    report = bench_train(
        arguments.command, plan_path=arguments.plan, machine=machine, options=options, offers=arguments.offers,
        store=arguments.store, echo=None if arguments.quiet else _echo(arguments),
    )  # fmt: skip
    return tell_training(report, arguments, has_output=not arguments.quiet)


def _echo(arguments: Any) -> Callable[[bytes], None]:
    """Shows what the training writes, on standard error where the answer is a JSON document."""
    stream = sys.stderr.buffer if arguments.json else sys.stdout.buffer

    def show(got: bytes) -> None:
        stream.write(got)
        stream.flush()

    return show


def tell_training(report: TrainReport, arguments: Any, *, has_output: bool = False) -> int:
    """Print a recorded training; the exit status is 1 for a training that failed, 3 for one that tells nothing."""
    from breakeven.errors import ExternalError, UndecidableError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.train_documents import train_document  # noqa: PLC0415
    from breakeven.reporting.train_text import train_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)
    if arguments.json:
        sys.stdout.write(dumps(train_document(report, words)))
    else:
        sys.stdout.write("\n" * has_output + train_text(report, words, style_of(arguments)))
    if report.has_failed:
        return ExternalError.exit_status
    return UndecidableError.exit_status if report.why_void is not None else 0


def add_pair_options(parser: ArgumentParser, locale: Locale) -> None:
    """The options of `bench compare` that are about trainings."""
    told = translated("ratio of A's time over B's at which both cost the same (default: from prices)", locale)
    parser.add_argument("--break-even", metavar="X", type=number("--break-even"), help=told)
    told = translated("what each machine costs per hour, A,B", locale)
    parser.add_argument("--usd-per-h", metavar="A,B", type=several(number("--usd-per-h")), help=told)
    told = translated("what all work to come costs on A: less at stake than a block costs settles it", locale)
    parser.add_argument("--work-usd", metavar="X", type=number("--work-usd"), help=told)
    told = translated("first steps of each that are left out (default: as each run says, 1 for files)", locale)
    parser.add_argument("--warm-up", metavar="N", type=whole_number("--warm-up"), help=told)
    told = translated("look again every few seconds, until it is settled or both have ended", locale)
    parser.add_argument("--follow", action="store_true", help=told)
    told = translated("use this book alone (CSV or YAML; repeatable)", locale)
    parser.add_argument("--offers", metavar="PATH", action="append", default=[], help=told)
    add_store_option(parser, locale)


def prices_told(arguments: Any) -> tuple[float, float] | None:
    """What both machines cost per hour, as told."""
    from breakeven.errors import InputError  # noqa: PLC0415 - rarely asked for

    prices = arguments.usd_per_h
    if prices is None:
        return None
    if len(prices) != 2:
        raise InputError("not-a-range", key="--usd-per-h", found=len(prices))
    return prices[0], prices[1]


def run_pair(arguments: Any) -> int:
    """Hold two trainings, or two files of step times, against each other."""
    from breakeven.actions.paired import Against, compare_pair, follow_pair  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.replay_documents import paired_document  # noqa: PLC0415
    from breakeven.reporting.replay_text import paired_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    against = Against(
        break_even=arguments.break_even, usd_per_h=prices_told(arguments), work_usd=arguments.work_usd,
        warm_up=arguments.warm_up, accepts=arguments.accept, runs=arguments.runs, offers=arguments.offers,
        store=arguments.store,
    )  # fmt: skip
    words = Words(arguments.locale)
    if arguments.follow:
        shown = None if arguments.quiet or not sys.stderr.isatty() else _show_standing(words)
        found = follow_pair(arguments.first, arguments.second, against, shown)
    else:
        found = compare_pair(arguments.first, arguments.second, against)
    if arguments.json:
        sys.stdout.write(dumps(paired_document(found)))
    else:
        sys.stdout.write(paired_text(found, words, style_of(arguments)))
    return 0


def _show_standing(words: Any) -> Callable[[Any], None]:
    from breakeven.reporting.replay_text import standing_line  # noqa: PLC0415

    def show(found: Any) -> None:
        sys.stderr.write(f"\r{standing_line(found, words):<78}")
        sys.stderr.flush()

    return show
