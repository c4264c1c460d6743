"""Every launcher there is, ours and those of others that are installed, held to what all must do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from breakeven.errors import InputError
from breakeven.launching.conformance import NonConformance, check_launcher, check_live, example_task
from breakeven.launching.launchers.local import LocalLauncher
from breakeven.plugins import load, names

NEEDED = {
    "kubernetes": {"product": "NVIDIA-A100-SXM4-80GB", "server-image": "vllm/vllm-openai"},
    "ssh": {"host": "me@10.0.0.7"},
    "slurm": {"partition": "a100"},
}


@pytest.mark.parametrize("engine", names("launchers"))
def test_launchers_keep_their_promises_without_their_engine(engine: str, tmp_path: Path) -> None:
    files = check_launcher(load("launchers", engine)(), NEEDED.get(engine))
    for name, text in files.items():
        if name.endswith((".yaml", ".yml")):
            assert yaml.safe_load(text)
        else:
            (tmp_path / name).write_text(text, encoding="utf-8")
            subprocess.run(["sh", "-n", tmp_path / name], check=True)


def test_the_six_engines_are_there() -> None:
    assert {"dstack", "kubernetes", "local", "skypilot", "slurm", "ssh"} <= set(names("launchers"))


def test_this_machine_keeps_its_promises_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAKEVEN_TEST_SECRET", "")
    check_live(LocalLauncher(), {}, tmp_path, os.environ)


def test_a_launcher_that_lets_a_label_through_is_found_out() -> None:
    class Careless(LocalLauncher):
        def render(self, task):  # type: ignore[no-untyped-def]
            return {"job.sh": f"echo {task.label}"}

    with pytest.raises(NonConformance, match="label"):
        check_launcher(Careless())


@pytest.mark.parametrize(
    ("engine", "code"),
    [("kubernetes", "setting-missing"), ("ssh", "setting-missing"), ("skypilot", "engine-lacks-provider"), ("dstack", "engine-lacks-provider")],
)  # fmt: skip
def test_what_an_engine_cannot_do_without_is_asked_for(engine: str, code: str) -> None:
    from dataclasses import replace

    task = example_task({})
    task = replace(task, rented=replace(task.rented, provider="lowcostgpu"))
    with pytest.raises(InputError) as caught:
        load("launchers", engine)().render(task)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("engine", "setting"),
    [("slurm", "partition=a b"), ("slurm", "account=x\n#SBATCH --uid=0"), ("ssh", "host=-oProxyCommand=x"), ("ssh", "host=a;b")],
)  # fmt: skip
def test_settings_cannot_smuggle_in_options(engine: str, setting: str) -> None:
    name, _, value = setting.partition("=")
    with pytest.raises(InputError):
        load("launchers", engine)().render(example_task({name: value}))
