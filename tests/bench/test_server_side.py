from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

from breakeven.bench.origin import read_origin
from breakeven.bench.server_side import Scraper, describe_server, read_metrics

if TYPE_CHECKING:
    from pathlib import Path

VLLM = """# HELP vllm:num_requests_running x
vllm:num_requests_running{model_name="a",engine="0"} 3.0
vllm:num_requests_running{model_name="a",engine="1"} 2.0
vllm:prefix_cache_hits_total{engine="0"} 1.2e+01
vllm:kv_cache_usage_perc{engine="0"} NaN
other_total 5
DCGM_FI_DEV_POWER_USAGE{gpu="0",modelName="NVIDIA A100-SXM4-40GB"} 350
"""


def test_known_counters_are_read() -> None:
    assert read_metrics(VLLM) == {"running": 5.0, "prefix_cache_hits": 12.0, "gpu_power_w": 350.0}
    assert read_metrics("llamacpp:requests_processing 1\nsglang:token_usage 0.5") == {
        "running": 1.0,
        "kv_cache_share": 0.5,
    }
    assert read_metrics("\x00 not metrics {{{") == {}


class _Pages(BaseHTTPRequestHandler):
    hits = 0.0

    def do_GET(self) -> None:
        _Pages.hits += 5
        pages = {
            "/version": '{"version": "0.32.0"}',
            "/v1/models": '{"data": [{"id": "tiny", "max_model_len": 1024}]}',
            "/metrics": f"vllm:prefix_cache_hits_total {_Pages.hits}\nvllm:num_requests_running 2",
        }
        page = pages.get(self.path)
        self.send_response(404 if page is None else 200)
        self.end_headers()
        self.wfile.write((page or "").encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_describes_itself(socket_enabled: None, tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = read_origin(f"http://127.0.0.1:{server.server_port}/v1")
    assert describe_server(origin) == {"version": "0.32.0", "models": [{"id": "tiny", "max_model_len": 1024}]}
    with Scraper(origin, tmp_path / "server.jsonl") as scraper:
        pass
    assert scraper.summary()["prefix_cache_hits"] == 5.0
    assert scraper.summary()["running_mean"] == 2.0
    assert len((tmp_path / "server.jsonl").read_text().splitlines()) == 2
    server.shutdown()
    server.server_close()
    assert describe_server(origin) == {}
