"""`breakeven bench plan|serve|train|calibrate|host|import|list|show|compare`."""

from __future__ import annotations

import sys

from breakeven.cli.bench_train import add_pair_options, add_train, prices_told, run_pair, tell_training
from breakeven.cli.options import (
    add_output_options,
    add_store_option,
    number,
    several,
    style_of,
    verb_adder,
    whole_number,
)
from breakeven.reporting.translations import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any

    from breakeven.reporting.translations import Locale


def add_arguments(parser: ArgumentParser, locale: Locale) -> None:
    """The arguments of `bench`."""
    add = verb_adder(parser, "plan|serve|train|calibrate|host|import|list|show|compare", locale)
    planning = add(
        "plan",
        "a locked plan for a job: of a replay (prompts, load, acceptance) or of a training, for every candidate",
        "Example: breakeven bench plan serve-8b.yaml -o plan.yaml",
    )
    planning.add_argument("job", metavar="JOB", help=translated("a job file (YAML)", locale))
    planning.add_argument("-o", "--output", metavar="F", help=translated("write it to this file", locale))
    told = translated("what is trained on, a file or folder: its digest is locked", locale)
    planning.add_argument("--data", metavar="PATH", help=told)
    told = translated("optimizer steps of a training (default: 600)", locale)
    planning.add_argument("--steps", metavar="N", type=whole_number("--steps"), help=told)
    planning.set_defaults(run=run_plan)
    serving = add(
        "serve",
        "replay a plan against an OpenAI-compatible server, and say what a million accepted tokens cost",
        "Example: breakeven bench serve plan.yaml --url http://localhost:8000 --gpu nvidia-a100-sxm-80gb",
    )
    serving.add_argument("plan", metavar="PLAN", nargs="?", help=translated("a plan file (YAML)", locale))
    _add_serving(serving, locale)
    serving.set_defaults(run=run_serve)
    training = add_train(add, locale)
    calibrating = add(
        "calibrate",
        "how true our own time stamps are on this machine, against a server of known times",
        "Example: breakeven bench calibrate --concurrency 256",
    )
    told = translated("requests in flight", locale)
    calibrating.add_argument("--concurrency", metavar="N", type=whole_number("--concurrency"), default=64, help=told)
    told = translated("time between tokens, in ms", locale)
    calibrating.add_argument("--gap-ms", metavar="X", type=number("--gap-ms"), default=20.0, help=told)
    calibrating.add_argument(
        "--seconds", metavar="X", type=number("--seconds"), default=3.0, help=translated("how long", locale)
    )
    _add_clock(calibrating, locale)
    calibrating.set_defaults(run=run_calibrate)
    hosting = _add_host(add, locale)
    importing = _add_import(add, locale)
    listing = add("list", "the runs there are, newest first", "Example: breakeven bench list")
    listing.set_defaults(run=run_list)
    showing = add(
        "show", "the numbers of a run, made again from its recording", "Example: breakeven bench show 20261201"
    )
    showing.add_argument("id", metavar="RUN", help=translated("the id of a run, its beginning, or its folder", locale))
    told = translated("let checks of the plan run programs", locale)
    showing.add_argument("--allow-commands", action="store_true", help=told)
    told = translated("draw the replay into this folder (SVG; needs the extra report)", locale)
    showing.add_argument("--plots", metavar="FOLDER", help=told)
    told = translated("count the tokens of the answers by this tokenizer.json too (needs the extra tokens)", locale)
    showing.add_argument("--tokenizer", metavar="F", help=told)
    add_store_option(showing, locale)
    showing.set_defaults(run=run_show)
    comparing = add(
        "compare",
        "two runs of the same work against each other: is the second worth its price?",
        "Example: breakeven bench compare a100.csv h100.csv --break-even 1.8",
    )
    comparing.add_argument(
        "first", metavar="A", help=translated("the id of a run, its beginning, or its folder", locale)
    )
    comparing.add_argument("second", metavar="B", help=translated("the id of another", locale))
    told = translated("accept that the servers differ in this (repeatable)", locale)
    comparing.add_argument("--accept", metavar="NAME", action="append", default=[], help=told)
    add_pair_options(comparing, locale)
    comparing.set_defaults(run=run_compare)
    for verb in (serving, training, importing, listing, showing, comparing):
        told = translated("where runs are kept (default: BREAKEVEN_RUNS, or the user's data folder)", locale)
        verb.add_argument("--runs", metavar="FOLDER", help=told)
    for verb in (planning, serving, training, calibrating, hosting, importing, listing, showing, comparing):
        add_output_options(verb, locale)


def _add_host(add: Callable[[str, str, str], ArgumentParser], locale: Locale) -> ArgumentParser:
    parser = add(
        "host",
        "an acceptance test of a rented machine: is each GPU as fast as its SKU, and what is around it",
        "Example: breakeven bench host --gpu nvidia-h100-sxm-80gb --folder /workspace",
    )
    told = translated("the exact SKU that was rented (default: what each GPU calls itself)", locale)
    parser.add_argument("--gpu", metavar="GPU", help=told)
    told = translated("how long the GPUs are held under load (default: 20)", locale)
    parser.add_argument("--seconds", metavar="X", type=number("--seconds"), default=20.0, help=told)
    told = translated("measure how fast this address is downloaded from (http or https)", locale)
    parser.add_argument("--download", metavar="U", help=told)
    told = translated("measure the disk of this folder (default: the current one)", locale)
    parser.add_argument("--folder", metavar="FOLDER", default=".", help=told)
    told = translated("the Python of the environment with torch (default: this one)", locale)
    parser.add_argument("--python", metavar="F", help=told)
    parser.set_defaults(run=run_host)
    return parser


def _add_import(add: Callable[[str, str, str], ArgumentParser], locale: Locale) -> ArgumentParser:
    importing = add(
        "import",
        "results of vllm bench serve, guidellm or aiperf, or the log of a training, as measurements of a job",
        "Example: breakeven bench import result.json --job serve-8b.yaml --gpu nvidia-a100-sxm-80gb",
    )
    told = translated("a result file (JSON), or a training's log, all its parts", locale)
    importing.add_argument("files", metavar="F", nargs="+", help=told)
    importing.add_argument("--job", metavar="JOB", help=translated("a job file (YAML)", locale))
    importing.add_argument("--gpu", metavar="GPU", help=translated("an exact SKU", locale))
    importing.add_argument(
        "--gpus", metavar="N", type=whole_number("--gpus"), default=1, help=translated("how many of them", locale)
    )
    importing.add_argument("--date", metavar="DATE", help=translated("when it ran (default: today)", locale))
    add_store_option(importing, locale)
    importing.set_defaults(run=run_import)
    return importing


def _add_serving(parser: ArgumentParser, locale: Locale) -> None:
    work = parser.add_argument_group(translated("work (a locked plan says it)", locale))
    work.add_argument("--url", metavar="U", help=translated("the server's root, or its address ending in /v1", locale))
    work.add_argument("--model", metavar="M", help=translated("the model as this server names it", locale))
    work.add_argument(
        "--concurrency",
        metavar="1,4,16",
        type=several(whole_number("--concurrency")),
        help=translated("requests in flight, step by step", locale),
    )
    work.add_argument(
        "--rates",
        metavar="1,2.5",
        type=several(number("--rates")),
        help=translated("requests per second, step by step", locale),
    )
    work.add_argument(
        "--requests", metavar="N", type=whole_number("--requests"), help=translated("requests per step", locale)
    )
    work.add_argument(
        "--max-tokens",
        metavar="N",
        type=whole_number("--max-tokens"),
        help=translated("tokens of an answer, at most", locale),
    )
    work.add_argument(
        "--input-tokens",
        metavar="N",
        type=whole_number("--input-tokens"),
        help=translated("tokens of a generated prompt, about", locale),
    )
    work.add_argument(
        "--prompts", metavar="F", help=translated("prompts of your own, one JSON object per line", locale)
    )
    work.add_argument(
        "--api", choices=("chat", "completions"), help=translated("which API is asked (default: chat)", locale)
    )
    told = translated("take answers of any length, and do not ask for ignore_eos", locale)
    work.add_argument("--any-length", action="store_true", help=told)
    work.add_argument(
        "--ramp",
        metavar="S",
        type=number("--ramp", allows_zero=True),
        help=translated("over how many seconds streams begin (default: 2)", locale),
    )
    machine = parser.add_argument_group(translated("machine", locale))
    told = translated("the job that is measured: its decisions rest on the result", locale)
    machine.add_argument("--job", metavar="JOB", help=told)
    machine.add_argument(
        "--gpu", metavar="GPU", help=translated("the exact SKU that serves; its offers give the cost", locale)
    )
    machine.add_argument(
        "--gpus", metavar="N", type=whole_number("--gpus"), default=1, help=translated("how many of them", locale)
    )
    told = translated("what the machine costs per hour, instead", locale)
    machine.add_argument("--usd-per-h", metavar="X", type=number("--usd-per-h"), help=told)
    told = translated("use this book alone (CSV or YAML; repeatable)", locale)
    machine.add_argument("--offers", metavar="PATH", action="append", default=[], help=told)
    add_store_option(machine, locale)
    run = parser.add_argument_group(translated("run", locale))
    run.add_argument("--resume", metavar="RUN", help=translated("go on with a run where it stopped", locale))
    run.add_argument(
        "--workers",
        metavar="N",
        type=whole_number("--workers"),
        default=0,
        help=translated("processes (default: by the streams)", locale),
    )
    told = translated("let checks and the stop command of the plan run programs", locale)
    run.add_argument("--allow-commands", action="store_true", help=told)
    run.add_argument("--no-content", action="store_true", help=translated("keep neither prompts nor answers", locale))
    run.add_argument(
        "--no-calibrate", action="store_true", help=translated("skip the check of our own time stamps", locale)
    )
    run.add_argument("--ca", metavar="F", help=translated("certificates to trust (PEM)", locale))
    told = translated("the environment variable with the key (default: BREAKEVEN_API_KEY, OPENAI_API_KEY)", locale)
    run.add_argument("--key-from", metavar="NAME", help=told)
    run.add_argument(
        "--metrics", metavar="U", help=translated("a page of GPU metrics to read too, such as DCGM exporter's", locale)
    )
    _add_clock(run, locale)


def _add_clock(parser: Any, locale: Locale) -> None:
    told = translated("stamp with the process's clock, not the kernel's", locale)
    parser.add_argument("--clock-stamps", action="store_true", help=told)


def run_plan(arguments: Any) -> int:
    """Print or write a plan."""
    from breakeven.actions.train_plan import bench_plan  # noqa: PLC0415 - `--help` does without
    from breakeven.actions.writing import write_whole  # noqa: PLC0415
    from breakeven.jobs.locking import plan_document, written_plan  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415

    plan = bench_plan(arguments.job, data=arguments.data, steps=arguments.steps)
    if arguments.output is not None:
        write_whole(arguments.output, written_plan(plan).encode())
    if arguments.json:
        sys.stdout.write(dumps(plan_document(plan)))
    elif arguments.output is None:
        sys.stdout.write(written_plan(plan))
    return 0


def run_serve(arguments: Any) -> int:
    """Replay a plan."""
    from breakeven.actions.replay import RunOptions, bench_serve  # noqa: PLC0415
    from breakeven.actions.replay_plan import Changes  # noqa: PLC0415
    from breakeven.bench.report import Machine  # noqa: PLC0415

    changes = Changes(
        model=arguments.model, concurrency=arguments.concurrency, rates_per_s=arguments.rates,
        requests=arguments.requests, max_tokens=arguments.max_tokens, input_tokens=arguments.input_tokens,
        prompts=arguments.prompts, api=arguments.api, any_length=arguments.any_length, ramp_s=arguments.ramp,
    )  # fmt: skip
    machine = Machine(job=arguments.job, gpu=arguments.gpu, gpus=arguments.gpus, usd_per_h=arguments.usd_per_h)
    options = RunOptions(
        runs=arguments.runs, resume=arguments.resume, workers=arguments.workers, ca=arguments.ca,
        metrics_url=arguments.metrics, key_from=arguments.key_from, allows_commands=arguments.allow_commands,
        keeps_content=not arguments.no_content, is_stamped=not arguments.clock_stamps,
        calibrates=not arguments.no_calibrate,
    )  # fmt: skip
    report = bench_serve(
        arguments.plan, changes, url=arguments.url, machine=machine, options=options, offers=arguments.offers,
        store=arguments.store, progress=_progress(arguments),
    )  # fmt: skip
    return _report(report, arguments)


def _progress(arguments: Any) -> Any:
    if arguments.quiet or not sys.stderr.isatty():
        return None

    def show(now: Any) -> None:
        spent = "" if now.spent_usd is None else f"  ${now.spent_usd:.2f}"
        failed = f"  {now.failed} failed" if now.failed else ""
        latency = "" if now.ttft_ms is None else f"  TTFT {now.ttft_ms:.0f} ms"
        speed = "" if now.tokens_per_s is None else f"  {now.tokens_per_s:.0f} tokens/s"
        steps = f"{now.step + 1}/{now.steps}  {now.done}/{now.asked}{failed}"
        line = f"{steps}{latency}{speed}  {now.spent_s:.0f} s{spent}"
        sys.stderr.write(f"\r{line:<78}")
        sys.stderr.flush()

    return show


def _report(report: Any, arguments: Any) -> int:
    from breakeven.errors import UndecidableError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.replay_documents import replay_document  # noqa: PLC0415
    from breakeven.reporting.replay_text import replay_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    words = Words(arguments.locale)
    if not arguments.quiet and sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 78 + "\r")
    if arguments.json:
        sys.stdout.write(dumps(replay_document(report, words)))
    else:
        sys.stdout.write(replay_text(report, words, style_of(arguments)))
    return UndecidableError.exit_status if report.why_void is not None else 0


def run_calibrate(arguments: Any) -> int:
    """Measure our own stamps."""
    from breakeven.actions.replay import read_calibration  # noqa: PLC0415
    from breakeven.errors import UndecidableError  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    found = read_calibration(
        arguments.concurrency, arguments.gap_ms, arguments.seconds, is_stamped=not arguments.clock_stamps
    )
    if arguments.json:
        sys.stdout.write(dumps(found))
    else:
        words, error = Words(arguments.locale), found["stamp_error_ms"]
        text = words(
            "{events:number} tokens over {n} streams: stamps ({stamps:code}) were {p50:number} ms off (p50), "
            "{p99:number} ms (p99), {most:number} ms at most; the client used {share:pct} of a core.",
            events=found["events"], n=found["concurrency"], stamps=found["stamps"], p50=float(f"{error['p50']:.2g}"),
            p99=float(f"{error['p99']:.2g}"), most=float(f"{error['max']:.2g}"), share=100 * found["cpu_share"],
        )  # fmt: skip
        sys.stdout.write(text + "\n")
    return UndecidableError.exit_status if found["why_void"] else 0


def run_host(arguments: Any) -> int:
    """Test a rented machine."""
    from breakeven.actions.host import check_host  # noqa: PLC0415
    from breakeven.errors import UndecidableError  # noqa: PLC0415
    from breakeven.reporting.host_text import host_document, host_text  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    def show(what: str) -> None:
        sys.stderr.write(f"\r{what:<30}")
        sys.stderr.flush()

    is_shown = not arguments.quiet and sys.stderr.isatty()
    report = check_host(
        arguments.gpu, seconds=arguments.seconds, download=arguments.download, folder=arguments.folder,
        python=arguments.python, progress=show if is_shown else None,
    )  # fmt: skip
    if is_shown:
        sys.stderr.write("\r" + " " * 30 + "\r")
    words = Words(arguments.locale)
    if arguments.json:
        sys.stdout.write(dumps(host_document(report, words)))
    else:
        sys.stdout.write(host_text(report, words, style_of(arguments)))
    return 0 if report.is_accepted else UndecidableError.exit_status


def run_import(arguments: Any) -> int:
    """Take over the results of another tool."""
    from breakeven.actions.replay_evidence import import_results  # noqa: PLC0415
    from breakeven.actions.training_import import import_training, is_training_log  # noqa: PLC0415
    from breakeven.bench.report import Machine  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.replay_documents import imported_document  # noqa: PLC0415
    from breakeven.reporting.replay_text import imported_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    machine = Machine(job=arguments.job, gpu=arguments.gpu, gpus=arguments.gpus)
    if is_training_log(arguments.files):
        report = import_training(
            arguments.files, machine, day=arguments.date, runs=arguments.runs, store=arguments.store
        )
        return tell_training(report, arguments)
    made = import_results(arguments.files[0], machine, day=arguments.date, store=arguments.store)
    if arguments.json:
        sys.stdout.write(dumps(imported_document(made)))
    else:
        sys.stdout.write(imported_text(made, Words(arguments.locale), style_of(arguments)))
    return 0


def run_list(arguments: Any) -> int:
    """List the runs."""
    from breakeven.actions.runs import list_runs  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.replay_text import runs_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    runs = list_runs(arguments.runs)
    if arguments.json:
        sys.stdout.write(dumps({"runs": runs}))
    else:
        sys.stdout.write(runs_text(runs, Words(arguments.locale), style_of(arguments)))
    return 0


def run_show(arguments: Any) -> int:
    """Show a run."""
    from breakeven.actions.replay import show_run  # noqa: PLC0415
    from breakeven.actions.runs import about_of, find_run, kind_of  # noqa: PLC0415

    folder = find_run(arguments.id, arguments.runs)
    if kind_of(about_of(folder)) == "train":
        from breakeven.actions.training import show_training  # noqa: PLC0415

        return tell_training(show_training(folder, runs=arguments.runs, store=arguments.store), arguments)
    report = show_run(
        arguments.id, runs=arguments.runs, allows_commands=arguments.allow_commands, store=arguments.store,
        tokenizer=arguments.tokenizer,
    )  # fmt: skip
    if arguments.plots is not None:
        _write_plots(report, arguments)
    return _report(report, arguments)


def _write_plots(report: Any, arguments: Any) -> None:
    """Draw a replay into a folder, one SVG for each chart."""
    from pathlib import Path  # noqa: PLC0415

    from breakeven.actions.writing import write_whole  # noqa: PLC0415
    from breakeven.errors import ExternalError  # noqa: PLC0415
    from breakeven.reporting.charts.drawing import draw  # noqa: PLC0415
    from breakeven.reporting.charts.replay_charts import charts_of  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    folder, words = Path(arguments.plots), Words(arguments.locale, report.offers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExternalError("file-failed", file=str(folder), problem=error.strerror or str(error)) from None
    for chart in charts_of(report, words):
        write_whole(folder / f"{chart.name}.svg", draw(chart, words.locale, "light").encode())


def run_compare(arguments: Any) -> int:
    """Hold two replays, two trainings, or two files of step times, against each other."""
    from breakeven.actions.paired import is_pair_of_steps  # noqa: PLC0415

    if is_pair_of_steps(arguments.first, arguments.second, arguments.runs):
        return run_pair(arguments)
    from breakeven.actions.replay_runs import compare_replays  # noqa: PLC0415
    from breakeven.reporting.json_documents import dumps  # noqa: PLC0415
    from breakeven.reporting.replay_documents import comparison_document  # noqa: PLC0415
    from breakeven.reporting.replay_text import comparison_text  # noqa: PLC0415
    from breakeven.reporting.words import Words  # noqa: PLC0415

    found = compare_replays(
        arguments.first, arguments.second, runs=arguments.runs, accepts=arguments.accept,
        usd_per_h=prices_told(arguments), break_even=arguments.break_even, offers=arguments.offers,
        store=arguments.store,
    )  # fmt: skip
    if arguments.json:
        sys.stdout.write(dumps(comparison_document(found)))
    else:
        sys.stdout.write(comparison_text(found, Words(arguments.locale), style_of(arguments)))
    return 0
