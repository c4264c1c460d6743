"""`breakeven predict JOB`."""

from __future__ import annotations

import sys

from breakeven.cli.options import add_output_options, add_store_option, import_teller, style_of
from breakeven.errors import UndecidableError
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `predict`."""
    parser.add_argument("job", metavar="JOB", help=translated("a job file (YAML)", locale))
    parser.add_argument(
        "--gpu",
        metavar="GPU",
        action="append",
        default=[],
        help=translated("an exact SKU (repeatable; default: those of the job, or every GPU for rent)", locale),
    )
    parser.add_argument(
        "--as-of",
        metavar="DATE",
        help=translated("the day whose software the job runs with, such as 2026-10-19 (default: today)", locale),
    )
    add_store_option(parser, locale)
    add_output_options(parser, locale)
    parser.epilog = translated("Example: breakeven predict job.yaml --gpu nvidia-h100-sxm-80gb", locale)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Predict the job on each GPU and print what is expected."""
    from breakeven.actions.job_files import load_job  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.predict import predict  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.prediction_text import prediction_document, prediction_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    job = load_job(arguments.job, on_import=import_teller(arguments.job, arguments))
    prediction = predict(job, gpus=arguments.gpu or None, as_of=arguments.as_of, store=arguments.store)
    words = Words(arguments.locale)
    if arguments.json:
        sys.stdout.write(dumps(prediction_document(prediction, words)))
    else:
        sys.stdout.write(prediction_text(prediction, words, style_of(arguments)))
    is_told = any(one.throughput is not None for one in prediction.forecasts)
    return 0 if is_told else UndecidableError.exit_status
