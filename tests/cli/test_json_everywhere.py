"""Every command of the program takes `--json`, found by a walk over the whole tree of commands."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest

from lifeboat_cli import program
from support.cli.cli_client import run

WITHOUT_JSON = {"daemon run": "it is the process of the daemon in the foreground; its log is what it prints"}


def walk_commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield each command that is no group, with its words."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from walk_commands(below)
        else:
            yield below.command_path.removeprefix("lifeboat "), command


COMMANDS = dict(walk_commands(click.Context(program.program, info_name="lifeboat")))


def test_the_walk_reaches_all_depths() -> None:
    assert len(COMMANDS) > 90
    assert {"status", "remote show", "keys init", "endpoint token add", "alf export"} <= set(COMMANDS)


@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_it_takes_json(words: str) -> None:
    options = {name for parameter in COMMANDS[words].params for name in parameter.opts}
    assert ("--json" in options) == (words not in WITHOUT_JSON), WITHOUT_JSON.get(words, "--json is missing")


def test_a_reason_belongs_to_a_command_that_exists() -> None:
    assert set(WITHOUT_JSON) <= set(COMMANDS)


@pytest.mark.parametrize("words", sorted(set(COMMANDS) - set(WITHOUT_JSON)))
def test_a_wrong_use_of_it_is_answered_in_json(words: str, isolated_home: object) -> None:
    error = run(*words.split(), "--no-such-option", expect=2)["error"]
    assert error["code"] == "usage" and "--no-such-option" in error["message"]


@pytest.mark.parametrize("group", ["agents", "config", "keys", "remote"])
def test_a_group_that_lists_by_default_does_so_in_json(
    group: str, isolated_home: object, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([group, "--json"], ["--json", group]):
        capsys.readouterr()
        assert program.run_command(words) == 0
        assert json.loads(capsys.readouterr().out)
