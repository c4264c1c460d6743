from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import BreakevenError, InputError
from breakeven.offers.amounts import Convention
from breakeven.offers.book import (
    COLUMNS,
    RowReader,
    check_cell,
    load_book,
    load_shipped_book,
    read_egress,
)
from breakeven.offers.observing import newest_observations
from breakeven.offers.offer import Offer

HEAD = "gpu,provider,price,unit,period"
A100 = "nvidia-a100-sxm-80gb"


def book(tmp_path: Path, text: str | bytes, name: str = "book.csv", amounts: Convention | None = None) -> list[Offer]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_book(path, amounts=amounts)


def test_the_shipped_book_is_dated_positive_and_sourced() -> None:
    offers = load_shipped_book()
    assert len(offers) >= 1000
    for offer in offers:
        assert offer.usd_per_gpu_h is not None
        assert offer.usd_per_gpu_h > 0
        assert offer.seen_at is not None
        assert offer.source
    _, conflicts = newest_observations(offers, datetime(2026, 11, 30, tzinfo=UTC))
    assert conflicts == []


def test_blank_columns_have_their_meaning(tmp_path: Path) -> None:
    [offer] = book(tmp_path, f"{HEAD}\n{A100},Runpod,$1.39/h,gpu,h\n")
    assert (offer.market, offer.price.status, offer.price.currency, offer.gpus) == ("on-demand", "known", "USD", None)
    assert (offer.provider, offer.seen_at, offer.source, offer.fraction) == ("runpod", None, None, 1.0)
    assert offer.price.amount == Decimal("1.39")
    assert offer.price.text == "$1.39/h"


def test_a_price_is_kept_as_quoted(tmp_path: Path) -> None:
    [offer] = book(tmp_path, f'{HEAD},gpus\n{A100},x,"16 234,50 €",node,month,8\n')
    assert (offer.price.amount, offer.price.currency, offer.price.unit, offer.price.period) == (
        Decimal("16234.50"),
        "EUR",
        "node",
        "month",
    )
    assert offer.usd_per_gpu_h is None


@pytest.mark.parametrize("price", ["0", "", "0.00", "$0"])
def test_zero_and_empty_are_unknown_never_free(tmp_path: Path, price: str) -> None:
    [offer] = book(tmp_path, f"{HEAD},currency\n{A100},x,{price},gpu,h,USD\n")
    assert offer.price.amount is None
    assert offer.price.status == "unknown"
    assert offer.usd_per_gpu_h is None


def test_yaml_numbers_do_not_depend_on_the_convention_but_texts_do(tmp_path: Path) -> None:
    text = "- {gpu: nvidia-a100-sxm-80gb, provider: x, price: 1.680, unit: gpu, period: h, currency: USD, compliance: [SOC2, iso27001]}\n"
    conventions: tuple[Convention | None, ...] = (None, "en", "fr")
    for amounts in conventions:
        [offer] = book(tmp_path, text, "book.yaml", amounts)
        assert offer.usd_per_gpu_h == 1.68
        assert offer.compliance == ("soc2", "iso27001")
    text = "offers:\n  - {gpu: nvidia-a100-sxm-80gb, provider: x, price: '1,680 $/h', unit: gpu, period: h}\n"
    assert book(tmp_path, text, "book.yaml", "fr")[0].usd_per_gpu_h == 1.68
    assert book(tmp_path, text, "book.yaml", "en")[0].usd_per_gpu_h == 1680
    with pytest.raises(InputError, match=r"book\.yaml, line 2, key price: '1,680 \$/h' can be"):
        book(tmp_path, text, "book.yaml")


def test_semicolons_tabs_and_bom_from_spreadsheets(tmp_path: Path) -> None:
    rows = f"{HEAD};currency".replace(",", ";") + f"\r\n{A100};x;1,39;gpu;h;USD\r\n"
    assert book(tmp_path, b"\xef\xbb\xbf" + rows.encode())[0].usd_per_gpu_h == 1.39
    assert book(tmp_path, rows.replace(";", "\t"))[0].usd_per_gpu_h == 1.39


MALFORMED = {
    "empty": ("", "file-empty", None),
    "only a header with a missing column": ("gpu,provider,price,unit\n", "missing-column", "period"),
    "unknown column": (f"{HEAD},pice\n", "unknown-column", "pice"),
    "column twice": (f"{HEAD},gpu\n", "duplicate-column", "gpu"),
    "ambiguous GPU": (f"{HEAD}\nH100,x,$1,gpu,h\n", "ambiguous-gpu", "gpu"),
    "unknown GPU": (f"{HEAD}\nfoo,x,$1,gpu,h\n", "unknown-gpu", "gpu"),
    "blank GPU": (f"{HEAD}\n,x,$1,gpu,h\n", "missing-cell", "gpu"),
    "a provider of spaces": (f"{HEAD}\n{A100}, ,$1,gpu,h\n", "missing-cell", "provider"),
    "old Macintosh line ends": ("gpu,provider\r1,2\r", "bare-carriage-returns", None),
    "blank provider": (f"{HEAD}\n{A100},,$1,gpu,h\n", "missing-cell", "provider"),
    "ambiguous amount": (f'{HEAD}\n{A100},x,"$1,680/h",gpu,h\n', "ambiguous-amount", "price"),
    "no currency": (f"{HEAD}\n{A100},x,1.68,gpu,h\n", "no-currency", "price"),
    "not an amount": (f"{HEAD}\n{A100},x,call us,gpu,h\n", "not-an-amount", "price"),
    "negative": (f"{HEAD}\n{A100},x,-$1,gpu,h\n", "not-an-amount", "price"),
    "negative number": (f"{HEAD},currency\n{A100},x,-1,gpu,h,USD\n", "negative-amount", "price"),
    "NaN": (f"{HEAD},currency\n{A100},x,NaN,gpu,h,USD\n", "not-an-amount", "price"),
    "absurd": (f"{HEAD},currency\n{A100},x,99999,gpu,h,USD\n", "absurd-price", "price"),
    "period contradicts": (f"{HEAD}\n{A100},x,$900/month,gpu,h\n", "price-contradicts-column", "price"),
    "unit contradicts": (f"{HEAD},gpus\n{A100},x,$2/gpu/h,node,h,8\n", "price-contradicts-column", "price"),
    "currency contradicts": (f"{HEAD},currency\n{A100},x,2 €,gpu,h,USD\n", "price-contradicts-column", "price"),
    "unknown currency": (f"{HEAD},currency\n{A100},x,2,gpu,h,dollars\n", "unknown-currency", "currency"),
    "unknown unit": (f"{HEAD}\n{A100},x,$1,card,h\n", "not-a-choice", "unit"),
    "unknown period": (f"{HEAD}\n{A100},x,$1,gpu,fortnight\n", "not-a-choice", "period"),
    "blank unit": (f"{HEAD}\n{A100},x,$1,,h\n", "missing-cell", "unit"),
    "unknown market": (f"{HEAD},market\n{A100},x,$1,gpu,h,spot\n", "not-a-choice", "market"),
    "unknown status": (f"{HEAD},price_status\n{A100},x,$1,gpu,h,maybe\n", "not-a-choice", "price_status"),
    "half a GPU count": (f"{HEAD},gpus\n{A100},x,$1,gpu,h,1.5\n", "not-whole", "gpus"),
    "no GPUs": (f"{HEAD},gpus\n{A100},x,$1,gpu,h,0\n", "out-of-range", "gpus"),
    "node without GPUs": (f"{HEAD}\n{A100},x,$1,node,h\n", "node-without-gpus", "gpus"),
    "fraction above one": (f"{HEAD},fraction\n{A100},x,$1,gpu,h,2\n", "out-of-range", "fraction"),
    "French date": (f"{HEAD},seen_at\n{A100},x,$1,gpu,h,19/10/2026\n", "not-a-date", "seen_at"),
    "impossible date": (f"{HEAD},seen_at\n{A100},x,$1,gpu,h,2026-02-30\n", "not-a-date", "seen_at"),
    "ancient date": (f"{HEAD},seen_at\n{A100},x,$1,gpu,h,0001-01-01\n", "not-a-date", "seen_at"),
    "falling egress": (
        f'{HEAD},egress_usd_per_gb\n{A100},x,$1,gpu,h,"0:1;5:2;3:1"\n',
        "bad-egress",
        "egress_usd_per_gb",
    ),
    "egress in euros": (f"{HEAD},egress_usd_per_gb\n{A100},x,$1,gpu,h,1 €\n", "not-usd", "egress_usd_per_gb"),
    "too few cells": (f"{HEAD}\n{A100},x,$1\n", "wrong-cell-count", None),
    "too many cells": (f"{HEAD}\n{A100},x,$1,gpu,h,extra\n", "wrong-cell-count", None),
    "open quote": (f'{HEAD}\n{A100},x,"$1,gpu,h\n', "csv-syntax", None),
    "open quote before many lines": (f'{HEAD}\n"{A100},x,$1,gpu,h\n' + f"{A100},x,$1,gpu,h\n" * 9, "csv-syntax", None),
    "a price seen in the future": (f"{HEAD},seen_at\n{A100},x,$1,gpu,h,2099-01-01\n", "seen-in-future", "seen_at"),
    "private maybe": (f"{HEAD},private\n{A100},x,$1,gpu,h,maybe\n", "not-a-choice", "private"),
    "control characters": (f"{HEAD},note\n{A100},x,$1,gpu,h,a\x1b[31mb\n", "unprintable-text", "note"),
    "a duration without sense": (
        f"{HEAD},billing_increment_s\n{A100},x,$1,gpu,h,often\n",
        "not-a-number",
        "billing_increment_s",
    ),
    "availability 150 %": (f"{HEAD},sla_pct\n{A100},x,$1,gpu,h,150\n", "out-of-range", "sla_pct"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_books_name_line_and_column(tmp_path: Path, case: str) -> None:
    text, code, column = MALFORMED[case]
    with pytest.raises(InputError) as caught:
        book(tmp_path, text)
    error = caught.value
    assert (error.code, error.key) == (code, column)
    assert error.file == str(tmp_path / "book.csv")
    if text:
        assert error.line == (2 if text.startswith(HEAD) and "\n" in text.rstrip("\n") else 1)
    if column is not None:
        assert f"column {column}" in str(error)


def test_a_price_of_tomorrow_is_read_and_one_of_later_is_not(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    rows = f"{HEAD},seen_at,valid_until\n{A100},x,$1,gpu,h,{{}},2099-01-01\n"
    assert book(tmp_path, rows.format((now + timedelta(days=1)).date()))
    with pytest.raises(InputError, match=r"column seen_at: .* is still to come"):
        book(tmp_path, rows.format((now + timedelta(days=3)).isoformat()))


def test_a_clock_that_is_late_does_not_bar_the_shipped_book(monkeypatch: pytest.MonkeyPatch) -> None:
    import breakeven.offers.book as module

    class Late(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2001, 1, 1, tzinfo=tz)

    monkeypatch.setattr(module, "datetime", Late)
    assert load_shipped_book()
    header = ["gpu", "provider", "price", "unit", "period", "seen_at"]
    cells = [A100, "x", "$1", "gpu", "h", "2026-10-01"]
    with pytest.raises(InputError):
        RowReader("x", "en", header).read(cells, 1)
    assert RowReader("x", "en", header, is_trusted=True).read(cells, 1).seen_at == day(1)


def test_quoted_newlines_are_legal_where_no_cell_keeps_them(tmp_path: Path) -> None:
    offers = book(tmp_path, f'{HEAD},note\n"{A100}\n",x,$1,gpu,h,"a\n"\n{A100},x,$2,gpu,h,\n')
    assert [(offer.usd_per_gpu_h, offer.note, offer.line) for offer in offers] == [(1, "a", 4), (2, None, 5)]


@pytest.mark.parametrize(
    ("provider", "instance", "kept"),
    [
        ("Azure", "ND96isr_H100_v5", "Standard_ND96isr_H100_v5"),
        ("azure", "standard_NC24-12s_v3", "Standard_NC24-12s_v3"),
        ("azure", "Standard_NC24_Promo", "Standard_NC24_Promo"),
        ("azure", "nova", "nova"),
        ("aws", "ND96isr_H100_v5", "ND96isr_H100_v5"),
    ],
)
def test_azure_machines_have_one_name(tmp_path: Path, provider: str, instance: str, kept: str) -> None:
    [offer] = book(tmp_path, f"{HEAD},instance\n{A100},{provider},$1,gpu,h,{instance}\n")
    assert offer.instance == kept
    assert offer.id.endswith(f"/instance={kept}")


def test_the_shipped_book_names_azure_machines_alike() -> None:
    names = {offer.instance for offer in load_shipped_book() if offer.provider == "azure"}
    assert len(names) > 10
    assert all(name is not None and name.startswith("Standard_") for name in names)


def test_check_cell_reads_every_column() -> None:
    for column in COLUMNS:
        if column not in {"unit", "period"}:
            check_cell(column, "")
    for column, text in (("price", "1,680"), ("upfront", "1,680"), ("unit", "node"), ("price_status", "floor")):
        check_cell(column, text)
    for column, text in (("price", "x"), ("unit", ""), ("price_status", "x"), ("gpus", "0"), ("gpu", "H100")):
        with pytest.raises(InputError):
            check_cell(column, text)


MALFORMED_YAML = {
    "a mapping": ("gpu: x\n", "unknown-key"),
    "a text": ("hello\n", "book-not-a-list"),
    "a list of texts": ("- a\n", "wrong-kind"),
    "unknown key": ("- {gup: x}\n", "unknown-column"),
    "nested value": ("- {gpu: {a: b}, provider: x, price: 1, unit: gpu, period: h}\n", "wrong-kind"),
    "missing price": ("- {gpu: nvidia-a100-sxm-80gb, provider: x, unit: gpu, period: h}\n", "missing-column"),
    "alias": ("- &a {gpu: x}\n- *a\n", "yaml-alias"),
}


@pytest.mark.parametrize("case", MALFORMED_YAML)
def test_malformed_yaml_books(tmp_path: Path, case: str) -> None:
    text, code = MALFORMED_YAML[case]
    with pytest.raises(InputError) as caught:
        book(tmp_path, text, "book.yaml")
    assert caught.value.code == code


@given(st.text(max_size=150))
def test_any_csv_text_is_a_book_or_a_clear_error(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("a.csv", text), ("b.csv", f"{HEAD}\n{text}"), ("c.yaml", text)):
            try:
                book(Path(folder), content.encode(errors="surrogatepass"), name)
            except BreakevenError as error:
                assert isinstance(error, InputError)
                assert error.file


def test_egress_tiers() -> None:
    assert [(tier.from_gb, tier.usd_per_gb) for tier in read_egress("0:0;100:0.09;10k:0.05")] == [
        (0, 0),
        (100, 0.09),
        (10000, 0.05),
    ]
    assert read_egress("0.12")[0].usd_per_gb == 0.12


def test_columns_are_those_of_the_interface() -> None:
    assert COLUMNS[:5] == ("gpu", "provider", "price", "unit", "period")
    assert len(COLUMNS) == len(set(COLUMNS)) == 37


def day(number: int) -> datetime:
    return datetime(2026, 10, number, tzinfo=UTC)


def test_the_newest_observation_per_key_competes(tmp_path: Path) -> None:
    offers = book(
        tmp_path,
        f"{HEAD},seen_at,tier\n{A100},x,$1,gpu,h,2026-10-01,\n{A100},x,$3,gpu,h,2026-10-09,\n{A100},x,$2,gpu,h,2026-10-05,\n"
        f"{A100},x,$9,gpu,h,,\n{A100},x,$4,gpu,h,2026-10-01,secure\n",
    )

    def prices(as_of: datetime) -> list[float | None]:
        return [offer.usd_per_gpu_h for offer in newest_observations(offers, as_of)[0]]

    assert prices(day(20)) == [3, 4]
    assert prices(day(6)) == [2, 4]
    assert prices(datetime(2026, 9, 1, tzinfo=UTC)) == [9]


def test_conflicts_are_seen_through_units(tmp_path: Path) -> None:
    rows = (
        f"{HEAD},gpus,tier,seen_at\n{A100},x,$2/h,gpu,h,8,a,2026-10-01\n{A100},x,$2/day,gpu,day,8,a,2026-10-01\n"
        f"{A100},x,$8,node,h,8,b,2026-10-01\n{A100},x,$1,gpu,h,8,b,2026-10-01\n"
        f"{A100},x,2 €,gpu,h,8,c,2026-10-01\n{A100},x,2 $,gpu,h,8,c,2026-10-01\n"
    )
    kept, conflicts = newest_observations(book(tmp_path, rows), day(20))
    assert {offer.tier: offer.usd_per_gpu_h for offer in kept} == {"a": 2, "b": 1, "c": 2}
    assert [dearer.tier for dearer, _ in conflicts] == ["a", "c"]


def test_two_prices_of_the_same_moment_are_reported_and_the_dearer_kept(tmp_path: Path) -> None:
    rows = f"{HEAD},seen_at\n{A100},x,$1,gpu,h,2026-10-01\n{A100},x,$2,gpu,h,2026-10-01\n{A100},x,$2,gpu,h,2026-10-01\n"
    kept, conflicts = newest_observations(book(tmp_path, rows), day(20))
    assert [offer.usd_per_gpu_h for offer in kept] == [2]
    assert [(dearer.usd_per_gpu_h, other.usd_per_gpu_h) for dearer, other in conflicts] == [(2, 1)]
