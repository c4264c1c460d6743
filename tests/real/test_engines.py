"""Job files against the engines' own packages: run with `pytest -m real tests/real/test_engines.py` (see .ci/run).

BREAKEVEN_SKYPILOT and BREAKEVEN_DSTACK name environments with SkyPilot, and with dstack and kubernetes-validate.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from breakeven.actions.launch import LaunchOptions, render_campaign
from breakeven.launching.conformance import HOSTILE

pytestmark = pytest.mark.real
HERE = Path(__file__).parent
BOOK = """gpu,provider,price,unit,period,currency,seen_at,instance,region
nvidia-a100-sxm-80gb,lambda,1.79,gpu,h,USD,2026-11-30,,us-east-1
nvidia-h100-pcie-80gb,lambda,2.49,gpu,h,USD,2026-11-30,gpu_1x_h100_pcie,us-west-1
nvidia-h100-sxm-80gb,runpod,2.69,gpu,h,USD,2026-11-30,,US
"""
GPUS = ("nvidia-a100-sxm-80gb", "nvidia-h100-pcie-80gb", "nvidia-h100-sxm-80gb")
SETTINGS = {"kubernetes": ["product=NVIDIA-A100-SXM4-80GB", "namespace=bench", "server-image=vllm/vllm-openai:v0.12.0"]}


def environment(variable: str) -> Path:
    named = os.environ.get(variable)
    if not named or not (Path(named) / "bin" / "python").exists():
        pytest.skip(f"{variable} names no environment with the engine's package")
    return Path(named) / "bin" / "python"


def rendered(tmp_path: Path, engine: str, kind: str = "train") -> Path:
    """A campaign of a job with a hostile name."""
    told = json.dumps(HOSTILE.replace("\n", " "))
    plans = {
        "train": f"kind: train\njob: {told}\nmodel: tiny\n",
        "serve": f"plan: 1\njob: {told}\nmodel: tiny\nload: {{concurrency: [1], requests: 4}}\n",
    }
    (tmp_path / "plan.yaml").write_text(plans[kind], encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    options = LaunchOptions(
        engine=engine, gpus=GPUS, books=[tmp_path / "book.csv"], as_of="2026-12-01", environment=["HF_TOKEN"], usd=6.0,
        command=["python", "-c", HOSTILE], settings=SETTINGS.get(engine, []), folder=tmp_path / engine,
    )  # fmt: skip
    return render_campaign(tmp_path / "plan.yaml", options).folder


def checked(python: Path, script: str, files: list[Path], **variables: str) -> Any:
    done = subprocess.run(
        [python, HERE / script, *files], capture_output=True, text=True, timeout=300, check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **variables},
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert told, (done.stdout + done.stderr)[-3000:]
    return json.loads(told[-1].removeprefix("RESULT "))


@pytest.mark.parametrize("kind", ["train", "serve"])
def test_skypilot_loads_and_optimizes_its_tasks(kind: str, tmp_path: Path) -> None:
    python = environment("BREAKEVEN_SKYPILOT")
    files = sorted(rendered(tmp_path, "skypilot", kind).glob("*/task.yaml"))
    home = tmp_path / "home"
    home.mkdir()
    # SkyPilot's first call in a new home sets its database up, and forgets the clouds that were enabled meanwhile.
    subprocess.run([python, HERE / "check_skypilot.py", *files], capture_output=True, check=False, env={"HOME": str(home), "PATH": os.environ["PATH"]})  # fmt: skip
    found = checked(python, "check_skypilot.py", files, HOME=str(home))
    assert [(one["cloud"], one["instance"], one["usd_per_h"]) for one in found] == [
        ("Lambda", "gpu_1x_a100_80gb", 1.79),
        ("Lambda", "gpu_1x_h100_pcie", 2.49),
        ("RunPod", "1x_H100-SXM_SECURE", 2.69),
    ]


@pytest.mark.parametrize("kind", ["train", "serve"])
def test_dstack_takes_its_configurations(kind: str, tmp_path: Path) -> None:
    python = environment("BREAKEVEN_DSTACK")
    files = sorted(rendered(tmp_path, "dstack", kind).glob("*/task.dstack.yml"))
    found = checked(python, "check_dstack.py", files)
    assert [(one["backends"], one["max_price"]) for one in found] == [
        (["lambda"], 1.81),
        (["lambda"], 2.52),
        (["runpod"], 2.72),
    ]
    assert {(one["type"], one["count"], one["memory"]) for one in found} == {("task", 1, 80.0)}
    assert all(one["env"] == ["HF_TOKEN"] and one["max_duration"] < 7200 for one in found)
    assert all(one["files"] == [[".", "/breakeven"]] for one in found)


@pytest.mark.parametrize("kind", ["train", "serve"])
def test_kubernetes_manifests_fit_the_published_schema(kind: str, tmp_path: Path) -> None:
    python = environment("BREAKEVEN_DSTACK")
    folder = rendered(tmp_path, "kubernetes", kind)
    files = sorted(folder.glob("*/job.yaml"))
    assert len(files) == 3
    assert checked(python, "check_kubernetes.py", files)


def test_kustomize_makes_the_config_maps(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    for folder in rendered(tmp_path, "kubernetes").glob("*/"):
        made = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True, timeout=60)
        documents = list(yaml.safe_load_all(made.stdout))
        maps = [one for one in documents if one["kind"] == "ConfigMap"]
        assert {one["metadata"]["namespace"] for one in documents} == {"bench"}
        assert set(maps[0]["data"]) == {"run.py", "task.json", "plan.yaml"}
        wanted = {one["name"] for one in documents[-1]["spec"]["template"]["spec"]["volumes"] if "configMap" in one}
        assert {one["metadata"]["name"] for one in maps} == wanted
        for one in maps:
            size = sum(len(text) for text in {**one.get("data", {}), **one.get("binaryData", {})}.values())
            assert size < 1_048_576
