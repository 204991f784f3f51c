"""A folder remote whose list of purges is lost or damaged: the next contact writes it again, or says who can."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.core.machines import Machine

CODE = "Juniper Quartz 7731 Harbour Lane 58"


@pytest.fixture(params=["--sealed", "--plain"])
def ada(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """An agent of which something was purged, here and in a folder."""
    made = Machine(tmp_path / "machine")
    made.write("notes.txt", f"the code is {CODE}\n")
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "machine" / "home"))
    run("remote", "add", "stick", stick(tmp_path).as_uri(), request.param)
    run("sync")
    run("purge", "ada", "--text", CODE, "--workspace", "--yes")
    return made


def stick(tmp_path: Path) -> Path:
    return tmp_path / "stick"


def lists(tmp_path: Path) -> list[Path]:
    return sorted(stick(tmp_path).rglob("purges-*"))


def damage(tmp_path: Path, how: str) -> None:
    (listed,) = lists(tmp_path)
    if how == "gone":
        listed.unlink()
    else:
        listed.write_bytes(listed.read_bytes()[:20])


@pytest.mark.parametrize("how", ["gone", "cut"])
@pytest.mark.parametrize("words", [("sync",), ("verify", "ada", "--remote", "stick")], ids=["sync", "verify"])
def test_the_next_contact_writes_a_damaged_list_again(
    ada: Machine, tmp_path: Path, how: str, words: tuple[str, ...]
) -> None:
    damage(tmp_path, how)
    run(*words)
    assert run("verify", "ada", "--remote", "stick")["mismatches"] == []
    assert restored(tmp_path) == {"notes.txt": b"the code is \n"}


def restored(tmp_path: Path) -> dict[str, bytes]:
    run("restore", "ada", "--from", "stick", "--to", tmp_path / "out", "--yes")
    return {"notes.txt": (tmp_path / "out" / "notes.txt").read_bytes()}


def test_a_purge_after_the_list_was_lost_is_held_with_the_earlier_ones(ada: Machine, tmp_path: Path) -> None:
    damage(tmp_path, "gone")
    ada.write("more.txt", "another one: Maple Copper 9052 Orchard Road 17\n")
    run("sync")
    run("purge", "ada", "--text", "Maple Copper 9052 Orchard Road 17", "--workspace", "--yes")
    assert run("sync")["agents"][0]["remotes"][0]["state"] == "ok"
    newest = max(lists(tmp_path), key=lambda path: int(path.name.split("-")[1][1:]))
    assert newest.name.startswith("purges-p2-")


def test_a_machine_that_does_not_know_the_list_names_what_helps(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(tmp_path, "gone")
    failed: JsonObject = run("restore", "ada", "--from", "stick", "--to", tmp_path / "out", "--yes", expect=1)
    assert failed["error"]["code"] == "purges_damaged"
    assert failed["error"]["fix"] == "lifeboat sync"
    run("sync")
    assert restored(tmp_path) == {"notes.txt": b"the code is \n"}


def test_a_list_that_this_machine_does_not_know_whole_stays_an_error(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lifeboat_core.remotes.sealed.sealed_log.SealedLog.mend_purges", lambda *given: None)
    damage(tmp_path, "gone")
    run("sync", expect=1)
    agent = run("status")["agents"][0]
    assert (agent["state"], agent["remotes"][0]["code"]) == ("error", "purges_damaged")
    assert "the next sync on a machine that knows every purge" in agent["remotes"][0]["message"]
