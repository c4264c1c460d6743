"""Write tests/llms/totals.csv: the known models' parameters as transformers counts them.

Needs transformers and torch, which the project itself does not: pip install transformers torch. Models are built on the
device "meta", without memory or weights. Families that transformers does not hold are left out.
"""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from breakeven.llms import names
from breakeven.llms.catalog import architecture

TOTALS = Path(__file__).parents[1] / "tests" / "llms" / "totals.csv"
SAME = {"kimi_k2": "deepseek_v3"}


def spelled(config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The model type and keys as transformers spells them."""
    keys = dict(config)
    model_type = keys.pop("model_type")
    if "attn_type_list" in keys:
        keys["layer_types"] = ["full_attention" if kind else "linear_attention" for kind in keys.pop("attn_type_list")]
    if keys.get("sliding_window_pattern") == "LLLG":
        keys.pop("sliding_window_pattern")
    if model_type == "gpt_neo":
        keys["attention_types"] = [[["global", "local"], keys["num_layers"] // 2]]
    return SAME.get(model_type, model_type), keys


def count(config: dict[str, Any], *, has_head: bool) -> int:
    """Parameters of the model as built, with the balancing biases of routers."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    model_type, keys = spelled(config)
    known = transformers.AutoConfig.for_model(model_type, **keys)
    kind = transformers.AutoModelForCausalLM if has_head else transformers.AutoModel
    with torch.device("meta"):
        model = kind.from_config(known)
        model.tie_weights()
    balancing = sum(bias.numel() for name, bias in model.named_buffers() if "correction_bias" in name)
    return int(sum(weight.numel() for weight in model.parameters()) + balancing)


def main() -> None:
    """Count every model that can be counted and say which could not."""
    counted: dict[str, int] = {}
    rows = []
    for model, row in names.rows().items():
        has_head = architecture(model).has_head
        key = json.dumps([row["config"], has_head], sort_keys=True)
        if row["config"].get("no_bias") is False:  # its MPT has neither biases nor positions
            continue
        try:
            if key not in counted:
                counted[key] = count(row["config"], has_head=has_head)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the model is left out
            print(f"{model}: {str(problem).splitlines()[0][:100]}")
            continue
        rows.append((model, counted[key]))
    with TOTALS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "parameters"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
