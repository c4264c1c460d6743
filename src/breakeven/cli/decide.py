"""`breakeven decide JOB...`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_market_options, add_output_options, import_teller, style_of
from breakeven.errors import InputError, UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `decide`."""
    parser.add_argument("jobs", metavar="JOB", nargs="+", help=translated("a job file (YAML)", locale))
    parser.add_argument("--all", action="store_true", help=translated("show every line of the book", locale))
    parser.add_argument(
        "--stale-after",
        metavar="DAYS",
        type=_days,
        default=7,
        help=translated("days after which a price is called stale (default: 7)", locale),
    )
    parser.add_argument(
        "--what-if",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=translated("decide with this key of the job changed, and say what that moves (repeatable)", locale),
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help=translated("keep the decision for 'breakeven watch': jobs, prices, digest", locale),
    )
    add_market_options(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven decide job.yaml --as-of 2026-10-19", locale)
    parser.set_defaults(run=run)


def _days(text: str) -> int:
    """A number of days."""
    from breakeven.errors import InputError  # noqa: PLC0415 - rarely asked for

    if not text.isascii() or not text.isdigit() or len(text) > 5:
        raise InputError("not-whole", key="--stale-after", text=text)
    return int(text)


def run(arguments: Any) -> int:
    """Decide each job and print the decisions."""
    from breakeven.actions.days import read_day  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.decide import decide_all, plan_month  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.job_files import load_job  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.market import load_offers_for  # noqa: PLC0415 - `--help` does without
    from breakeven.jobs.changes import parse_change  # noqa: PLC0415
    from breakeven.reporting.terminal import decision_text, month_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    if arguments.what_if and arguments.record:
        raise InputError("bad-command-line", problem="--record --what-if", command="breakeven decide")
    day = read_day(arguments.as_of)
    changes = [parse_change(text) for text in arguments.what_if]
    jobs = [load_job(path, on_import=import_teller(path, arguments), changes=changes) for path in arguments.jobs]
    as_written = [load_job(path) for path in arguments.jobs] if changes else []
    offers = load_offers_for(
        [*jobs, *as_written],
        day,
        arguments.offers,
        amounts=arguments.amounts,
        store=arguments.store,
        rates=arguments.rates,
        all_lines=arguments.all,
    )
    rules: dict[str, Any] = {
        "offers": offers,
        "as_of": day,
        "all_lines": arguments.all,
        "stale_days": arguments.stale_after,
        "store": arguments.store,
    }
    decisions = decide_all(jobs, **rules)
    before = decide_all(as_written, **rules)
    words = [
        Words(arguments.locale, {option.offer.id: option.offer for option in decision.options})
        for decision in decisions
    ]
    month = plan_month(decisions, offers)
    document = {}
    if arguments.json or arguments.record:
        from breakeven.reporting.json_documents import decisions_document, dumps  # noqa: PLC0415 - text does without

        document = decisions_document(decisions, day, words, month, before)
    if arguments.record:
        from breakeven.actions.records import make_record, write_record  # noqa: PLC0415 - only when asked

        record = make_record(
            arguments.jobs, document, arguments.offers, amounts=arguments.amounts, rates=arguments.rates
        )
        write_record(arguments.record, record)
    if arguments.json:
        sys.stdout.write(dumps(document))
    else:
        style = style_of(arguments)
        reports = [
            decision_text(decision, own, style, all_lines=arguments.all)
            for decision, own in zip(decisions, words, strict=True)
        ]
        if before:
            from breakeven.reporting.what_if_text import what_if_text  # noqa: PLC0415 - only when asked

            moved = zip(before, decisions, words, reports, strict=True)
            reports = [what_if_text(arguments.what_if, one, decision, own) + text for one, decision, own, text in moved]
        if month is not None and month.options:
            reports.append(month_text(month, Words(arguments.locale), style))
        sys.stdout.write("\n\n".join(reports))
    return UndecidableError.exit_status if any(decision.choice is None for decision in decisions) else 0
