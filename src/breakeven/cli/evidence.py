"""`breakeven evidence list|show|add|remove|import|check`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options, add_store_option, number, style_of, verb_adder, whole_number
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale

_MEASURED = ("hours", "tokens_per_s", "peak_memory_gb", "ttft_ms", "tpot_ms", "concurrency")


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `evidence`."""
    add = verb_adder(parser, "list|show|add|remove|import|check", locale)
    listing = add(
        "list",
        "what has been measured, by source, model and GPU",
        "Example: breakeven evidence list --model llama-3.1-8b --gpu h100",
    )
    _add_kind(listing, locale)
    listing.add_argument("--gpu", metavar="TEXT", help=translated("words that GPU ids hold, such as h100", locale))
    listing.add_argument("--model", metavar="TEXT", help=translated("words that model names hold", locale))
    listing.add_argument("--source", metavar="TEXT", help=translated("words that sources hold", locale))
    listing.add_argument("--own", action="store_true", help=translated("only your own", locale))
    listing.set_defaults(run=run_list)
    showing = add("show", "one measurement in full, with its source", "Example: breakeven evidence show qwen-0001")
    showing.add_argument("id", metavar="ID", help=translated("the id of a measurement", locale))
    showing.set_defaults(run=run_show)
    adding = add(
        "add",
        "record one measured run of a job: it narrows what is predicted for the same stack",
        "Example: breakeven evidence add job.yaml --gpu nvidia-a100-sxm-80gb --hours 1.5",
    )
    adding.add_argument("job", metavar="JOB", help=translated("a job file (YAML)", locale))
    adding.add_argument("--gpu", metavar="GPU", required=True, help=translated("an exact SKU", locale))
    adding.add_argument(
        "--gpus",
        metavar="N",
        type=whole_number("--gpus", most=100_000),
        default=1,
        help=translated("GPUs it ran on", locale),
    )
    told = (
        translated("hours of one attempt", locale),
        translated("tokens per second and GPU (of output where a model is served)", locale),
        translated("peak memory of one GPU, in GB", locale),
        translated("median time to first token, in ms", locale),
        translated("median time per output token, in ms", locale),
        translated("requests in flight while it was measured", locale),
    )
    for name, text in zip(_MEASURED, told, strict=True):
        option = "--" + name.replace("_", "-")
        adding.add_argument(option, dest=name, metavar="X", type=number(option), help=text)
    adding.add_argument("--date", metavar="DATE", help=translated("when it ran (default: today)", locale))
    adding.set_defaults(run=run_add)
    removing = add(
        "remove",
        "take back a measurement of your own, such as one with a slip in it",
        "Example: breakeven evidence remove own-0123456789",
    )
    removing.add_argument("id", metavar="ID", help=translated("the id of a measurement", locale))
    removing.set_defaults(run=run_remove)
    importing = add(
        "import",
        "record the measurements of a table (CSV) as your own",
        "Example: breakeven evidence import fleet.csv --kind train",
    )
    importing.set_defaults(run=run_import)
    checking = add(
        "check",
        "predict every row of a table without its result, and tell how wrong the predictions are",
        "Example: breakeven evidence check fleet.csv --calibrate one-row",
    )
    checking.add_argument(
        "--calibrate",
        choices=("none", "one-row"),
        default="none",
        help=translated("give each row one other of its stack, model and GPU (default: none)", locale),
    )
    checking.set_defaults(run=run_check)
    for verb in (importing, checking):
        verb.add_argument("file", metavar="FILE", help=translated("a measurement table (CSV)", locale))
        _add_kind(verb, locale)
    for verb in (listing, showing, adding, removing, importing, checking):
        add_store_option(verb, locale)
        add_output_options(verb, locale)


def _add_kind(parser: ArgumentParser, locale: Locale) -> None:
    parser.add_argument(
        "--kind", choices=("train", "serve"), help=translated("training or serving (default: by the columns)", locale)
    )


def run_list(arguments: Any) -> int:
    """Print what has been measured."""
    from breakeven.actions.evidence import list_evidence  # noqa: PLC0415 - `--help` does without
    from breakeven.evidence.groups import EvidenceFilter  # noqa: PLC0415
    from breakeven.reporting.evidence_documents import evidence_document  # noqa: PLC0415
    from breakeven.reporting.evidence_text import evidence_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    wanted = EvidenceFilter(arguments.kind, arguments.gpu, arguments.model, arguments.source, arguments.own)
    groups = list_evidence(wanted, store=arguments.store)
    if arguments.json:
        sys.stdout.write(dumps(evidence_document(groups)))
    else:
        sys.stdout.write(evidence_text(groups, Words(arguments.locale), style_of(arguments)))
    return 0


def run_show(arguments: Any) -> int:
    """Print one measurement."""
    from breakeven.actions.evidence import show_evidence  # noqa: PLC0415

    return _show(show_evidence(arguments.id, store=arguments.store), arguments)


def _show(row: Any, arguments: Any) -> int:
    from breakeven.reporting.evidence_documents import measurement_document  # noqa: PLC0415
    from breakeven.reporting.evidence_text import measurement_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    if arguments.json:
        sys.stdout.write(dumps(measurement_document(row)))
    else:
        sys.stdout.write(measurement_text(row, Words(arguments.locale), style_of(arguments)))
    return 0


def run_add(arguments: Any) -> int:
    """Record one measured run."""
    from breakeven.actions.evidence import Results, add_measurement  # noqa: PLC0415

    results = Results(**{name: getattr(arguments, name) for name in _MEASURED})
    row = add_measurement(
        arguments.job, arguments.gpu, arguments.gpus, results, day=arguments.date, store=arguments.store
    )
    return _show(row, arguments)


def run_remove(arguments: Any) -> int:
    """Take back a measurement."""
    from breakeven.actions.evidence import remove_measurement  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    remove_measurement(arguments.id, store=arguments.store)
    if arguments.json:
        sys.stdout.write(dumps({"removed": arguments.id}))
    else:
        words = Words(arguments.locale)
        sys.stdout.write(words("Removed: {id}.", id=arguments.id) + "\n")
    return 0


def run_import(arguments: Any) -> int:
    """Record the measurements of a table."""
    from breakeven.actions.evidence import import_table  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    read, new = import_table(arguments.file, kind=arguments.kind, store=arguments.store)
    if arguments.json:
        sys.stdout.write(dumps({"read": read, "new": new}))
    else:
        words = Words(arguments.locale)
        text = words.count(read, "{n} measurement read, {new} new.", "{n} measurements read, {new} new.", new=new)
        sys.stdout.write(text + "\n")
    return 0


def run_check(arguments: Any) -> int:
    """Predict the rows of a table and compare."""
    from breakeven.actions.evidence import check_table  # noqa: PLC0415
    from breakeven.reporting.evidence_documents import check_document  # noqa: PLC0415
    from breakeven.reporting.evidence_text import check_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    is_shown = sys.stderr.isatty() and not arguments.quiet

    def progress(done: int, total: int) -> None:
        if done % 50 == 0 or done == total:
            sys.stderr.write(f"\r{done}/{total}" + ("\n" if done == total else ""))

    report = check_table(
        arguments.file,
        kind=arguments.kind,
        calibrate=arguments.calibrate == "one-row",
        store=arguments.store,
        progress=progress if is_shown else None,
    )
    if arguments.json:
        sys.stdout.write(dumps(check_document(report)))
    else:
        sys.stdout.write(check_text(report, Words(arguments.locale), style_of(arguments)))
    return 0
