"""Write the reference of the known models: python scripts/compile_models_doc.py."""

from __future__ import annotations

from pathlib import Path

from breakeven.llms import names
from breakeven.llms.catalog import architecture
from breakeven.llms.counts import kv_bytes_per_token, parameters, state_bytes

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "models.md"

HEAD = """\
# Models

The models a job can name under `model`, by id; the name on the Hugging Face hub works as well, in any case and with an
ending such as `-Instruct` or `-FP8`. Any other model is named by its `config.json`. Written from the packaged data by
`scripts/compile_models_doc.py`.

- *Parameters* are counted from the sizes, every tensor of the language model; vision and audio parts and layers for
  multi-token prediction are left out. *Active* are those used for one token; it differs for mixtures of experts.
- *Layers* `a+b` are blocks with attention and blocks with a linear mixer or none.
- *KV* is the cache that one token takes in BF16 over all attention layers; *window* is how many tokens some layers keep
  (that many of the attention layers). *State* is what a sequence keeps in FP32 whatever its length.
- An embedding model has no cache.

| model | hub | parameters | active | layers | width | KV bytes/token | window | state |
|---|---|--:|--:|--:|--:|--:|--:|--:|
"""


def line(model: str) -> str:
    """One row of the table."""
    found = architecture(model)
    count = parameters(found)
    others = found.n_layers - found.n_attention_layers
    cells = (
        f"`{model}`",
        found.hub_id or "",
        f"{count.total:,}",
        f"{count.active:,}" if count.active != count.total else "",
        f"{found.n_attention_layers}+{others}" if others else f"{found.n_layers}",
        f"{found.d_model:,}",
        f"{kv_bytes_per_token(found):,.0f}" if found.has_head else "",
        f"{found.sliding_window:,} ({found.n_sliding_layers})" if found.n_sliding_layers else "",
        f"{state_bytes(found) / 1e6:.1f} MB" if state_bytes(found) else "",
    )
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The whole page; models in the order of the data."""
    return HEAD + "".join(line(model) + "\n" for model in names.rows())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
