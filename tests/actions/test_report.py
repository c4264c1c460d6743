"""A report shows the numbers of `decide --json`, and nothing that is private."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from breakeven.actions.examples import example_path
from breakeven.actions.report import make_report, report_text, write_report
from breakeven.cli.main import main
from breakeven.errors import BreakevenError, ExternalError, InputError
from tests.reporting.reading import Page, numbers

DAY = "2026-10-19"
JOBS = [
    "lora-8b-predicted.yaml",
    "serve-8b-or-api.yaml",
    "interruptible-lora-70b.yaml",
    "notebooks-8-users.yaml",
    "deadline-full-8b.yaml",
]
HEADER = "gpu,provider,price,unit,period,currency,seen_at,source,private\n"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "span", "ul", "li",
    "pre", "figure", "figcaption", "details", "summary", "div", "svg", "desc", "g", "path", "line", "text", "tspan", "defs", "pattern", "rect",
}  # fmt: skip


def page_of(*jobs: str, locale: Any = "en", **options: Any) -> Page:
    return Page(report_text(make_report([example_path(job) for job in jobs], as_of=DAY, **options), ".html", locale))


def decided(capsys: pytest.CaptureFixture[str], *jobs: str) -> dict[str, Any]:
    main(["decide", *(str(example_path(job)) for job in jobs), "--as-of", DAY, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def field_of(document: Any, key: str) -> Any:
    for name in key.split("."):
        document = None if document is None else document[name]
    return document


@pytest.mark.parametrize("locale", ["en", "fr"])
@pytest.mark.parametrize("job", JOBS)
def test_every_number_of_the_table_is_that_of_decide(job: str, locale: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = decided(capsys, job)["decisions"][0]["options"]
    shown = [row for grid in page_of(job, locale=locale).grids if grid.name == "ranked" for row in grid.rows]
    able = [place for place, option in enumerate(options) if option["infeasible"] is None]
    assert [int(place or "") for place, _ in shown] == able[:60]
    checked = 0
    for place, cells in shown:
        option = options[int(place or "")]
        for cell in cells:
            key, value = cell.get("data-key"), cell.get("data-value")
            if key == "usd":
                assert (float(cell["data-low"] or ""), float(cell["data-high"] or "")) == (
                    option["usd"]["low"],
                    option["usd"]["high"],
                )
            elif key is not None:
                wanted = field_of(option, key)
                assert (value if isinstance(wanted, str) or wanted is None else float(value or "")) == wanted, key
                checked += 1
    assert checked >= 7 * len(shown)


@pytest.mark.parametrize("job", JOBS)
def test_every_number_of_the_charts_is_that_of_decide(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    decision = decided(capsys, job)["decisions"][0]
    grids = {grid.name: grid for grid in page_of(job).grids}
    able = [option for option in decision["options"] if option["infeasible"] is None]
    for row, option in zip(numbers(grids["numbers breakdown"]), able, strict=False):
        assert row[-1] == option["usd"]["mean"]
        assert set(row[:-1]) <= set(option["breakdown_usd"].values())
    if "numbers front" in grids:
        assert numbers(grids["numbers front"]) == [
            [
                value
                for value in (point["hours_to_result"], point["usd"], point["usd_per_hour_saved"])
                if value is not None
            ]
            for point in decision["front"]
        ]
    if "numbers tornado" in grids:
        assert numbers(grids["numbers tornado"]) == [
            [value for value in (one["usd_gap_low"], one["usd_gap_high"]) if value is not None]
            for one in decision["sensitivity"][:10]
        ]
    if "numbers ruler" in grids:
        speedup, needed = numbers(grids["numbers ruler"])
        assert any(
            [pair["speedup"][end] for end in ("low", "median", "high")] == speedup
            and [pair["needed_speedup"]] == needed
            for pair in decision["break_even"]
        )


def test_the_month_of_several_jobs_is_that_of_decide(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ("full-8b-bf16.yaml", "qlora-8b-10k-pairs.yaml")
    month = decided(capsys, *jobs)["month"]["options"]
    page = page_of(*jobs)
    [grid] = [grid for grid in page.grids if grid.name == "month"]
    for place, cells in grid.rows:
        option = month[int(place or "")]
        assert [float(cell["data-value"] or "") for cell in cells[1:]] == [option["gpu_hours"], option["usd"]]
    assert "2 jobs" in page.text


def test_the_digest_is_of_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "my book.csv"
    book.write_text(
        HEADER
        + "nvidia-a100-sxm-80gb,lowcostgpu,1,gpu,h,USD,2026-10-01,mail,\nnvidia-h100-sxm-80gb,lowcostgpu,2,gpu,h,USD,2026-10-01,mail,\n",
        encoding="utf-8",
    )
    (tmp_path / "job.yaml").write_text(
        example_path("qlora-8b-10k-pairs.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    report = make_report([tmp_path / "job.yaml"], books=[book], as_of=DAY)
    assert report.command == f"breakeven decide job.yaml --as-of {DAY} --offers 'my book.csv' --locale en --json"
    monkeypatch.chdir(tmp_path)
    assert main(["decide", "job.yaml", "--as-of", DAY, "--offers", "my book.csv", "--locale", "en", "--json"]) == 0
    assert report.digest == hashlib.sha256(capsys.readouterr().out.encode()).hexdigest()
    assert str(tmp_path) not in report_text(report, ".html", "en")


def test_private_quotes_stay_out_unless_asked_for(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text(
        HEADER + "nvidia-a100-sxm-80gb,open,1,gpu,h,USD,2026-10-01,list,\n"
        "nvidia-a100-sxm-80gb,secret-host,0.123,gpu,h,USD,2026-10-01,a mail of Tuesday,true\n"
        "nvidia-h100-sxm-80gb,secret-host,0.456,gpu,h,USD,2026-09-01,a mail of Monday,true\n",
        encoding="utf-8",
    )
    job = (
        example_path("qlora-8b-10k-pairs.yaml")
        .read_text(encoding="utf-8")
        .replace("providers: [lowcostgpu]", "providers: []")
    )
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    for suffix in (".html", ".md"):
        for locale in ("en", "fr"):
            shared = report_text(make_report([tmp_path / "job.yaml"], books=[book], as_of=DAY), suffix, locale)
            for leak in ("secret", "0.123", "0,123", "a mail of", "0.456", "0,456"):
                assert leak not in shared, leak
            own = report_text(
                make_report([tmp_path / "job.yaml"], books=[book], as_of=DAY, with_private=True), suffix, locale
            )
            assert "secret-host" in own.replace("\\-", "-")
    assert "2 private quotes are left out." in report_text(
        make_report([tmp_path / "job.yaml"], books=[book], as_of=DAY), ".md", "en"
    )


HOSTILE = "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)> & \"q\" 'q' {{ 7*7 }} ${x} ]]>"


def test_nothing_that_others_wrote_runs(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    name = "<img src=x onerror=alert(3)>"
    book.write_text(
        HEADER + f'nvidia-a100-sxm-80gb,"{name}",1,gpu,h,USD,2026-10-01,"javascript:alert(4)",\n'
        f'nvidia-h100-sxm-80gb,"{name}",2,gpu,h,USD,2026-09-01,"{name}",\n',
        encoding="utf-8",
    )
    job = tmp_path / "job.yaml"
    text = (
        example_path("qlora-8b-10k-pairs.yaml")
        .read_text(encoding="utf-8")
        .replace("providers: [lowcostgpu]", "providers: []")
    )
    described = re.sub(r"^describe:.*$", lambda _: f"describe: {json.dumps(HOSTILE)}", text, flags=re.MULTILINE)
    job.write_text(f"{described}\n# {HOSTILE}\n", encoding="utf-8")
    shown = report_text(make_report([job], books=[book], as_of=DAY), ".html", "en")
    page = Page(shown)
    assert page.tags <= TAGS, page.tags - TAGS
    assert not [
        name
        for name, _ in page.attributes
        if name.startswith("on") or name in {"href", "src", "srcdoc", "style", "action", "xlink:href"}
    ]
    assert HOSTILE in " ".join(page.parts)
    marked = report_text(make_report([job], books=[book], as_of=DAY), ".md", "en")
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", marked, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", outside)


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_the_page_stands_alone(locale: str) -> None:
    shown = report_text(make_report([example_path(job) for job in JOBS], as_of=DAY), ".html", locale)  # type: ignore[arg-type]
    page = Page(shown)
    assert len(shown.encode()) < 1_000_000
    assert page.tags <= TAGS
    assert f'<html lang="{locale}">' in shown
    [policy] = [value for name, value in page.attributes if name == "content" and "default-src" in value]
    [style] = re.findall(r"<style>(.*?)</style>", shown, flags=re.DOTALL)
    import base64

    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style
    assert all(value.startswith("url(#") for name, value in page.attributes if "url(" in value and name != "content")
    assert re.search(r"prefers-color-scheme: dark", style)
    assert re.search(r"@media print", style)


def test_french_is_french_throughout() -> None:
    text = page_of("lora-8b-predicted.yaml", locale="fr").text
    english = (
        "break-even",
        "this job",
        "costs less",
        "median",
        "lowest",
        "the numbers",
        "predicted",
        "What ",
        "today",
        " days",
        "source:",
        "unknown",
    )
    for word in english:
        assert word not in text.partition("lora-8b-predicted.yaml")[0], word
    assert "19/10/2026" in text
    assert re.search(r"0,\d\d", text)


def test_markdown_says_what_the_page_says() -> None:
    report = make_report([example_path("lora-8b-predicted.yaml")], as_of=DAY)
    page, marked = Page(report_text(report, ".html", "en")), report_text(report, ".md", "en")
    for word in (
        "Rent 1 x A100 SXM 80 GB at LowCostGPU",
        "What flips it",
        "H100 runs this job 2.22 times as fast as A100",
        report.digest,
    ):
        assert word in page.text.replace("\N{NO-BREAK SPACE}", " ")
        assert word in marked


def test_nothing_to_rent_is_a_report_too(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "job: nothing\nknown:\n  nvidia-a100-sxm-80gb: {hours: 9}\nlimits: {budget_usd: 0.01}\n", encoding="utf-8"
    )
    text = Page(report_text(make_report([job], as_of=DAY), ".html", "en")).text
    assert "Nothing to rent for this job." in text
    assert "What the cost is made of" not in text
    assert main(["report", str(job), "-o", str(tmp_path / "r.html"), "--as-of", DAY]) == 3
    assert (tmp_path / "r.html").is_file()


def test_a_write_that_fails_leaves_the_old_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = str(example_path("qlora-8b-10k-pairs.yaml"))
    assert main(["report", job, "-o", str(tmp_path / "none" / "r.html"), "--as-of", DAY]) == 1
    assert "the file system failed" in capsys.readouterr().err
    report = make_report([job], as_of=DAY)
    with pytest.raises(BreakevenError) as caught:
        write_report(report, "/dev/full" if Path("/dev/full").exists() else tmp_path / "none" / "r.md", "en")
    assert caught.value.exit_status in (1, 2)


def test_a_name_that_says_no_format_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "no-such-job.yaml", "-o", "report.pdf"]) == 2
    told = capsys.readouterr().err
    assert ".html" in told
    assert "report.pdf" in told
    with pytest.raises(InputError):
        report_text(make_report([example_path("qlora-8b-10k-pairs.yaml")], as_of=DAY), ".pdf", "en")


def test_without_the_extra_markdown_is_written_and_html_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from breakeven.reporting import html
    from breakeven.reporting.charts import drawing

    report = make_report([example_path("qlora-8b-10k-pairs.yaml")], as_of=DAY)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(drawing, "_kept", type(drawing._kept)())
    with pytest.raises(ExternalError) as caught:
        write_report(report, tmp_path / "r.html", "en")
    assert (caught.value.code, caught.value.values["extra"]) == ("missing-extra", "report")
    for name in ("jinja2", "markupsafe"):
        monkeypatch.setitem(sys.modules, name, None)
    html._templates.cache_clear()
    with pytest.raises(ExternalError):
        write_report(report, tmp_path / "r.html", "en")
    assert not (tmp_path / "r.html").exists()
    assert write_report(report, tmp_path / "r.md", "en") > 1000


def test_an_unknown_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        make_report([example_path("qlora-8b-10k-pairs.yaml")], as_of=DAY, runs=[str(tmp_path)])
