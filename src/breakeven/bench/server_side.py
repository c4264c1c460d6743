"""What the server says of itself: version, model, and its own counters before, during and after a replay."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

    from breakeven.bench.origin import Origin

_TIMEOUT_S = 3
_MAX_BYTES = 4 * 2**20
_EVERY_S = 2.0
_LINE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+([-+0-9.eE]+|NaN|[+-]?Inf)(?:\s+\d+)?$")

_NAMES = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing",
                "trtllm_num_requests_running", "nv_trt_llm_request_metrics"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred",
                "trtllm_num_requests_waiting"),
    "kv_cache_share": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage",
                       "llamacpp:kv_cache_usage_ratio", "trtllm_kv_cache_utilization"),
    "prefix_cache_queries": ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    "prefix_cache_hits": ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total",
                          "sglang:cached_tokens_total"),
    "preemptions": ("vllm:num_preemptions_total", "sglang:num_retractions_total"),
    "prompt_tokens": ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "llamacpp:prompt_tokens_total"),
    "generation_tokens": ("vllm:generation_tokens_total", "sglang:generation_tokens_total",
                          "llamacpp:tokens_predicted_total"),
    "gpu_power_w": ("DCGM_FI_DEV_POWER_USAGE",),
    "gpu_utilisation_pct": ("DCGM_FI_DEV_GPU_UTIL",),
    "gpu_memory_mib": ("DCGM_FI_DEV_FB_USED",),
}  # fmt: skip
"""What is looked for, and what engines call it."""


def read_metrics(text: str) -> dict[str, float]:
    """The counters that are looked for in a page of Prometheus metrics, summed over their labels.

    >>> read_metrics('vllm:num_requests_running{engine="0"} 3.0')
    {'running': 3.0}
    """
    known = {name: told for told, names in _NAMES.items() for name in names}
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        told = known.get(match[1]) if match else None
        if match and told is not None:
            value = float(match[3])
            if value == value:  # noqa: PLR0124 - not NaN
                found[told] = found.get(told, 0.0) + value
    return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        """Follow nothing: what we hold goes to the origin that was named, and nowhere else."""


def _fetch(url: str) -> bytes | None:
    """The page at that address; None where there is none. No key is sent."""
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read(_MAX_BYTES)
            return content
    except (OSError, ValueError, urllib.error.URLError):
        return None


def describe_server(origin: Origin) -> dict[str, Any]:
    """What the server tells of itself, as far as it does: `version`, `models`, `engine`."""
    found: dict[str, Any] = {}
    version = _json(_fetch(f"{origin}/version"))
    if isinstance(version, dict) and isinstance(version.get("version"), str):
        found["version"] = version["version"][:100]
    models = _json(_fetch(f"{origin}/v1/models"))
    if isinstance(models, dict) and isinstance(models.get("data"), list):
        found["models"] = [
            {name: one[name] for name in ("id", "max_model_len", "owned_by", "root") if name in one}
            for one in models["data"][:20]
            if isinstance(one, dict)
        ]
    for path, engine in (("/get_server_info", "sglang"), ("/props", "llama.cpp")):
        told = _json(_fetch(f"{origin}{path}"))
        if isinstance(told, dict):
            found["engine"] = engine
            found["settings"] = {
                name: value
                for name, value in told.items()
                if isinstance(value, str | int | float | bool) and "key" not in name and len(str(value)) < 200
            }
            found.setdefault("version", str(told.get("version") or told.get("build_info") or "")[:100] or None)
            break
    return found


def _json(text: bytes | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class Scraper:
    """Reads a server's metrics every two seconds into a file, from a thread of its own."""

    def __init__(self, origin: Origin, file: Path, metrics_url: str | None = None) -> None:
        self._urls = [f"{origin}/metrics", *([metrics_url] if metrics_url else [])]
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[dict[str, float]] = []

    def __enter__(self) -> Self:
        self._look()
        if self.samples:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        if self.samples:
            self._thread.join(2 * _TIMEOUT_S)
            self._look()

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        found: dict[str, float] = {}
        for url in self._urls:
            page = _fetch(url)
            if page is not None:
                found.update(read_metrics(page.decode("utf-8", "replace")))
        if found:
            sample = {"at_s": time.monotonic(), **found}
            self.samples.append(sample)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(sample) + "\n")

    def summary(self) -> dict[str, float]:
        """Counters as what they grew by, levels as their mean and peak."""
        if not self.samples:
            return {}
        first, last = self.samples[0], self.samples[-1]
        told: dict[str, float] = {}
        for name in _NAMES:
            values = [one[name] for one in self.samples if name in one]
            if not values:
                continue
            if name.startswith("prefix") or name in {"preemptions", "prompt_tokens", "generation_tokens"}:
                told[name] = last.get(name, 0.0) - first.get(name, 0.0)
            else:
                told[f"{name}_mean"], told[f"{name}_peak"] = sum(values) / len(values), max(values)
        return told
