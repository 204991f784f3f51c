"""The guarantees of the data model of Aionforge Memory that are kept here too, with the test for each."""

from __future__ import annotations

import ast
import json
import shutil
import sqlite3
import tomllib
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Never

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.errors import LifeboatError
from lifeboat_formats.interchange import detectors
from lifeboat_formats.interchange.errors import SanitizerFailed
from support.cli.cli_client import run
from support.core.protected import Protected
from support.endpoint.served_apps import bearer, served
from support.formats.brain_servers import BrainServer, brain
from support.formats.conversions import FACTS, FILES, INSTANCES, Bench, bench
from support.paths import ROOT
from support.vault.vaults import content_of, new_vault, put

__all__ = ["bench", "brain", "served"]

PROMISES = 15


@cache
def _promises() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("promises.toml").read_text())["promises"]
    return found


@cache
def _tests_in(file: str) -> frozenset[str]:
    path = ROOT / file
    body = ast.parse(path.read_text()).body if path.is_file() else []
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef))


def test_every_promise_names_tests_that_there_are() -> None:
    assert len({promise["says"] for promise in _promises()}) == PROMISES
    assert [promise["says"] for promise in _promises() if not promise["tests"]] == []
    named = {name for promise in _promises() for name in promise["tests"]}
    missing = [name for name in named if name.partition("::")[2] not in _tests_in(name.partition("::")[0])]
    assert sorted(missing) == []


# One transaction ----------------------------------------------------------------------------------------------------


def _refusing(folder: Path, table: str) -> None:
    """Make the vault's database refuse rows for a table."""
    with closing(sqlite3.connect(folder / "vault" / "vault.db")) as connection:
        connection.execute(
            f"create trigger refusing before insert on {table} begin select raise(abort, 'no room for this'); end"
        )
        connection.commit()


def test_a_change_without_its_audit_row_does_not_happen(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    put(vault, "raw/a", b"first")
    before, rows = content_of(vault.state()), list(vault.audit_rows())
    _refusing(tmp_path, "audit")
    with pytest.raises(LifeboatError, match="no room for this"):
        put(vault, "raw/a", b"second")
    for change in (lambda: vault.pin(0, "kept"), lambda: vault.set("key", {"a": 1}, kind="held")):
        with pytest.raises(LifeboatError, match="no room for this"):
            change()
    assert content_of(vault.state()) == before
    assert list(vault.audit_rows()) == rows
    assert vault.get("key") is None
    vault.close()


def test_an_audit_row_without_its_change_is_not_written(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    put(vault, "raw/a", b"first")
    rows = list(vault.audit_rows())
    _refusing(tmp_path, "sequence")
    with pytest.raises(LifeboatError, match="no room for this"):
        put(vault, "raw/a", b"second")
    assert list(vault.audit_rows()) == rows
    assert vault.check_audit() == []
    vault.close()


# Nothing leaves uncleaned -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", (*FILES, *INSTANCES))
def test_when_the_cleaning_fails_no_format_writes_anything(
    bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: str) -> Never:
        raise ValueError(FACTS[0])

    monkeypatch.setattr(detectors, "find_emails", fails)
    target = bench.place(name)
    before = {path for path in bench.folder.iterdir()}
    with pytest.raises(SanitizerFailed) as refused:
        bench.convert(bench.name, name, target)
    assert FACTS[0] not in str(refused.value)
    new = {path for path in bench.folder.iterdir()} - before
    assert [path for path in new if path.is_file() and b"red and lies" in path.read_bytes()] == []
    assert name in INSTANCES or not Path(target).exists()


# Answers that tell nothing ------------------------------------------------------------------------------------------


def test_routes_of_formats_answer_for_anothers_agent_as_for_none(brain: BrainServer) -> None:
    agent_id = brain.agent()
    nobody = ids.make_id("2026-11-20T12:00:00.000Z")
    other = bearer(brain.served.new_token("push", "pull", "purge", "admin", tenant="office"))

    def answer(method: str, path: str, agent: str) -> tuple[int, Any, list[str]]:
        found = brain.client.request(method, path, params={"agent": agent}, headers=other, content=b"{}")
        document = json.loads(found.text.replace(agent, "AGENT")) if found.text else {}
        document.pop("request_id", None)
        varying = ("x-request-id", "content-length", "date")
        return found.status_code, document, sorted(name for name in found.headers if name not in varying)

    for path in ("/v1/brain/export", "/v1/brain/export/stream", "/brain/export"):
        theirs = answer("GET", path, agent_id)
        assert theirs == answer("GET", path, nobody), path
        assert theirs[0] == 404, path
    assert answer("POST", "/v1/brain/import", agent_id) == answer("POST", "/v1/brain/import", nobody)


# What examines makes nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("doctor",), ("verify", "Ada"), ("doctor", "--remote", "home")])
@pytest.mark.parametrize("is_folder", [True, False])
def test_what_examines_makes_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], is_folder: bool
) -> None:
    home = tmp_path / "mistyped"
    if is_folder:
        home.mkdir()
    monkeypatch.setenv("LIFEBOAT_HOME", str(home))
    error = run(*words, expect=1)["error"]
    assert error["code"] == "home_absent"
    assert str(home) in error["message"]
    assert home.exists() == is_folder
    assert not is_folder or list(home.iterdir()) == []


@pytest.mark.parametrize("words", ["verify", "timeline", "search", "diff", "records list"])
def test_a_vault_that_is_gone_is_told_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    ada = Protected(tmp_path)
    ada.write("MEMORY.md", "# Memory\n\n- The boat is red.\n")
    ada.add()
    for name, value in ada.context.environment.items():
        monkeypatch.setenv(name, value)
    folder = ada.context.home.vault_folder(ada.agent.id)
    shutil.rmtree(folder)
    searched = ["boat"] if words == "search" else []
    assert run(*words.split(), ada.agent.name, *searched, expect=1)["error"]["code"] == "vault_missing"
    assert run("doctor", expect=1)["ok"] is False
    assert not folder.exists()
