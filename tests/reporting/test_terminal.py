import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.decisions.decision import Decision
from breakeven.decisions.rank import rank
from breakeven.gpus import catalog
from breakeven.jobs.read import read_job
from breakeven.offers.offer import Offer
from breakeven.reporting.terminal import Style, decision_text, gpu_list_text, gpu_text
from breakeven.reporting.words import Words
from tests.decisions.market import A100, AS_OF, H100, H100_PCIE, decide, offer


def shown(decision: Decision, locale: str = "en", style: Style | None = None, *, all_lines: bool = False) -> str:
    words = Words(locale, {option.offer.id: option.offer for option in decision.options})  # type: ignore[arg-type]
    return decision_text(decision, words, style or Style(), all_lines=all_lines)


MARKET = [
    offer(A100, 0.468, "lowcostgpu"), offer(H100, 1.68, "lowcostgpu"), offer(A100, 0.234, "lowcostgpu", market="interruptible"),
    offer(A100, 1.2, "a-provider-with-a-rather-long-name", tier="community", region="europe-west-4-b"),
    offer(H100_PCIE, 1.99), offer(A100, None, "free", status="unknown"), offer(H100, 4.0, gpus=8), offer(H100, 2.0, "euro", currency="EUR"),
    offer(A100, 3.0, "old", seen="2026-01-01", source=None),
]  # fmt: skip


@given(
    st.sets(st.sampled_from(range(len(MARKET)))),
    st.sampled_from(["1", "3.3", "[1.2, 5]"]),
    st.sampled_from(
        [
            "",
            "limits: {deadline_h: 1}",
            "limits: {budget_usd: 1}",
            "precision: fp8\ntask: finetune\nmethod: full",
            "overheads: {storage_gb: 9}",
        ]
    ),
    st.sampled_from(["en", "fr"]),
    st.booleans(),
)
def test_any_report_fits_80_columns(chosen: set[int], speedup: str, job: str, locale: str, all_lines: bool) -> None:
    decision = decide([MARKET[index] for index in sorted(chosen)], job, speedup=speedup, all_lines=all_lines)
    text = shown(decision, locale, all_lines=all_lines)
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "None" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("hours", ["[100000, 900000]", "0.9s", "1e6"])
def test_extreme_hours_fit_80_columns(hours: str) -> None:
    decision = decide(MARKET, hours=hours, speedup="[1.5, 9]")
    text = shown(decision, all_lines=True)
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert " 0.00 " not in text


def test_wide_titles_are_aligned() -> None:
    decision = decide(MARKET[:2], "describe: 微调")
    assert shown(decision).splitlines()[0] == "微调" + "prices of 2026-10-19".rjust(76)


def test_the_winner_and_the_reason_come_first() -> None:
    lines = shown(decide(MARKET[:2])).splitlines()
    assert lines[2] == "  Rent 1 x A100 SXM 80 GB at LowCostGPU: $0.70 per accepted run, 50 % less."
    assert lines[3].startswith("  The H100 costs 3.59 times as much per hour; it runs this job 1.8 times")


def test_idle_gpus_are_shown() -> None:
    assert "1 of 8" in shown(decide([offer(A100, 1.0, gpus=8)]))


def test_colour_is_only_added_never_needed() -> None:
    plain, coloured = shown(decide(MARKET[:2])), shown(decide(MARKET[:2]), style=Style(has_color=True))
    for code in ("\x1b[1m", "\x1b[1;32m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_without_unicode_the_report_is_ascii() -> None:
    decision = decide(MARKET[:3], speedup="[1.7, 2.2]")
    assert shown(decision, style=Style(has_unicode=False)).isascii()


def test_many_lines_are_cut_unless_all_are_asked_for() -> None:
    book = [offer(A100, 1 + index / 10, f"p{index}") for index in range(20)]
    assert "... and 8 more (--all)" in shown(decide(book))
    assert "(--all)" not in shown(decide(book, all_lines=True), all_lines=True)


def test_what_cannot_compete_is_said() -> None:
    text = shown(decide(MARKET, "limits: {deadline_h: 1}"))
    assert "the deadline is 1.00 h" in text
    assert "No time is known for H100 PCIe 80 GB" in text
    assert "The price is unknown" in text
    nothing = shown(decide([MARKET[4]]))
    assert "Nothing to rent for this job." in nothing
    assert "1 offer: no time is known for 1 x H100 PCIe 80 GB" in nothing


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_the_catalog_fits_80_columns(locale: str) -> None:
    words = Words(locale)  # type: ignore[arg-type]
    for text in (
        gpu_list_text(catalog.catalog().values(), words),
        *(gpu_text(gpu, words, Style()) for gpu in catalog.catalog().values()),
    ):
        assert all(len(line) <= 80 for line in text.splitlines())


def flip_line(*offers: Offer, job: str = "") -> str:
    text = f"job: n\ntask: notebook\nusers: {{count: 10, hours_per_day: 4}}\n{job}"
    decision = rank(read_job(text), offers, gpus=catalog.catalog(), as_of=AS_OF)
    report = " ".join(shown(decision).split())
    return report[report.index("It flips") :]


def test_a_flip_tells_a_slice_from_a_whole_gpu() -> None:
    line = flip_line(offer(A100, 1.0), offer(A100, 2.1, fraction=1 / 7, instance="i"))
    assert "p A100 SXM 80 GB (a GPU each) costs at most $0.30/h" in line
    assert "p A100 SXM 80 GB, i (a slice each) costs at least $7.00 per whole GPU and hour" in line


def test_a_flip_tells_slices_of_two_sizes_apart() -> None:
    line = flip_line(offer(A100, 1.0, fraction=0.5), offer(A100, 1.0, fraction=0.25))
    assert "(50 % of a GPU)" in line.replace("\N{NO-BREAK SPACE}", " ")
    assert "(25 % of a GPU)" in line.replace("\N{NO-BREAK SPACE}", " ")


def test_a_flip_tells_machine_sizes_apart() -> None:
    report = " ".join(shown(decide([offer(A100, 1.0), offer(A100, 0.9, gpus=8)], all_lines=True)).split())
    assert "p A100 SXM 80 GB (machines of 8) costs at most $0.12/h" in report
    assert "p A100 SXM 80 GB (any number of GPUs) costs at least $7.20/h" in report


def test_a_flip_tells_lines_apart_that_differ_in_price_alone() -> None:
    book = [offer(A100, 1.0, billing_increment_s=60), offer(A100, 1.5)]
    report = " ".join(shown(decide(book, all_lines=True)).split())
    assert "p A100 SXM 80 GB (at $1.00/h today) costs at least $1.50/h" in report


def test_the_table_counts_what_is_rented() -> None:
    text = "job: n\ntask: notebook\nusers: {count: 10, hours_per_day: 4}"
    offers = [
        offer(A100, 1.0, gpus=8),
        offer(A100, 1.0, "s", fraction=0.25, gpus=4),
        offer(A100, 9.0, "q", fraction=0.25),
    ]
    report = shown(rank(read_job(text), offers, gpus=catalog.catalog(), as_of=AS_OF))
    rows = {line[2:].split(" A100")[0]: line for line in report.splitlines() if "A100 SXM 80 GB, a " in line}
    assert "10 of 16" in rows["p"]
    assert "10 of 12" in rows["s"]
    assert "Rent 12 x A100 SXM 80 GB at s" in report
