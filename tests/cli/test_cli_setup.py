"""`lifeboat setup` without questions: the state of each step, and what is done automatically."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_daemon.units import systemd
from support import preloaded
from support.adapters.openclaw_workspaces import make_state_dir
from support.cli.cli_client import run
from support.daemon.fake_systemctl import FakeSystemctl
from support.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its service is one of systemd")


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    """Make an agent in the usual folder of its runtime."""
    return make_state_dir(isolated_home / ".openclaw").workspace


@pytest.fixture(autouse=True)
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemctl:
    made = FakeSystemctl(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setattr(systemd, "_PACKAGED", ())
    return made


def _states(document: JsonObject) -> dict[str, str]:
    return {one["name"]: one["state"] for one in document["steps"]}


def test_an_empty_machine_is_told_where_to_begin() -> None:
    document = run("setup")
    assert set(_states(document).values()) == {"missing"}
    assert document["next"] == "lifeboat agents add FOLDER" and document["did"] == []


def test_each_step_stands_as_it_is_and_the_first_one_missing_is_next(workspace: Path, tmp_path: Path) -> None:
    first = run("setup")
    assert _states(first)["find"] == "done" and first["next"] == f"lifeboat agents add {workspace}"
    run("agents", "add", workspace)
    run("agents", "discover", "--dismiss", f"{workspace}-rover")
    then = run("setup")
    assert [name for name, state in _states(then).items() if state == "done"] == ["find", "protect", "key"]
    assert then["next"] == "lifeboat keys init"
    run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    run("keys", "prove", "--words-from", tmp_path / "words")
    assert run("setup")["next"] == "lifeboat remote add NAME URL"
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    assert run("setup")["next"] == "lifeboat service install"
    run("service", "install")
    last = run("setup")
    assert last["next"] is None and set(_states(last).values()) == {"done"}


def test_without_questions_everything_is_done_that_needs_no_secret(workspace: Path) -> None:
    document = run("setup", "--yes")
    assert [one["command"].split()[1:3] for one in document["did"]] == [
        ["agents", "add"],
        ["agents", "add"],
        ["service", "install"],
    ]
    assert _states(document) == {
        "find": "done",
        "protect": "done",
        "key": "done",
        "words": "missing",
        "second_copy": "missing",
        "service": "done",
    }
    assert len(run("agents", "list")["agents"]) == 2
    assert run("setup", "--yes")["did"] == [], "what is done is not done again"


def test_a_machine_without_agents_gets_its_key_all_the_same() -> None:
    assert run("setup", "--yes")["did"][0] == {"command": "lifeboat keys init", "error": None, "left_out": {}}
    assert Context.open().keys().key_id is not None


def test_what_could_not_be_done_is_named_and_the_rest_is_done(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lifeboat_alf.errors import LifeboatError
    from lifeboat_core.agents import manage_agents

    add = manage_agents.protect_workspace

    def refuse_rover(context: Context, folder: Path, **options: object) -> object:
        if "rover" in str(folder):
            raise LifeboatError("it is asleep", fix="wake it")
        return add(context, folder, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(manage_agents, "protect_workspace", refuse_rover)
    document = run("setup", "--yes", expect=1)
    failed = [one["error"]["message"] for one in document["did"] if one["error"]]
    assert failed == ["it is asleep"]
    assert _states(document)["protect"] == "missing" and _states(document)["service"] == "done"


def test_where_no_manager_answers_the_service_is_left_with_its_command(
    workspace: Path, systemctl: FakeSystemctl
) -> None:
    systemctl.be("absent")
    document = run("setup", "--yes")
    (service,) = (one for one in document["steps"] if one["name"] == "service")
    assert service["state"] == "missing" and service["command"] == "lifeboat daemon start"


def test_a_key_that_cannot_be_used_is_a_step_of_its_own(workspace: Path, isolated_home: Path) -> None:
    run("setup", "--yes")
    shutil.rmtree(isolated_home / "lifeboat" / "keys" / "users", ignore_errors=True)
    for file in (isolated_home / "lifeboat" / "keys").glob("user.key"):
        file.unlink()
    document = run("setup")
    assert document["next"] == "lifeboat keys recover" and _states(document)["key"] == "missing"


def test_without_a_terminal_the_steps_are_told_as_text(workspace: Path) -> None:
    told = preloaded.run(["setup"], capture_output=True, text=True, timeout=patience(), stdin=subprocess.DEVNULL)
    assert told.returncode == 0
    assert "missing  Juniper and Rover are not protected." in told.stdout
    assert f"lifeboat agents add {workspace}" in told.stdout
    did = preloaded.run(["setup", "--yes"], capture_output=True, text=True, timeout=patience())
    assert f"$ lifeboat agents add {workspace}\n" in did.stdout and "done     Juniper and Rover" in did.stdout
