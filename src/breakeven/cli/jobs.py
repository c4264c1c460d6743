"""`breakeven jobs import FILE [-o JOB]`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options, style_of
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `jobs`."""
    verbs = parser.add_subparsers(dest="verb", metavar="import", required=True)
    told = translated("a job file from the configuration of another tool; what that leaves open is asked for", locale)
    importing = verbs.add_parser("import", help=told, description=told, allow_abbrev=False)
    importing.add_argument(
        "file",
        metavar="FILE",
        help=translated(
            "axolotl, LLaMA-Factory, torchtune, TrainingArguments, or a text with a vllm or sglang command line",
            locale,
        ),
    )
    importing.add_argument("-o", "--output", metavar="JOB", help=translated("write the job file here", locale))
    add_output_options(importing, locale)
    importing.epilog = translated("Example: breakeven jobs import qlora.yml -o job.yaml", locale)
    importing.set_defaults(run=run_import)


def run_import(arguments: Any) -> int:
    """Print or write the job file, and report what became of every key."""
    from breakeven.actions.jobs_import import import_job, write_job  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.import_text import import_document, import_report, job_file_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    imported = import_job(arguments.file)
    words = Words(arguments.locale)
    name = arguments.file.replace("\\", "/").rpartition("/")[2]
    text = job_file_text(imported, name, words)
    if arguments.output is not None:
        write_job(arguments.output, text)
    if arguments.json:
        from breakeven.reporting.json_documents import dumps  # noqa: PLC0415 - text does without

        sys.stdout.write(dumps(import_document(imported, arguments.file, arguments.output, words)))
        return 0
    report = import_report(imported, name, words, style_of(arguments))
    if arguments.output is not None:
        sys.stdout.write(report + "\n" + words("The job file is in {file}.", file=arguments.output) + "\n")
        return 0
    if not arguments.quiet:
        sys.stderr.write(report + "\n")
    sys.stdout.write(text)
    return 0
