from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from breakeven.actions.architectures import architecture_of, fetch_config, with_config_path
from breakeven.actions.job_files import load_job
from breakeven.errors import ExternalError, InputError
from breakeven.jobs.job import Job
from breakeven.jobs.read import read_job

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}


def test_a_known_model_by_id_or_hub_name() -> None:
    for name in ("llama-2-7b", "meta-llama/Llama-2-7b-hf"):
        found = architecture_of(read_job(f"job: a\nmodel: {name}\n"))
        assert found is not None
        assert (found.id, found.n_layers) == ("llama-2-7b", 32)
    assert architecture_of(Job(job="a")) is None


def test_a_configuration_lies_beside_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (tmp_path / "job.yaml").write_text("job: a\nmodel: mine/config.json\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "mine")
    job = load_job(tmp_path / "job.yaml")
    found = architecture_of(job)
    assert found is not None
    assert (found.id, found.d_head) == ("mine", 128)
    assert with_config_path(replace(job, model="llama-2-7b"), "x").model == "llama-2-7b"


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '"x"', '{"model_type": "unheard-of"}', "[" * 100_000])
def test_a_file_that_is_no_configuration(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    (tmp_path / "job.yaml").write_text("job: a\nmodel: config.json\n", encoding="utf-8")
    with pytest.raises(InputError):
        load_job(tmp_path / "job.yaml")


def _hub(monkeypatch: pytest.MonkeyPatch, cached: Path | None, fetched: Path | Exception) -> list[bool]:
    """A stand-in for the hub's client; what it returns lists whether each call stayed local."""
    calls: list[bool] = []
    hub, errors = types.ModuleType("huggingface_hub"), types.ModuleType("huggingface_hub.errors")

    class LocalEntryNotFoundError(Exception):
        pass

    class HFValidationError(ValueError):
        pass

    def hf_hub_download(name: str, file: str, *, local_files_only: bool = False) -> str:
        assert file == "config.json"
        calls.append(local_files_only)
        if name.count("/") != 1:
            raise HFValidationError
        if local_files_only:
            if cached is None:
                raise LocalEntryNotFoundError
            return str(cached)
        if isinstance(fetched, Exception):
            raise fetched
        return str(fetched)

    hub.hf_hub_download = hf_hub_download  # type: ignore[attr-defined]
    errors.LocalEntryNotFoundError = LocalEntryNotFoundError  # type: ignore[attr-defined]
    errors.HFValidationError = HFValidationError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return calls


def test_the_hub_is_asked_only_for_a_model_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8")
    calls = _hub(monkeypatch, None, path)
    found = architecture_of(read_job("job: a\nmodel: hub:owner/name\n"))
    assert found is not None
    assert (found.id, found.n_layers) == ("owner/name", 32)
    assert calls == [True, False]
    calls = _hub(monkeypatch, path, OSError("no network"))
    assert fetch_config("owner/name") == path
    assert calls == [True]
    architecture_of(read_job("job: a\nmodel: llama-2-7b\n"))
    assert calls == [True]


def test_a_hub_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _hub(monkeypatch, None, RuntimeError("401 Client Error\nmore"))
    with pytest.raises(ExternalError) as caught:
        fetch_config("owner/name")
    assert (caught.value.code, caught.value.values["problem"]) == ("hub-failed", "401 Client Error")
    with pytest.raises(InputError) as wrong:
        fetch_config("nonsense")
    assert wrong.value.code == "bad-hub-id"
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ExternalError) as caught:
        fetch_config("owner/name")
    assert caught.value.code == "missing-extra"


def test_the_stand_in_has_the_names_of_the_real_client() -> None:
    errors = pytest.importorskip("huggingface_hub.errors", reason="the extra hub is not installed")
    import huggingface_hub

    assert callable(huggingface_hub.hf_hub_download)
    assert issubclass(errors.LocalEntryNotFoundError, Exception)
    assert issubclass(errors.HFValidationError, ValueError)
