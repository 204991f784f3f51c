"""The page of the control socket describes what the service does, and its example works."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, cast

import pytest

import lifeboat_daemon
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import control_methods, json_rpc
from lifeboat_daemon.control.client_connection import ConnectionLimits
from lifeboat_daemon.control.control_methods import ControlMethod, HelloAnswer
from lifeboat_daemon.service.control_answers import ControlAnswers
from support.daemon.control_servers import Served, context
from support.paths import ROOT
from support.short_folders import short

__all__ = ["context", "short"]
PAGE = ROOT / "docs" / "control.md"


def _rows(heading: str) -> set[str]:
    """Return the first cells of the tables below a heading."""
    text = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE))


def _methods() -> set[str]:
    answers = ControlAnswers(cast(Any, None))
    return {json_rpc.HELLO, json_rpc.SUBSCRIBE, *answers.handlers()}


def test_every_method_is_documented() -> None:
    assert _rows("Methods") == _methods()


def test_every_typed_method_is_one_of_the_service() -> None:
    typed = {value.name for value in vars(control_methods).values() if isinstance(value, ControlMethod)}
    assert typed <= _methods()


def test_every_event_is_documented() -> None:
    sources = (Path(lifeboat_daemon.__file__).parent / "service").rglob("*.py")
    told = {name for path in sources for name in re.findall(r'\{"event": "([a-z_]+)"', path.read_text())}
    assert _rows("Events") == told | {json_rpc.GOODBYE["event"], json_rpc.LOST["event"]}


def test_every_number_of_an_error_is_documented() -> None:
    known = (value for name, value in vars(json_rpc).items() if name.isupper() and isinstance(value, int))
    assert _rows("Errors") == {str(number) for number in known if -33000 < number < 0}


def test_the_fields_of_hello_are_documented() -> None:
    assert _rows("Hello") == {"app", "token", "reply", *HelloAnswer.__struct_fields__}


def test_the_limits_are_those_that_are_in_force() -> None:
    text, limits = " ".join(PAGE.read_text().split()), ConnectionLimits()
    assert f"A request may have {json_rpc.LARGEST_REQUEST >> 20} MiB" in text
    assert f"an answer or an event {json_rpc.LARGEST >> 20} MiB" in text
    assert f"within {limits.hello:.0f} seconds" in text and f"(it has {limits.leave:.0f} seconds" in text
    assert f"room for {limits.connections} connections" in text
    assert f"{limits.at_work} are worked on at a time" in text
    assert f"more than {limits.events:,} events, or {limits.event_bytes >> 20} MiB" in text


def test_the_example_works(
    context: Context, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(context.home.folder))
    example = PAGE.read_text().split("```python\n")[1].split("```")[0]

    async def daemon(_: JsonObject) -> JsonObject:
        await asyncio.sleep(0)
        return {"running": True, "address": served.server.address}

    async def jobs(_: JsonObject) -> JsonObject:
        return {"jobs": []}

    with Served(context, {"daemon": daemon, "jobs": jobs}) as served:
        exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == [f"0.1.0 {context.home.run_folder / 'control.sock'}", "{'jobs': []}"]
