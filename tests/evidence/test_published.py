from __future__ import annotations

import pytest

from breakeven.evidence.published import published
from breakeven.evidence.record import Kind
from breakeven.gpus import catalog


@pytest.mark.parametrize(("kind", "count"), [("train", 1856), ("serve", 9111)])
def test_every_row_names_its_source_and_a_known_gpu(kind: Kind, count: int) -> None:
    table = published(kind)
    assert len(table) == count
    known = catalog.catalog()
    for row in table:
        assert row.source
        assert row.path
        assert row.setup.gpu in known
        assert not row.is_own
        assert all(value > 0 for value in row.results.values())


def test_ids_are_unique() -> None:
    ids = [row.id for kind in ("train", "serve") for row in published("train" if kind == "train" else "serve")]
    assert len(ids) == len(set(ids))


def test_rows_are_found_by_a_value_without_making_them_all() -> None:
    table = published("serve")
    places = table.rows_with("gpu", "nvidia-h100-sxm-80gb")
    assert places == [index for index, row in enumerate(table) if row.setup.gpu == "nvidia-h100-sxm-80gb"]
    assert table.rows_with("gpu", "none") == []
    nobody = table.rows_with("pp", None)
    assert nobody == [index for index, row in enumerate(table) if row.setup.pp is None]  # type: ignore[union-attr]
    assert "nvidia-h100-sxm-80gb" in table.distinct("gpu")
