"""Every command that an error names as its fix exists, runs in that situation, and leads out of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from lifeboat_cli import program
from support import preloaded
from support.cli.fix_scenarios import SCENARIOS, FixScenario, FixWorld
from support.packages import PACKAGES
from support.paths import ROOT
from support.patience import patience

_LONGEST_WAY = 4
_PLACEHOLDER = re.compile(r"[A-Z][A-Z-]+")
_INFORMING = {
    ("agents", "discover"), ("agents", "list"), ("agents", "show"), ("alf", "validate"), ("config", "list"),
    ("doctor",), ("keys", "status"), ("receipts", "list"), ("records", "list"), ("remote", "list"), ("status",),
    ("timeline",), ("daemon", "status"), ("log",), ("search",),
}  # fmt: skip
"""Commands that only show what a user chooses from: they change nothing, so the first command still fails."""

_REPAIRING = {
    ("agents", "accept"),
    ("agents", "resume"),
    ("remote", "add"),
    ("keys", "unlock"),
    ("restore",),
}
"""Commands that change the situation: the first command works after them."""


def _run(words: list[str], folder: Path) -> tuple[int, list[dict[str, Any]], str]:
    """Run the program; return its exit status, the errors in its document, and its output."""
    is_help = "--help" in words
    ended = preloaded.run(
        [*words, *([] if is_help else ["--json"])], capture_output=True, timeout=patience(), cwd=folder
    )
    said = ended.stdout.decode()
    document = {} if is_help or not said.strip() else json.loads(said)
    errors = [each for each in _objects(document) if "fix" in each and "code" in each and each["code"]]
    return ended.returncode, errors, said + ended.stderr.decode()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _filled_in(fix: str, answers: dict[str, str]) -> list[str]:
    """Return the words of a fix with the obvious answers. A word in capitals without one fails the test."""
    words = shlex.split(fix)
    assert words[0] == "lifeboat", f"not a command of lifeboat: {fix}"
    for at, word in enumerate(words):
        if _PLACEHOLDER.fullmatch(word):
            assert word in answers, f"{fix}: nobody can know {word}"
            words[at] = answers[word]
    return words[1:]


def _check_syntax(words: list[str]) -> None:
    """Fail if a command, an argument or an option of it does not exist."""
    if "--help" in words:
        words = [word for word in words if word != "--help"]
        command: click.Command = program.program
        for word in words:
            assert isinstance(command, click.Group) and word in command.list_commands(click.Context(command)), words
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        return
    context = click.Context(program.program, info_name="lifeboat")
    command, rest = program.program, words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        assert found is not None, f"{rest[0]} is not a command: {words}"
        command, rest = found, rest[1:]
    command.make_context("lifeboat", list(rest), parent=context, resilient_parsing=False).close()


def _is_informing(words: list[str]) -> bool:
    return "--help" in words or any(tuple(words[: len(each)]) == each for each in _INFORMING)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_fix_of_an_error_leads_out_of_it(name: str, isolated_home: Path) -> None:
    world, scenario = FixWorld(isolated_home), SCENARIOS[name]
    first = [str(word) for word in scenario.prepare(world)]
    status, errors, said = _run(first, world.home)
    assert status != 0 and errors, f"{first} does not fail:\n{said}"
    assert not scenario.code or errors[0]["code"] == scenario.code, errors
    _follow(first, errors[0], world, scenario)


def _follow(first: list[str], error: dict[str, Any], world: FixWorld, scenario: FixScenario) -> None:
    """Run the fix, and the fix of its error, until a command succeeds. Fail for a cycle."""
    met = [error["code"]]
    way = [f"lifeboat {shlex.join(first)}: {error['code']}: {error['message']}"]
    scenario.act(world)
    for _ in range(_LONGEST_WAY):
        assert error["fix"], f"no fix:\n{way}"
        words = _filled_in(error["fix"], world.answers)
        way.append(error["fix"])
        _check_syntax(words)
        status, errors, said = _run(words, world.home)
        if status == 0 or not errors:
            assert status == 0 or _is_informing(words), "\n".join([*way, said])
            break
        error = errors[0]
        way.append(f"{error['code']}: {error['message']}")
        assert error["code"] not in met, "\n".join(["a cycle:", *way])
        met.append(error["code"])
    else:
        pytest.fail("\n".join(["the way does not end:", *way]))
    if any(tuple(words[: len(each)]) == each for each in _REPAIRING) and words[:2] != first[:2]:
        _, errors, _ = _run(first, world.home)
        again = [each["message"] for each in errors if each["code"] == met[0]]
        assert not again, "\n".join(["the first command still fails:", *way, *again])


def test_the_table_is_long_enough() -> None:
    assert len(SCENARIOS) >= 40
    assert len({scenario.code for scenario in SCENARIOS.values() if scenario.code}) >= 25


def test_no_fix_is_an_option_without_its_command() -> None:
    """`error.with_again("--redact")` makes a fix that can be pasted."""
    bare = re.compile(r"""\bfix ?= ?f?["']--""")
    sources = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    assert [path.name for path in sources if bare.search(path.read_text())] == []
