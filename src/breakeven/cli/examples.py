"""`breakeven examples [-o FOLDER]`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `examples`."""
    parser.add_argument("-o", "--output", metavar="FOLDER", help=translated("write them to this folder", locale))
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven examples -o demo", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """List the examples, or write them."""
    from breakeven.actions.examples import example_paths, write_examples  # noqa: PLC0415
    from breakeven.actions.job_files import load_job  # noqa: PLC0415 - `--help` does without
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    paths = example_paths() if arguments.output is None else write_examples(arguments.output)
    words = Words(arguments.locale)
    told = {
        path: words("the shipped offers book") if path.suffix == ".csv" else load_job(path).describe or ""
        for path in paths
    }
    if arguments.json:
        rows = [{"name": path.name, "path": str(path), "describe": text} for path, text in told.items()]
        sys.stdout.write(dumps({"examples": rows}))
        return 0
    width = max(len(path.name) for path in paths)
    for path, text in told.items():
        sys.stdout.write(f"{path.name.ljust(width)}  {text}\n")
    if arguments.output is None:
        sys.stdout.write("\n" + words("Write them with: breakeven examples -o FOLDER") + "\n")
    else:
        sys.stdout.write("\n" + words("Written to {folder}.", folder=arguments.output) + "\n")
    return 0
