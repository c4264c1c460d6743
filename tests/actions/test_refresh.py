"""Today's prices from every source: each recorded or failed by itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from breakeven.actions.market import stored_offers
from breakeven.actions.offers import OfferFilter, history_of, import_offers, list_offers, market_of, refresh_offers
from breakeven.cli.main import main
from breakeven.errors import ExternalError, InputError
from tests.decisions.market import H100, offer

HEAD = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,"
    "gpu_vendor,flags,cpu_arch,provider_data\n"
)
BUNDLE = {
    "id": 1, "machine_id": 7, "gpu_name": "H100 SXM", "num_gpus": 8, "gpu_ram": 81559, "dph_total": 16.0,
    "min_bid": 8.0, "hosting_type": 1, "geolocation": "Paris, FR", "rentable": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A gpuhunt folder, an Azure that fails, and a Vast.ai with one bundle."""
    monkeypatch.setenv("BREAKEVEN_STORE", f"sqlite:///{tmp_path}/s.sqlite")
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "aws.csv").write_text(
        f"{HEAD}p5.48xlarge,us-east-1,55.04,192,2048.0,8,H100,80.0,False,,nvidia,,x86,{{}}\n", encoding="utf-8"
    )
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(folder))
    answers: dict[str, Any] = {"vast": json.dumps({"offers": [BUNDLE]}).encode()}

    def fetch(url: str, **_settings: object) -> bytes:
        name = "vast" if "vast" in url else "azure"
        if name not in answers:
            raise ExternalError("fetch-status", text=url, status=503)
        return bytes(answers[name])

    monkeypatch.setattr("breakeven.offers.catalogs.fetch", fetch)
    return answers


def test_one_source_that_fails_stops_none_of_the_others() -> None:
    refreshed = {one.source: one for one in refresh_offers()}
    assert set(refreshed) == {"azure-retail", "gpuhunt", "vast"}
    assert refreshed["azure-retail"].error is not None
    assert refreshed["azure-retail"].error.code == "fetch-status"
    kept = {name: one.report.new for name, one in refreshed.items() if one.report is not None}
    assert kept == {"gpuhunt": 1, "vast": 2}
    stored = {(one.provider, one.market): one for one in stored_offers()}
    assert stored["vast-ai", "on-demand"].usd_per_gpu_h == 2.0
    assert stored["vast-ai", "interruptible"].price.status == "floor"
    assert stored["vast-ai", "on-demand"].seen_at is not None
    assert stored["aws", "on-demand"].usd_per_gpu_h == pytest.approx(6.88)


def test_the_command_says_what_failed_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offers", "refresh", "--json"]) == 1
    sources = {one["source"]: one for one in json.loads(capsys.readouterr().out)["sources"]}
    assert sources["azure-retail"]["error"]["code"] == "fetch-status"
    assert sources["vast"]["report"]["new"] == 2
    assert main(["offers", "refresh", "--source", "vast"]) == 0
    out = capsys.readouterr().out
    assert "0 new prices, 2 seen again" in out
    for locale in ("en", "fr"):
        assert main(["offers", "refresh", "--locale", locale]) == 1
        out = capsys.readouterr().out
        assert all(len(line) <= 80 for line in out.splitlines())


def test_html_instead_of_json_records_nothing(network: dict[str, Any]) -> None:
    network["vast"] = b"<html>down for maintenance</html>"
    [vast] = refresh_offers(["vast"])
    assert vast.error is not None
    assert vast.error.code == "not-a-catalog"
    assert stored_offers() == []


def test_a_price_that_falls_within_a_day_is_a_new_row_and_the_price_now(
    network: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("breakeven.actions.offers._now", lambda: datetime(2026, 11, 29, 8, tzinfo=UTC))
    refresh_offers(["vast"])
    monkeypatch.setattr("breakeven.actions.offers._now", lambda: datetime(2026, 11, 29, 9, tzinfo=UTC))
    network["vast"] = json.dumps({"offers": [{**BUNDLE, "dph_total": 12.0}]}).encode()
    [vast] = refresh_offers(["vast"])
    assert vast.report is not None
    assert (vast.report.new, vast.report.seen_again) == (1, 1)
    history = history_of("nvidia-h100-sxm-80gb", stored_offers(), market="on-demand")
    assert [one.offer.usd_per_gpu_h for one in history.seen] == [2.0, 1.5]
    [now] = list_offers(stored_offers(), OfferFilter(market="on-demand"))
    assert now.usd_per_gpu_h == 1.5
    assert market_of(stored_offers()) == {}


@pytest.mark.parametrize(("source", "code"), [("skypilot", "place-missing"), ("nobody", "unknown-plugin")])
def test_sources_that_cannot_be_refreshed(source: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        refresh_offers([source])
    assert caught.value.code == code


def test_a_source_that_is_fetched_in_part_is_exit_1_and_says_what_is_missing(
    network: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(url: str, **_settings: object) -> bytes:
        if "/aws/" not in url:
            raise ExternalError("fetch-status", text=url, status=503)
        if url.endswith("version"):
            return b"1"
        stream = BytesIO()
        with ZipFile(stream, "w") as archive:
            row = "p5.48xlarge,us-east-1,55.04,192,2048.0,8,H100,80.0,False,,nvidia,,x86,{}"
            archive.writestr("aws.csv", f"{HEAD}{row}\n")
        return stream.getvalue()

    monkeypatch.setattr("breakeven.offers.importers.gpuhunt.fetch", fetch)
    monkeypatch.delenv("GPUHUNT_CATALOG_DIR")
    assert main(["offers", "refresh", "--source", "gpuhunt"]) == 1
    out = capsys.readouterr().out
    assert "Not fetched: azure" in out
    assert [one.provider for one in stored_offers()] == ["aws"]


def test_an_offer_that_ended_is_not_in_the_median(network: dict[str, Any]) -> None:
    bundles = [{**BUNDLE, "dph_total": 0.4, "end_date": 1.7e9}]
    network["vast"] = json.dumps({"offers": bundles}).encode()
    refresh_offers(["vast"])
    own = [*stored_offers(), *(offer(H100, usd, name, seen="2026-11-29") for usd, name in ((2.0, "a"), (3.0, "b")))]
    assert market_of(own, as_of=datetime.now(UTC).date()) == {}


def test_a_long_import_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "aws.csv"
    row = "g6.xlarge,r{},0.80,4,16.0,1,L4,24.0,False,,nvidia,,x86,{{}}\n"
    path.write_text(HEAD + "".join(row.format(number) for number in range(45_000)), encoding="utf-8")
    told: list[int] = []
    assert import_offers("gpuhunt", path, is_dry=True, progress=told.append).read == 45_000
    assert told == [20_000, 40_000]
