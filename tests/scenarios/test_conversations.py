"""Conversations that a runtime writes into files: captured on request, up to a limit, purged, searched for secrets."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_adapters.testing import SampleInstallation
from support.adapters.profile_installs import KEY, make_claude_code, make_codex, write_files
from support.cli.cli_client import run


class Kind(NamedTuple):
    """How an agent of a runtime is made, and where the runtime writes conversations, by a number."""

    make: Callable[[Path], SampleInstallation]
    name: str


KINDS = {
    "claude-code": Kind(make_claude_code, "projects/-srv-ada-boats/{}.jsonl"),
    "codex": Kind(make_codex, "sessions/2026/11/2{}/rollout-2026-11-2{}T08-00-00-x.jsonl"),
}


class Talk(NamedTuple):
    """An agent with three conversations, each a day newer and about 400 bytes long."""

    workspace: Path
    files: list[Path]
    agent: str


def _line(number: int, text: str) -> str:
    return json.dumps({"timestamp": f"2026-11-2{number}T08:00:00.000Z", "type": "user", "text": text}) + "\n"


@pytest.fixture(params=KINDS)
def talk(request: pytest.FixtureRequest, isolated_home: Path) -> Talk:
    kind = KINDS[request.param]
    workspace = kind.make(isolated_home).workspace
    for path in workspace.rglob("*.jsonl"):
        path.unlink()
    names = [kind.name.replace("{}", str(number)) for number in range(3)]
    write_files(workspace, {name: _line(at, f"Boat {at}. " * 30) for at, name in enumerate(names)})
    files = [workspace / name for name in names]
    for at, path in enumerate(files):
        os.utime(path, (1_795_000_000 + at, 1_795_000_000 + at))
    return Talk(workspace, files, run("agents", "add", workspace)["id"])


def _captured(talk: Talk, sequence: int | None = None) -> list[bytes]:
    """Return the conversations of a sequence (default: the newest), as a restore writes them."""
    at = run("sync")["agents"][0]["sequence"] if sequence is None else sequence
    live = {path: path.read_bytes() for path in talk.files}
    for path in live:
        path.unlink()
    run("restore", talk.agent, "--yes", "--with-sessions", "--at", str(at))
    found = [path.read_bytes() for path in talk.files if path.exists()]
    for path, data in live.items():
        path.write_bytes(data)
    return found


def test_conversations_are_captured_on_request_only_and_byte_for_byte(talk: Talk) -> None:
    assert _captured(talk) == []
    with talk.files[2].open("ab") as stream:
        stream.write(b'{"b": 1,  "a": "\xc3\xa9"}\nno JSON\n\xff\xfe\n{"line": "x"}\n\n')
    run("config", "set", "transcripts", "true")
    run("sync")
    expected = [path.read_bytes() for path in talk.files]
    assert _captured(talk) == expected


def test_the_setting_says_what_conversations_contain(talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    from lifeboat_cli import program

    assert program.run_command(["config", "set", "transcripts", "true"]) == 0
    assert "warning: conversations contain everything that the agent has read" in " ".join(
        capsys.readouterr().err.split()
    )
    assert program.run_command(["config", "set", "transcripts", "false"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_the_newest_conversations_up_to_the_limit_are_captured_and_the_rest_is_named(
    talk: Talk,
) -> None:
    run("config", "set", "transcripts", "true")
    run("config", "set", "transcripts_limit", "800")
    for _ in range(2):  # a capture that reads nothing says so, too
        [left] = run("sync")["agents"][0]["left_out"].items()
        assert left[0].endswith(talk.files[0].name) and "transcripts_limit (800)" in left[1]
    expected = [path.read_bytes() for path in talk.files[1:]]
    assert _captured(talk) == expected
    run("config", "set", "transcripts_limit", "--default")
    assert run("sync")["agents"][0]["left_out"] == {}
    assert len(_captured(talk)) == 3


def test_a_known_secret_in_a_conversation_is_cut_and_comes_back(talk: Talk, isolated_home: Path) -> None:
    talk.files[1].write_text(_line(1, f"use {KEY}-search"))
    run("config", "set", "transcripts", "true")
    run("sync")
    stored = [path.read_bytes() for path in (isolated_home / "lifeboat").rglob("*") if path.is_file()]
    assert stored and [data for data in stored if f"{KEY}-search".encode() in data] == []
    assert talk.files[1].read_bytes() in _captured(talk)


def test_text_in_a_conversation_that_looks_like_a_secret_is_named_and_can_be_cut(talk: Talk) -> None:
    talk.files[1].write_text(_line(1, "use ghp_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"))
    run("config", "set", "transcripts", "true")
    [found] = run("sync")["agents"][0]["looks_like_secret"]
    assert found.endswith(talk.files[1].name)
    run("agents", "cut", talk.agent, found)
    assert run("status")["agents"][0]["lookalikes"] == 0
    assert talk.files[1].read_bytes() in _captured(talk)


def test_a_purge_covers_conversations_and_keeps_the_text_out_of_later_captures(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.files[0].write_text(_line(0, "The ring lies under the oak."))
    run("config", "set", "transcripts", "true")
    run("sync")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The ring lies under the oak.")))
    run("purge", talk.agent, "--text-stdin", "--yes")
    with talk.files[0].open("a") as stream:
        stream.write(_line(0, "Good evening."))
    run("sync")
    numbers = {each["sequence"] for each in run("timeline", talk.agent)["entries"]}
    kept = [b"".join(_captured(talk, number)) for number in numbers]
    assert len(kept) >= 3 and [data for data in kept if b"under the oak" in data] == []
    assert any(b"Good evening." in data for data in kept)
