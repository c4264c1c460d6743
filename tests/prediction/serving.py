"""Serving set-ups that several tests start from."""

from breakeven.evidence.record import ServeSetup
from breakeven.prediction.serve_shape import Shape, shape_of

LLAMA_8B = ServeSetup(
    gpu="nvidia-h100-sxm-80gb", n_gpus=1, model="llama-3.1-8b", params_b=8.03, active_params_b=8.03, n_layers=32,
    d_model=4096, n_heads=32, n_kv_heads=8, d_ff=14336, vocab=128256, weight_precision="bf16", engine="vllm",
    engine_version="0.10.0", tp=1, pp=1, isl=1000, osl=300, concurrency=16, scenario="server-agg",
)  # fmt: skip
LLAMA_70B = ServeSetup(
    gpu="nvidia-h100-sxm-80gb", n_gpus=4, model="llama-3.1-70b", params_b=70.6, active_params_b=70.6, n_layers=80,
    d_model=8192, n_heads=64, n_kv_heads=8, d_ff=28672, vocab=128256, weight_precision="bf16", engine="vllm",
    engine_version="0.10.0", tp=4, pp=1, isl=1000, osl=300, concurrency=16, scenario="server-agg",
)  # fmt: skip
QWEN_MOE = ServeSetup(
    gpu="nvidia-h200-sxm-141gb", n_gpus=8, model="qwen3-235b-a22b", params_b=235.0, active_params_b=22.0, n_layers=94,
    d_model=4096, n_heads=64, n_kv_heads=4, d_ff=1536, vocab=151936, weight_precision="fp8", engine="sglang",
    engine_version="0.5.6", tp=8, pp=1, isl=1000, osl=300, concurrency=64, scenario="server-agg",
)  # fmt: skip


def shape(setup: ServeSetup) -> Shape:
    """The shape of a set-up that is not declined."""
    made = shape_of(setup)
    assert isinstance(made, Shape), made
    return made
