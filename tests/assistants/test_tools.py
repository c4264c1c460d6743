from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from breakeven.actions.examples import example_path
from breakeven.assistants.server import make_server
from breakeven.assistants.tools import NAMES, Tools
from breakeven.cli.main import main

DAY = "2026-10-25"
JOB = example_path("qlora-8b-10k-pairs.yaml")
SERVED = example_path("serve-8b-or-api.yaml")


def asked(*calls: tuple[str, dict[str, Any]], tools: Tools | None = None) -> list[Any]:
    """What the SDK's own client is answered, over a connection in this process."""

    async def ask() -> list[Any]:
        async with Client(make_server(tools or Tools())) as client:
            return [await client.call_tool(name, values) for name, values in calls]

    return asyncio.run(ask())


def text(result: Any) -> str:
    assert not result.is_error, result.content
    [content] = result.content
    return str(content.text)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments, "--json"]) in {0, 3}
    return capsys.readouterr().out


def test_every_tool_says_what_the_command_line_says(socket_enabled: None, capsys: pytest.CaptureFixture[str]) -> None:
    job, served = JOB.read_text(encoding="utf-8"), SERVED.read_text(encoding="utf-8")
    pair = ("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb")
    calls: list[tuple[str, dict[str, Any], list[str]]] = [
        ("decide", {"jobs": [job], "as_of": DAY}, ["decide", str(JOB), "--as-of", DAY]),
        ("decide", {"jobs": [job, served], "as_of": DAY, "what_if": ["success_rate=0.5"]},
         ["decide", str(JOB), str(SERVED), "--as-of", DAY, "--what-if", "success_rate=0.5"]),
        ("predict", {"job": served, "as_of": DAY}, ["predict", str(SERVED), "--as-of", DAY]),
        ("compare", {"first": pair[0], "second": pair[1], "as_of": DAY}, ["compare", *pair, "--as-of", DAY]),
        ("compare", {"first": pair[0], "second": pair[1], "job": job, "as_of": DAY},
         ["compare", *pair, str(JOB), "--as-of", DAY]),
        ("identify", {"names": ["A100", "p4d.24xlarge"]}, ["gpus", "identify", "A100", "p4d.24xlarge"]),
        ("rent_or_api", {"job": served, "as_of": DAY}, ["rent-or-api", str(SERVED), "--as-of", DAY]),
    ]  # fmt: skip
    results = asked(*((name, values) for name, values, _ in calls))
    for result, (name, _, arguments) in zip(results, calls, strict=True):
        assert text(result) == printed(capsys, *arguments), name
    assert {name for name, _, _ in calls} | {"offers"} == set(NAMES)


def test_offers_are_cut_and_say_so(socket_enabled: None, capsys: pytest.CaptureFixture[str]) -> None:
    few, all_of_them = asked(
        ("offers", {"gpu": "nvidia-h100-sxm-80gb", "as_of": DAY, "most": 3}),
        ("offers", {"gpu": "nvidia-h100-sxm-80gb", "provider": "lowcostgpu", "as_of": DAY}),
    )
    document = json.loads(text(few))
    assert len(document["offers"]) == 3
    assert document["left_out"] > 10
    wanted = printed(
        capsys, "offers", "list", "--gpu", "nvidia-h100-sxm-80gb", "--provider", "lowcostgpu", "--as-of", DAY
    )
    assert json.loads(text(all_of_them)) == {**json.loads(wanted), "left_out": 0}


def test_what_is_wrong_is_told_in_words_and_opens_nothing(socket_enabled: None, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    results = asked(
        ("decide", {"jobs": ["job: ["]}),
        ("decide", {"jobs": []}),
        ("decide", {"jobs": [f"job: x\nmodel: {config}\n"]}),
        ("predict", {"job": "job: x\nmodel: hub:owner/name\n"}),
        ("compare", {"first": "h100", "second": "a100"}),
        ("offers", {"market": "black"}),
        ("offers", {"as_of": "tomorrow"}),
        ("nothing", {}),
    )
    assert all(result.is_error for result in results)
    told = " ".join(result.content[0].text for result in results)
    assert "would open a file" in told
    assert "names several products" in told
    assert "Traceback" not in told


def test_the_tools_only_read(socket_enabled: None) -> None:
    async def ask() -> list[Any]:
        async with Client(make_server(Tools())) as client:
            return list((await client.list_tools()).tools)

    tools = asyncio.run(ask())
    assert [tool.name for tool in tools] == list(NAMES)
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert len(tool.description) > 60


def test_over_standard_input_and_output(socket_enabled: None, tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "breakeven", "mcp", "--store", f"sqlite:///{tmp_path}/none.sqlite", "--locale", "fr"],
        env=dict(os.environ),
    )

    async def ask() -> Any:
        async with Client(command) as client:
            return await client.call_tool("decide", {"jobs": [JOB.read_text(encoding="utf-8")], "as_of": DAY})

    reason = json.loads(text(asyncio.run(ask())))["decisions"][0]["reason"]["text"]
    assert "fois" in reason
    assert not (tmp_path / "none.sqlite").exists()


def test_the_tools_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--list"]) == 0
    listed = json.loads(capsys.readouterr().out)["tools"]
    assert [one["name"] for one in listed] == list(NAMES)
    assert listed[0]["takes"]["required"] == ["jobs"]
