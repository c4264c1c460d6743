"""The sizes of a model that its memory depends on, from a set-up; those it does not tell follow from the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from breakeven.evidence.record import Setup

_SIZE_IN_NAME = re.compile(r"(?:^|[-_/ ])(\d+(?:\.\d+)?)b(?:$|[-_ ])", re.IGNORECASE)
_USUAL_VOCAB = 50000


class Shape(NamedTuple):
    """Sizes of a model: `parameters` all, `active` those used per token; `assumed` names what was not told."""

    parameters: float
    active: float
    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    n_kv_heads: int
    vocab: int
    assumed: tuple[str, ...]

    @property
    def kv_width(self) -> float:
        """Values of a key in one layer."""
        return self.d_model * self.n_kv_heads / self.n_heads

    @property
    def tables(self) -> float:
        """Parameters of the input table and the head, as two."""
        return 2.0 * self.vocab * self.d_model

    @property
    def ffn_matrices(self) -> int:
        """Matrices of one feed-forward part: 3 where it is gated, 2 where not, told by the parameters left for them."""
        layer = (self.parameters - self.tables) / self.n_layers - 2 * self.d_model * (self.d_model + self.kv_width)
        return 2 if layer / (self.d_model * self.d_ff) < 2.45 else 3

    @property
    def experts(self) -> float:
        """Parameters of routed experts, about: what a token does not use, and its share of the rest."""
        return 0.0 if self.active >= self.parameters else min((self.parameters - self.active) * 1.06, self.parameters)


def shape_of(setup: Setup) -> Shape | None:
    """The sizes of the model, None where not even its parameters are known.

    >>> from breakeven.evidence.record import TrainSetup
    >>> shape_of(TrainSetup(gpu="x", model="made-up-7b")).n_layers
    32
    """
    parameters_b = setup.params_b
    assumed = []
    if parameters_b is None:
        found = _SIZE_IN_NAME.search(setup.model or "")
        if found is None:
            return None
        parameters_b = float(found.group(1))
        assumed.append("params_b")
    d_model = setup.d_model
    if d_model is None:
        d_model = max(round(4096 * (parameters_b / 7) ** 0.36 / 128) * 128, 256)
        assumed.append("d_model")
    n_layers = setup.n_layers
    if n_layers is None:
        n_layers = max(round(parameters_b * 1e9 / (13 * d_model**2)), 2)
        assumed.append("n_layers")
    vocab = setup.vocab
    if vocab is None:
        vocab = _USUAL_VOCAB
        assumed.append("vocab")
    n_heads = setup.n_heads or max(d_model // 128, 1)
    return Shape(
        parameters=parameters_b * 1e9,
        active=(setup.active_params_b or parameters_b) * 1e9,
        n_layers=n_layers,
        d_model=d_model,
        d_ff=setup.d_ff or 3 * d_model,
        n_heads=n_heads,
        n_kv_heads=setup.n_kv_heads or n_heads,
        vocab=vocab,
        assumed=tuple(assumed),
    )
