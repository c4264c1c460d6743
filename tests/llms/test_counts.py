import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.llms import counts, names
from breakeven.llms.architecture import Architecture
from breakeven.llms.catalog import architecture
from breakeven.llms.counts import parameters

ALL = sorted(names.names())

# As the models' pages on the hub state them (sum over their safetensors files), or their papers where no page does.
PUBLISHED_TOTALS = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "tinyllama-1.1b": 1_100_048_384,
    "mistral-7b": 7_241_732_096,
    "mistral-7b-v0.3": 7_248_023_552,
    "mistral-nemo-12b": 12_247_782_400,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112,
    "qwen-7b": 7_721_324_544,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "phi-1.5": 1_418_270_720,
    "phi-2": 2_779_683_840,
    "phi-3-mini": 3_821_079_552,
    "phi-4": 14_659_507_200,
    "deepseek-v3": 671_026_419_200,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-moe-16b": 16_375_728_128,
    "gpt-j-6b": 6_050_882_784,
    "gpt-neox-20b": 20_554_567_680,
    "gpt-2": 124_439_808,
    "gpt-2-xl": 1_557_611_200,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "bloom-176b": 176_247_271_424,
    "bloom-7b": 7_069_016_064,
    "dbrx-132b": 131_596_523_520,
    "olmoe-1b-7b": 6_919_161_856,
    "yi-34b": 34_388_917_248,
    "internlm2-7b": 7_737_708_544,
    "baichuan2-7b": 7_505_973_248,
    "glm-4-9b": 9_399_951_360,
    "chatglm3-6b": 6_243_584_000,
    "kimi-k2": 1_026_408_232_448,
    "nemotron-super-49b": 49_867_145_216,
    "jamba-1.5-mini": 51_570_323_328,
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "roberta-large": 355_359_744,
    "bge-m3": 567_754_752,
    "all-minilm-l6-v2": 22_713_216,
    "nomic-embed-text-v1.5": 136_731_648,
    "modernbert-base": 149_014_272,
    "distilbert-base": 66_362_880,
}


def toy(**changes: object) -> Architecture:
    sizes = Architecture(
        id="toy", name="Toy", hub_id=None, source="made up", kind="decoder", n_layers=2, d_model=8, n_heads=2,
        n_kv_heads=1, d_head=4, d_ff=16, vocab=100, tied_embeddings=False, gated_ffn=True,
    )  # fmt: skip
    return replace(sizes, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", PUBLISHED_TOTALS)
def test_totals_are_those_published(model: str) -> None:
    assert parameters(architecture(model)).total == PUBLISHED_TOTALS[model]


def test_totals_are_those_of_another_implementation() -> None:
    """totals.csv: what transformers 5.24.0 counts for the same configurations, built without memory.

    Balancing biases of routers, which it keeps apart, are added.
    """
    with (Path(__file__).parent / "totals.csv").open(encoding="utf-8") as file:
        totals = {row["model"]: int(row["parameters"]) for row in csv.DictReader(file)}
    assert len(totals) >= 200
    assert {model: parameters(architecture(model)).total for model in totals} == totals


def test_mixtures_use_what_their_papers_say() -> None:
    """Published in billions: Mixtral 12.9, DeepSeek-V3 37, Qwen3-30B 3.3, Qwen3-235B 22, DBRX 36, gpt-oss 3.6 and 5.1."""
    billions = {
        "mixtral-8x7b": 12.9,
        "deepseek-v3": 37.6,
        "qwen3-30b-a3b": 3.35,
        "qwen3-235b-a22b": 22.2,
        "dbrx-132b": 36.5,
    }
    for model, expected in billions.items():
        assert parameters(architecture(model)).active / 1e9 == pytest.approx(expected, abs=0.05)
    for model, expected in {"gpt-oss-20b": 3.61, "gpt-oss-120b": 5.13}.items():  # its card leaves the input table out
        assert parameters(architecture(model)).matmul_active / 1e9 == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("model", ALL)
def test_parts_add_up(model: str) -> None:
    found = parameters(architecture(model))
    if architecture(model).stated_parameters is None:
        assert found.embedding + found.head + found.attention + found.ffn + found.other == found.total
    assert found.experts <= found.ffn
    assert 0 < found.active <= found.total
    assert 0 < found.matmul_active <= found.matmul
    assert found.matmul <= found.total + (architecture(model).vocab * architecture(model).d_model)


def test_a_toy_model_counted_by_hand() -> None:
    # attention: q 8x8, k and v 8x4, o 8x8 = 192; feed-forward 3 * 8x16 = 384; two layers; two norms of 8 in each, one last
    found = parameters(toy())
    assert (found.attention, found.ffn, found.other) == (384, 768, 40)
    assert (found.embedding, found.head, found.total) == (800, 800, 2792)
    assert found.matmul_active == 384 + 768 + 800
    tied = parameters(toy(tied_embeddings=True))
    assert (tied.head, tied.total, tied.matmul_active) == (0, 1992, 1952)


def test_a_toy_mixture_counted_by_hand() -> None:
    found = parameters(toy(n_experts=4, n_active_experts=1, d_ff_expert=16, n_dense_layers=1))
    assert found.experts == 4 * 384
    assert found.ffn == 384 + 4 * 384 + 8 * 4
    assert found.active == found.total - 3 * 384


sizes = st.fixed_dictionaries({
    "n_layers": st.integers(1, 100),
    "d_model": st.integers(1, 10_000),
    "n_heads": st.integers(1, 128),
    "n_kv_heads": st.just(1),
    "d_head": st.integers(1, 256),
    "d_ff": st.integers(1, 50_000),
    "vocab": st.integers(1, 300_000),
    "tied_embeddings": st.booleans(),
    "gated_ffn": st.booleans(),
    "qkv_bias": st.booleans(),
    "ffn_bias": st.booleans(),
})  # fmt: skip


@given(sizes, st.sampled_from(["n_layers", "d_model", "n_heads", "d_head", "d_ff", "vocab"]))
def test_larger_is_more(size: dict[str, int], name: str) -> None:
    smaller, larger = toy(**size), toy(**{**size, name: size[name] + 1})
    assert parameters(smaller).total < parameters(larger).total
    assert counts.weight_bytes(smaller) < counts.weight_bytes(larger)
    assert counts.flop_per_token_training(smaller, 100) < counts.flop_per_token_training(larger, 100)


@given(sizes, st.integers(1, 64), st.data())
def test_experts_that_are_not_passed_are_not_active(size: dict[str, int], n_experts: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n_experts))
    found = parameters(toy(**size, n_experts=n_experts, n_active_experts=k, d_ff_expert=7))
    assert found.active <= found.total
    assert (found.active == found.total) == (k == n_experts)


@given(st.sampled_from(ALL), st.integers(0, 200_000), st.integers(0, 200_000))
def test_caches_grow_with_context(model: str, one: int, other: int) -> None:
    found = architecture(model)
    shorter, longer = sorted((one, other))
    assert counts.kv_bytes(found, shorter) <= counts.kv_bytes(found, longer)
    ceiling = counts.kv_bytes_per_token(found) * longer + counts.state_bytes(found)
    assert counts.kv_bytes(found, longer) <= ceiling * (1 + 1e-12)


def test_caches_are_those_published() -> None:
    """Llama 3.1 8B: 128 KiB a token; Llama 2 7B: 512 KiB; DeepSeek-V3: 70 KB (arXiv 2505.09343, table 1)."""
    assert counts.kv_bytes_per_token(architecture("llama-3.1-8b")) == 128 * 1024
    assert counts.kv_bytes_per_token(architecture("llama-2-7b")) == 512 * 1024
    assert counts.kv_bytes_per_token(architecture("deepseek-v3")) == 70_272
    assert counts.kv_bytes_per_token(architecture("llama-3.1-405b")) == 516_096
    assert counts.kv_bytes_per_token(architecture("qwen2.5-72b")) == 327_680
    assert counts.kv_bytes_per_token(architecture("bert-base")) == 0


def test_windows_cap_the_cache() -> None:
    gemma = architecture("gemma-3-27b")
    a_layer = 2 * 16 * 128 * 2
    assert counts.kv_bytes(gemma, 10_000) == a_layer * (52 * 1024 + 10 * 10_000)
    assert counts.kv_bytes(gemma, 1000) == a_layer * 62 * 1000


def test_linear_layers_keep_a_state_and_no_cache() -> None:
    found = architecture("qwen3-next-80b-a3b")
    assert counts.kv_bytes_per_token(found) == 12 * 2 * 2 * 256 * 2
    assert counts.state_bytes(found) == 36 * (32 * 128 * 128 + 8192 * 4) * 4
    assert counts.kv_bytes(found, 0) == counts.state_bytes(found)


def test_four_bit_bases_keep_tables_and_head_at_sixteen() -> None:
    llama = architecture("llama-3.1-70b")
    found = parameters(llama)
    apart = found.embedding + found.head + found.other
    expected = (found.total - apart) * (4 + 0.127) / 8 + apart * 2
    assert counts.weight_bytes(llama, 4) == pytest.approx(expected)
    assert counts.weight_bytes(llama, 4, quantised=False) == found.total / 2
    assert counts.weight_bytes(llama, 4, constants_bits=0.25) > counts.weight_bytes(llama, 4)
    assert counts.weight_bytes(llama, 32) == 4 * found.total


@pytest.mark.parametrize("model", ALL)
def test_fewer_bits_take_less(model: str) -> None:
    found = architecture(model)
    bytes_ = [counts.weight_bytes(found, bits) for bits in (32, 16, 8, 4)]
    assert bytes_ == sorted(bytes_, reverse=True)
    assert bytes_[-1] > parameters(found).total / 2


def test_a_large_batch_reads_every_expert() -> None:
    found = architecture("qwen3-235b-a22b")
    assert counts.expected_experts(found, 1) == pytest.approx(8)
    assert counts.expected_experts(found, 10_000) == pytest.approx(128)
    one, many = (counts.weight_bytes_read(found, tokens=tokens) for tokens in (1, 10_000))
    assert one / 2 == pytest.approx(parameters(found).matmul_active)
    assert many / 2 == pytest.approx(parameters(found).matmul)
    assert counts.weight_bytes_read(architecture("llama-3.1-8b"), tokens=1) == 2 * 7_504_658_432


def test_flop_are_those_of_the_formulas() -> None:
    llama = architecture("llama-2-7b")
    forward = counts.flop_per_token_forward(llama, 4096)
    assert forward == 2 * 6_607_077_376 + 2 * 32 * 4096 * 4096
    assert counts.flop_per_token_training(llama, 4096) == 6 * 6_607_077_376 + 12 * 32 * 4096 * 4096 / 2
    decoding = counts.attention_flop_per_token(llama, 4096, causal=False)
    assert decoding == 2 * counts.attention_flop_per_token(llama, 4096)


def test_recomputation_and_frozen_weights() -> None:
    llama = architecture("llama-2-7b")
    matmul, attention = 2 * 6_607_077_376, counts.attention_flop_per_token(llama, 512)
    passes = {
        ("none", False): (3, 3),
        ("selective", False): (3, 4),
        ("full", False): (4, 4),
        ("none", True): (2, 3),
        ("full", True): (3, 4),
    }
    for (recompute, frozen), (of_matmul, of_attention) in passes.items():
        found = counts.flop_per_token_training(llama, 512, recompute=recompute, frozen_base=frozen)  # type: ignore[arg-type]
        assert found == of_matmul * matmul + of_attention * attention


def test_a_window_bounds_what_a_token_sees() -> None:
    """The slow way: add up what each token of a sequence sees, the half of its own step left out."""
    window, context = 10, 37
    windowed = toy(sliding_window=window, n_sliding_layers=2)
    seen = sum(min(at + 0.5, window) for at in range(context)) / context
    assert counts.attention_flop_per_token(windowed, context) == pytest.approx(4 * 2 * 8 * seen)
    assert counts.attention_flop_per_token(windowed, context, causal=False) == 4 * 2 * 8 * window


def test_encoders_see_both_ways() -> None:
    bert = architecture("bert-base")
    assert counts.attention_flop_per_token(bert, 128) == 4 * 12 * 768 * 128


def test_sparse_attention_is_bounded() -> None:
    dense, sparse = architecture("deepseek-v3.1"), architecture("deepseek-v3.2")
    at_128k = [counts.attention_flop_per_token(a, 131_072, causal=False) for a in (dense, sparse)]
    assert at_128k[1] < at_128k[0] / 4


def test_adapters_are_as_large_as_published() -> None:
    """LoRA r=8 on q and v of Llama 2 7B: 4.19 million; r=16 on every layer matrix of Llama 3.1 8B: 41.9 million."""
    assert counts.lora_parameters(architecture("llama-2-7b"), 8, targets=frozenset({"q", "v"})) == 4_194_304
    assert counts.lora_parameters(architecture("llama-3.1-8b"), 16) == 41_943_040


def test_layers_without_a_window_may_have_wider_heads() -> None:
    gemma = architecture("gemma-4-31b")
    assert (gemma.n_sliding_layers, gemma.n_attention_layers) == (50, 60)
    sliding, full = 2 * 16 * 256, 2 * 4 * 512
    assert counts.kv_bytes_per_token(gemma) == 2 * (50 * sliding + 10 * full)
    assert counts.kv_bytes(gemma, 10_000) == 2 * (50 * sliding * 1024 + 10 * full * 10_000)
    assert counts.attention_flop_per_token(gemma, 2000, causal=False) == 4 * 32 * (50 * 256 * 1024 + 10 * 512 * 2000)
    names_ = [m.name for m in counts.matrices(gemma)]
    assert (names_.count("q"), names_.count("v")) == (2, 1)


def test_small_gemma_4_is_refused() -> None:
    from breakeven.errors import InputError
    from breakeven.llms.configuration import read_config

    config = {"model_type": "gemma4_text", "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 6,
              "vocab_size": 9, "num_kv_shared_layers": 2}  # fmt: skip
    with pytest.raises(InputError) as caught:
        read_config(config, id="x", source="a test")
    assert caught.value.code == "unknown-model-type"
