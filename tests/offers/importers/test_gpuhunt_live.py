"""The clouds that gpuhunt asks live, with a package that answers from memory."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from breakeven.errors import ExternalError
from breakeven.offers.importers import gpuhunt_live
from breakeven.offers.importers.gpuhunt import PUBLISHED, GpuhuntImporter
from breakeven.offers.importing import Request, collect

ITEM = {
    "instance_name": "vcg-h100-8", "location": "fra", "price": 16.0, "cpu": 64, "memory": 512.0, "gpu_count": 8,
    "gpu_name": "H100NVL", "gpu_memory": 94.0, "spot": False,
}  # fmt: skip


class MissingCredsError(Exception):
    """Named like gpuhunt's."""


class Catalog:
    """As much of gpuhunt's as is used."""

    def __init__(self, *, auto_reload: bool) -> None:
        assert not auto_reload

    def add_provider(self, provider: Any) -> None:
        self.provider = provider

    def query(self, provider: list[str]) -> list[Any]:
        assert provider == [self.provider.name]
        items: list[Any] = self.provider.answer()
        return items


def cloud(name: str, answer: Any) -> type:
    def from_env(_cls: type) -> Any:
        if answer is MissingCredsError:
            raise MissingCredsError("no key")
        return SimpleNamespace(name=name, answer=answer)

    return type("Provider", (), {"from_env": classmethod(from_env)})


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> list[Any]:
        raise RuntimeError("token=secret")

    def sleeps() -> list[Any]:
        time.sleep(5)
        return []

    answers = {
        "vultr": lambda: [SimpleNamespace(**ITEM)], "crusoe": MissingCredsError, "lium": fails, "seeweb": sleeps,
    }  # fmt: skip
    package = ModuleType("gpuhunt")
    package.Catalog = Catalog  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gpuhunt", package)
    for name, class_name in gpuhunt_live.CLOUDS.items():
        module = ModuleType(name)
        setattr(module, class_name, cloud(name, answers.get(name, list)))
        monkeypatch.setitem(sys.modules, f"gpuhunt.providers.{name}", module)
    monkeypatch.setattr(gpuhunt_live, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(gpuhunt_live, "is_installed", lambda: True)


@pytest.mark.usefixtures("package")
def test_each_cloud_answers_or_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(url: str, **_settings: object) -> bytes:
        raise ExternalError("fetch-status", text=url, status=503)

    monkeypatch.setattr("breakeven.offers.importers.gpuhunt.fetch", nothing)
    monkeypatch.setattr("breakeven.offers.importers.gpuhunt.PROVIDERS", ("aws", "azure"))
    monkeypatch.setattr(GpuhuntImporter, "_mirror", lambda *_words: iter(()))
    report = collect(GpuhuntImporter().rows(Request(place=PUBLISHED)), source="gpuhunt")
    [kept] = report.kept
    assert (kept.provider, kept.gpu, kept.gpus, kept.usd_per_gpu_h) == ("vultr", "nvidia-h100-nvl-94gb", 8, 2.0)
    assert {(one.reason, one.text) for one in report.skipped} == {
        ("needs-key", "crusoe"), ("provider-failed", "lium: fetch-failed"), ("provider-failed", "seeweb: fetch-too-slow"),
    }  # fmt: skip


@pytest.mark.usefixtures("package")
def test_one_cloud_alone_and_no_secret_in_an_error() -> None:
    report = collect(GpuhuntImporter().rows(Request(place=PUBLISHED, provider="vultr")), source="gpuhunt")
    assert [one.provider for one in report.kept] == ["vultr"]
    with pytest.raises(ExternalError) as caught:
        gpuhunt_live.live_rows("lium")
    assert "secret" not in f"{caught.value} {caught.value.values}"


@pytest.mark.parametrize("name", gpuhunt_live.CLOUDS)
def test_the_package_has_what_is_used(name: str) -> None:
    pytest.importorskip("gpuhunt", reason="the extra gpuhunt is not installed")
    assert callable(getattr(import_module(f"gpuhunt.providers.{name}"), gpuhunt_live.CLOUDS[name]).from_env)
    items = import_module("gpuhunt").CatalogItem.__dataclass_fields__
    assert set(gpuhunt_live._COLUMNS) <= set(items)
