"""Choose which GPU to rent by cost per accepted result, not price per hour.

    from breakeven import decide
    decision = decide("job.yaml", offers="book.csv")
    print(decision.choice.offer.id, decision.choice.usd_mean)

Functions are verbs and are loaded when first used, so that importing breakeven stays instant.
"""

from __future__ import annotations

from importlib import import_module

from breakeven.errors import BreakevenError, Caveat, ExternalError, InputError, UndecidableError
from breakeven.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from breakeven.actions.decide import decide, decide_all
    from breakeven.actions.job_files import load_job
    from breakeven.actions.market import load_offers
    from breakeven.actions.predict import predict
    from breakeven.actions.rent_or_api import rent_or_api
    from breakeven.bench.recorders.loop import record_steps
    from breakeven.decisions.decision import Decision
    from breakeven.jobs.job import Job
    from breakeven.offers.offer import Offer

_HOMES = {
    "decide": "breakeven.actions.decide",
    "decide_all": "breakeven.actions.decide",
    "load_job": "breakeven.actions.job_files",
    "load_offers": "breakeven.actions.market",
    "predict": "breakeven.actions.predict",
    "record_steps": "breakeven.bench.recorders.loop",
    "rent_or_api": "breakeven.actions.rent_or_api",
    "Decision": "breakeven.decisions.decision",
    "Job": "breakeven.jobs.job",
    "Offer": "breakeven.offers.offer",
}

__all__ = [
    "BreakevenError",
    "Caveat",
    "Decision",
    "ExternalError",
    "InputError",
    "Job",
    "Offer",
    "UndecidableError",
    "__version__",
    "decide",
    "decide_all",
    "load_job",
    "load_offers",
    "predict",
    "record_steps",
    "rent_or_api",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(name)
    return getattr(import_module(home), name)


def _word_error(error: BreakevenError) -> str:
    from breakeven.reporting.words import Words  # noqa: PLC0415 - only when an error is shown

    return Words().error(error)


BreakevenError.wording = _word_error
