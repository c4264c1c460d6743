"""The JSON documents of evidence and its check."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from breakeven.prediction.check import accuracy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from breakeven.evidence.groups import EvidenceGroup
    from breakeven.evidence.record import Measurement
    from breakeven.prediction.check import Accuracy, CheckReport, Quantity


def evidence_document(groups: Iterable[EvidenceGroup]) -> dict[str, Any]:
    """`evidence list --json`."""
    return {
        "groups": [
            {
                "kind": group.kind,
                "source": group.source,
                "model": group.model,
                "gpu": group.gpu,
                "rows": group.rows,
                "tokens_per_s_per_gpu": None if group.low is None else {"low": group.low, "high": group.high},
                "own": group.is_own,
                "example": group.example,
            }
            for group in groups
        ]
    }


def measurement_document(row: Measurement) -> dict[str, Any]:
    """`evidence show --json`: what nobody stated is null."""
    setup = {field.name: getattr(row.setup, field.name) for field in fields(row.setup) if field.name != "source"}
    return {
        "id": row.id,
        "kind": row.kind,
        "own": row.is_own,
        "source": row.source,
        "path": row.path,
        "version": row.version,
        "setup": {name: list(value) if isinstance(value, tuple) else value for name, value in setup.items()},
        "results": dict(row.results),
        "fits": row.fits,
    }


def check_document(report: CheckReport) -> dict[str, Any]:
    """`evidence check --json`; `per_row` is of throughput, `per_row_<quantity>` of the others."""
    throughput = report.throughput
    document: dict[str, Any] = {
        "kind": report.kind,
        "rows": report.rows,
        "predicted": len(throughput.scored) + len(throughput.rows_without_partner),
        "declined": dict(sorted(throughput.declined.items())),
        "throughput": _quantity(throughput),
    }
    for name, quantity in report.quantities.items():
        if name != "throughput":
            document[name] = _quantity(quantity)
    if report.fits is not None:
        document.setdefault("memory", {}).update(
            oom=report.fits.oom,
            oom_called_yes=report.fits.oom_called_yes,
            ran=report.fits.ran,
            yes_called_no=report.fits.yes_called_no,
            maybe=report.fits.maybe,
        )
    document["speedup"] = _errors(report.speedup)
    document["groups"] = [
        {"by": group.by, "name": group.name, **_accuracy(group.accuracy), "speedup": _errors(group.speedup)}
        for group in report.groups
    ]
    document["per_row"] = _rows(throughput)
    for name, quantity in report.quantities.items():
        if name != "throughput":
            document[f"per_row_{name}"] = _rows(quantity)
    return document


def _quantity(quantity: Quantity) -> dict[str, Any]:
    made = {**_accuracy(quantity.accuracy), "declined": dict(sorted(quantity.declined.items()))}
    if quantity.rows_without_partner:
        made["without_partner"] = _accuracy(accuracy_of(quantity.rows_without_partner))
    return made


def _accuracy(accuracy: Accuracy) -> dict[str, Any]:
    return {
        **_errors(accuracy),
        "coverage_80": accuracy.coverage_80,
        "median_high_over_low": accuracy.median_high_over_low,
    }


def _errors(accuracy: Accuracy) -> dict[str, Any]:
    return {"median_abs_pct": accuracy.median_abs_pct, "p90_abs_pct": accuracy.p90_abs_pct, "n": accuracy.n}


def _rows(quantity: Quantity) -> list[dict[str, Any]]:
    return [
        {
            "id": one.row.id,
            "measured": one.measured,
            "low": one.estimate.low,
            "median": one.estimate.median,
            "high": one.estimate.high,
            "basis": one.estimate.basis,
        }
        for one in (*quantity.scored, *quantity.rows_without_partner)
    ]
