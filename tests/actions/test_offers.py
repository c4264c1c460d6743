from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from breakeven import ExternalError, InputError, decide
from breakeven.actions.checklist import import_facts, make_checklist
from breakeven.actions.compare import compare
from breakeven.actions.examples import example_path
from breakeven.actions.identify import identify_all
from breakeven.actions.market import load_offers
from breakeven.actions.offers import (
    OfferFilter,
    add_offer,
    check_book,
    export_offers,
    gpu_of,
    import_offers,
    list_offers,
)
from breakeven.cli.main import main
from breakeven.reporting.checklist_text import questionnaire
from breakeven.reporting.words import Words

H100 = "nvidia-h100-sxm-80gb"
CELLS = {
    "gpu": H100,
    "provider": "acme",
    "price": "0,90 $/h",
    "unit": "gpu",
    "period": "h",
    "seen_at": "2026-10-19",
    "private": "true",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/s.sqlite")
    return tmp_path / "s.sqlite"


def test_an_added_quote_competes_with_the_shipped_book(store: Path) -> None:
    added = add_offer(CELLS)
    assert store.exists()
    job = (
        example_path("qlora-8b-10k-pairs.yaml")
        .read_text(encoding="utf-8")
        .replace("providers: [lowcostgpu]", "providers: [acme, lowcostgpu]")
    )
    path = store.parent / "job.yaml"
    path.write_text(job, encoding="utf-8")
    decision = decide(path, as_of="2026-10-19")
    assert added.id in {option.offer.id for option in decision.options}
    assert "private-quote" in {caveat.code for caveat in decision.caveats}


def test_a_wrong_quote_is_refused_and_nothing_recorded(store: Path) -> None:
    for cells, code in (
        ({**CELLS, "gpu": "H100"}, "ambiguous-gpu"),
        ({**CELLS, "prise": "1"}, "unknown-column"),
        ({"gpu": H100}, "missing-column"),
    ):
        with pytest.raises(InputError) as caught:
            add_offer(cells)
        assert caught.value.code == code
    assert not store.exists()


def test_filters(store: Path) -> None:
    add_offer(CELLS)
    listed = list_offers(
        load_offers(),
        OfferFilter(gpu="h100 sxm", provider="acme", market="on-demand", max_usd_per_gpu_h=1),
        as_of="2026-10-19",
    )
    assert [offer.provider for offer in listed] == ["acme"]
    assert list_offers(load_offers(), OfferFilter(gpu=H100, tier="nope")) == []
    with pytest.raises(InputError):
        list_offers([], OfferFilter(gpu="nosuchgpu"))
    rates = [offer.usd_per_gpu_h for offer in list_offers(load_offers(), OfferFilter(gpu=H100))]
    assert rates == sorted(rates, key=lambda rate: rate or 0)


def test_imports(store: Path, tmp_path: Path) -> None:
    report = import_offers("book", example_path("book.csv"), amounts="en", is_dry=True)
    assert report.read == len(report.kept) > 1000
    assert not store.exists()
    table = tmp_path / "t.csv"
    table.write_text(
        "provider,instance_type,region,price_usd_hr,price_kind,as_of\naws,p4d.24xlarge,x,32,on_demand,2026-10-01\naws,m5.large,x,1,on_demand,2026-10-01\n"
    )
    report = import_offers("table", table, map_path="aws", provider="Mine")
    assert [(offer.provider, offer.gpus, offer.usd_per_gpu_h) for offer in report.kept] == [("mine", 8, 4.0)]
    assert "mine" in {offer.provider for offer in load_offers()}
    for source, code in (("table", "map-missing"), ("magic", "unknown-plugin")):
        with pytest.raises(InputError) as caught:
            import_offers(source, table)
        assert caught.value.code == code


def test_checks_and_exports(store: Path, tmp_path: Path) -> None:
    assert {one.code for one in check_book(load_offers())} >= {"price-not-firm"}
    offers = list_offers(load_offers(), OfferFilter(gpu=H100))
    assert export_offers(offers, tmp_path / "x.csv") == len(offers)
    assert export_offers(offers, tmp_path / "x.xlsx") == len(offers)
    with pytest.raises(InputError):
        export_offers(offers, tmp_path / "x.pdf")
    with pytest.raises(ExternalError):
        export_offers(offers, tmp_path / "no" / "x.csv")


def test_short_names_with_one_meaning_are_accepted() -> None:
    assert gpu_of("h100 nvl") == "nvidia-h100-nvl-94gb"
    assert gpu_of("NVIDIA A100-SXM4-80GB") == "nvidia-a100-sxm-80gb"
    for text, code in (("h100", "ambiguous-gpu"), ("A100 80GB", "ambiguous-gpu"), ("nothing", "unknown-gpu")):
        with pytest.raises(InputError) as caught:
            gpu_of(text)
        assert caught.value.code == code
    with pytest.raises(InputError):
        identify_all(["A100"], source="nobody")


def test_comparison() -> None:
    made = compare(H100, "nvidia-a100-sxm-80gb", as_of="2026-10-19")
    ratios = {pair.name: pair.ratio for pair in made.figures}
    assert ratios["memory_bandwidth_bytes_per_s"] == pytest.approx(3350 / 2039)
    assert ratios["fp8_dense_flop_per_s"] is None
    places = {(pair.provider, pair.tier, pair.market): pair.price_ratio for pair in made.prices}
    assert round(places["runpod", "community", "on-demand"] or 0, 2) == 1.94
    assert round(places["lowcostgpu", None, "interruptible"] or 0, 2) == 3.59
    assert [one.code for one in made.caveats] == ["old-price-passed-over", "stale-price", "price-not-firm"]
    mixed = compare(
        "nvidia-h100-pcie-80gb", "nvidia-a100-sxm-40gb", example_path("pair-lambda-single.yaml"), as_of="2026-10-19"
    )
    assert mixed.caveats[0].code == "sku-mix"
    assert [pair.market for pair in mixed.job_pairs] == ["on-demand"]
    with pytest.raises(InputError):
        compare(H100, "h100 sxm 80gb")


def test_a_questionnaire_comes_back_filled(store: Path, tmp_path: Path) -> None:
    checklist = make_checklist("lowcostgpu", as_of="2026-10-19")
    assert checklist.answers["storage"][0].text == "0.08 USD/GB/month"
    assert checklist.answers["reservation"] == []
    locales: tuple[Literal["en", "fr"], ...] = ("en", "fr")
    for locale in locales:
        text = questionnaire(checklist, Words(locale))
        path = tmp_path / "q.yaml"
        path.write_text(text, encoding="utf-8")
        assert import_facts(path) == ("lowcostgpu", 0)
    filled = text.rpartition("    answer:")[0] + "    answer: none\n    source: a mail\n    seen_at: 2026-11-30\n"
    path.write_text(filled, encoding="utf-8")
    assert import_facts(path) == ("lowcostgpu", 1)
    again = make_checklist("lowcostgpu")
    assert [(one.text, one.source, one.from_book) for one in again.answers["reservation"]] == [
        ("none", "a mail", False)
    ]
    with pytest.raises(InputError, match="neither the book"):
        make_checklist("nobody")
    assert all(known == [] for known in make_checklist().answers.values())


def test_a_quote_without_a_day_is_of_today_and_wins(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [f"{name}={value}" for name, value in CELLS.items() if name != "seen_at"]
    assert main(["offers", "add", *cells, "--amounts", "fr"]) == 0
    [quote] = [one for one in load_offers() if one.provider == "acme"]
    assert quote.seen_at is not None
    assert f"seen {quote.seen_at.date()}" in capsys.readouterr().out


def test_undated_prices_are_counted_in_a_history(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = store.parent / "book.csv"
    book.write_text(f"gpu,provider,price,unit,period,currency\n{H100},a,2,gpu,h,EUR\n", encoding="utf-8")
    assert main(["offers", "history", H100, "--offers", str(book)]) == 0
    assert "1 price without a date is left out" in capsys.readouterr().out
    book.write_text(
        f"gpu,provider,price,unit,period,currency,seen_at\n{H100},a,2,gpu,h,EUR,2026-10-19\n", encoding="utf-8"
    )
    assert main(["offers", "history", H100, "--offers", str(book)]) == 0
    assert "2 EUR/gpu/h" in capsys.readouterr().out


def test_a_job_without_times_says_what_to_add(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = store.parent / "job.yaml"
    job.write_text("job: x\n", encoding="utf-8")
    assert main(["decide", str(job), "--as-of", "2026-10-19"]) == 3
    assert "under known in the job file" in " ".join(capsys.readouterr().out.split())
