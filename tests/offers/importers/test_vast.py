from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from breakeven.errors import ExternalError, InputError
from breakeven.offers.importers.vast import VastImporter
from breakeven.offers.importing import Request, collect
from breakeven.offers.offer import EgressTier
from breakeven.offers.report import ImportReport
from tests.offers.importers.serving import Server

BUNDLE = {
    "id": 7, "machine_id": 42, "host_id": 9, "gpu_name": "RTX 4090", "num_gpus": 4, "gpu_ram": 24564, "dph_total": 1.6,
    "min_bid": 0.8, "end_date": 1_800_000_000.0, "geolocation": "Quebec, CA", "reliability2": 0.99712, "rentable": True,
    "cpu_cores_effective": 32.0, "cpu_ram": 131072, "hosting_type": 1, "storage_cost": 0.15, "inet_up_cost": 0.02,
    "inet_down_cost": 0.01,
}  # fmt: skip


def imported(tmp_path: Path, *bundles: Any) -> ImportReport:
    path = tmp_path / "bundles.json"
    path.write_text(json.dumps({"offers": bundles}), encoding="utf-8")
    return collect(VastImporter().rows(Request(place=str(path))), source="vast")


def without(*keys: str, **changed: Any) -> dict[str, Any]:
    return {key: value for key, value in {**BUNDLE, **changed}.items() if key not in keys}


def test_a_bundle_is_a_firm_and_an_interruptible_offer(tmp_path: Path) -> None:
    report = imported(tmp_path, BUNDLE)
    firm, spot = report.kept
    assert not report.skipped
    assert (firm.gpu, firm.gpus, firm.market) == ("nvidia-rtx-4090-pcie-24gb", 4, "on-demand")
    assert (firm.usd_per_gpu_h, firm.price.status) == (0.4, "known")
    assert (spot.market, spot.usd_per_gpu_h, spot.price.status) == ("interruptible", 0.2, "floor")
    for offer in report.kept:
        assert (offer.provider, offer.tier, offer.instance) == ("vast-ai", "datacenter", "host-42")
        assert (offer.region, offer.country, offer.vcpu, offer.ram_gb) == ("quebec", "ca", 32, 128)
        assert offer.valid_until == datetime.fromtimestamp(1_800_000_000, UTC)
        assert offer.note == "reliability 0.9971"
        assert offer.availability == "in-stock"
        assert offer.storage_usd_per_gb_month == 0.15
        assert offer.egress == (EgressTier(from_gb=0.0, usd_per_gb=0.02),)


def test_what_a_bundle_leaves_out_is_unknown(tmp_path: Path) -> None:
    [offer] = imported(tmp_path, {"gpu_name": "RTX 4090", "num_gpus": 1, "dph_total": 0.4}).kept
    assert (offer.egress, offer.storage_usd_per_gb_month, offer.valid_until, offer.note) == (None, None, None, None)
    assert (offer.instance, offer.region, offer.vcpu, offer.availability) == (None, None, None, "listed")
    [offer] = imported(tmp_path, without("min_bid", machine_id=None)).kept
    assert offer.instance == "host-9"


@pytest.mark.parametrize(
    ("name", "gpu_ram", "gpu"),
    [
        ("A100 SXM4", 81920, "nvidia-a100-sxm-80gb"),
        ("A100 SXM4", 40960, "nvidia-a100-sxm-40gb"),
        ("A100 SXM4", None, None),
        ("A100 PCIE", 81920, "nvidia-a100-pcie-80gb"),
        ("H100 SXM", 81559, "nvidia-h100-sxm-80gb"),
        ("H100 NVL", 95830, "nvidia-h100-nvl-94gb"),
        ("L40S", 46068, "nvidia-l40s-pcie-48gb"),
        ("RTX 4090", 49140, None),  # a modified card is not the card of that name
    ],
)
def test_memory_is_per_gpu_in_mib(tmp_path: Path, name: str, gpu_ram: int | None, gpu: str | None) -> None:
    report = imported(tmp_path, without("min_bid", gpu_name=name, gpu_ram=gpu_ram, num_gpus=8))
    assert [one.gpu for one in report.kept] == ([] if gpu is None else [gpu])
    assert {one.reason for one in report.skipped} <= {"ambiguous"}


@pytest.mark.parametrize("price", [None, "1.6", True, -1, float("nan"), float("inf"), [], 10**30])
def test_a_price_that_is_none(tmp_path: Path, price: Any) -> None:
    report = imported(tmp_path, without(dph_total=price), without("min_bid", dph_total=price))
    assert [one.market for one in report.kept] == ["interruptible"]
    assert [(one.line, one.reason) for one in report.skipped] == [(1, "unknown-price"), (2, "unknown-price")]


def test_a_price_of_zero_is_unknown(tmp_path: Path) -> None:
    report = imported(tmp_path, without(dph_total=0, min_bid=0))
    assert [(one.usd_per_gpu_h, one.price.status) for one in report.kept] == [(None, "unknown")]


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (3, "malformed"),
        (None, "malformed"),
        ({}, "no-gpu"),
        (without(gpu_name=7), "malformed"),
        (without(num_gpus=0), "malformed"),
        (without(num_gpus=True), "malformed"),
        (without(num_gpus="4"), "malformed"),
        (without("min_bid", num_gpus=10**9), "out-of-range"),
        (without("min_bid", gpu_name="H999"), "unmapped"),
        (without("min_bid", gpu_name="x" * 5000), "unmapped"),
        (without("min_bid", geolocation="a\nb, CA"), "unprintable-text"),
        (without("min_bid", dph_total=1e9), "absurd-price"),
    ],
)
def test_a_malformed_bundle_is_skipped_with_the_reason(tmp_path: Path, bundle: Any, reason: str) -> None:
    report = imported(tmp_path, bundle, BUNDLE)
    assert [(one.line, one.reason) for one in report.skipped] == [(1, reason)]
    assert len(report.kept) == 2


@pytest.mark.parametrize("field", ["gpu_ram", "end_date", "geolocation", "reliability2", "cpu_ram", "storage_cost"])
@pytest.mark.parametrize("value", [None, "x", [], {}, -1, 1e300, float("nan")])
def test_odd_fields_stop_nothing(tmp_path: Path, field: str, value: Any) -> None:
    report = imported(tmp_path, without("min_bid", **{field: value}))
    assert report.read == 1


def test_a_saved_answer_that_is_no_list_of_bundles(tmp_path: Path) -> None:
    for content in ("[]", "{}", '{"offers": {}}', "<html>", "[" * 100_000):
        (tmp_path / "b.json").write_text(content, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            list(VastImporter().rows(Request(place=str(tmp_path / "b.json"))))
        assert caught.value.code == "not-a-price-list"


def test_bundles_are_fetched(server: Server) -> None:
    server.answers["/bundles/?key=secret"] = json.dumps({"offers": [BUNDLE]}).encode()
    server.answers["/html?key=secret"] = b"<html></html>"
    rows = VastImporter().rows(Request(place=f"{server.url}/bundles/?key=secret", allows_private_addresses=True))
    assert len(list(rows)) == 2
    with pytest.raises(ExternalError) as caught:
        list(VastImporter().rows(Request(place=f"{server.url}/html?key=secret", allows_private_addresses=True)))
    assert caught.value.code == "not-a-catalog"
    assert "secret" not in str(caught.value.values)
