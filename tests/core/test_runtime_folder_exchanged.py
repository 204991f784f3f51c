"""What a restore writes besides its moves follows no link of an agent: credentials for a runtime's own command, the
hook of a runtime, the id for the reference client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.credential_types import CredentialDelivery
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.seams.held_folder import LinkInPath
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import session_hook_setup
from lifeboat_core.errors import SystemRefused
from lifeboat_core.exchange import alf_client
from lifeboat_core.processes import runtime_programs
from lifeboat_core.restore import delivery_run, recover_restores
from support.adapters.fake_openclaw import FakeOpenClaw
from support.core.protected import Protected
from support.exchanging import everything_in, exchange, needs_exchange

pytestmark = needs_exchange
SECRET = b"fake-secret"
ID = "01900000-0000-4000-8000-000000000001"


class Places:
    """The state directory with `agents/main`, which can be exchanged for a link to an outside folder."""

    def __init__(self, folder: Path) -> None:
        self.ada = Protected(folder)
        self.ada.add(name="ada")
        self.state = self.ada.state_dir
        self.main, self.swap, self.outside = self.state / "agents", self.state / "swap", folder / "outside"
        (self.main / "main").mkdir(parents=True)
        (self.outside / "main").mkdir(parents=True)
        (self.outside / "main" / "profiles.json").write_text("of another")
        self.swap.symlink_to(self.outside)
        self.before = everything_in(self.outside)
        self.during = lambda: None

    def exchange(self) -> None:
        exchange(self.main, self.swap)

    def deliver(self, state: Path | None = None) -> delivery_run.DeliveryEnd:
        state = state or self.state
        path = state / "agents" / "main" / "profiles.json"
        delivery = CredentialDelivery({}, "a store", command=("true",), files=((path, SECRET),))

        def run(command: Any, **options: Any) -> runtime_programs.ProgramResult:
            assert (self.main / "main" / "profiles.json").read_bytes() == SECRET
            self.during()
            return runtime_programs.ProgramResult(("true",), 0, "")

        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(runtime_programs, "run_program", run)
            return delivery_run.run_delivery(self.ada.context, self.ada.agent.id, "one", delivery, state)

    def check(self) -> None:
        assert everything_in(self.outside) == self.before


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_credentials_are_written_for_a_command_and_taken_away(places: Places) -> None:
    (places.main / "main" / "profiles.json").write_text("mine")
    assert places.deliver() == delivery_run.DeliveryEnd()
    assert (places.main / "main" / "profiles.json").read_text() == "mine"


def test_a_state_folder_that_is_a_link_of_the_user_is_written_into(places: Places, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(places.state)
    assert places.deliver(tmp_path / "short") == delivery_run.DeliveryEnd()
    assert list((places.main / "main").iterdir()) == []


def test_credentials_are_not_written_through_a_link(places: Places) -> None:
    places.exchange()
    with pytest.raises(LinkInPath):
        places.deliver()
    places.check()


def test_credentials_are_not_taken_away_through_a_link_and_the_next_command_takes_them(places: Places) -> None:
    places.during = places.exchange
    with pytest.raises(LinkInPath):
        places.deliver()
    places.check()
    assert any("could not be removed yet" in said for said in recover_restores(places.ada.context))
    places.check()
    places.exchange()
    assert any("the file was removed" in said for said in recover_restores(places.ada.context))
    assert list((places.main / "main").iterdir()) == []


@pytest.mark.parametrize("name", ["hooks", "hooks/lifeboat"])
def test_a_hook_is_not_written_through_a_link(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link appears after the plan was made."""
    ada = Protected(tmp_path, config='{"agents": {"entries": {"main": {"name": "Ada"}}}}')
    fake = FakeOpenClaw.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    ada.add(name="ada")
    outside = tmp_path / "outside"
    outside.mkdir()
    planned = session_hook_setup.plan_hook

    def plan(*arguments: Any, **options: Any) -> Any:
        found = planned(*arguments, **options)
        link = ada.state_dir / name
        link.parent.mkdir(exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(outside)
        return found

    monkeypatch.setattr(session_hook_setup, "plan_hook", plan)
    monkeypatch.setattr(session_hook_setup, "_run_steps", lambda context, planned: None)
    context = ada.context
    monkeypatch.setitem(context.environment, "PATH", f"{fake.folder}:/usr/bin:/bin")  # type: ignore[arg-type]
    with pytest.raises(SystemRefused, match="the path of the file contains a symbolic link"):
        session_hook_setup.install_hook(context, agents.find_agent(context, "ada"))
    assert list(outside.iterdir()) == []


def test_the_id_for_the_reference_client_is_not_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.write_text("of another")

    class MetFiles(SystemFiles):
        def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
            (workspace / alf_client.AGENT_FILE).symlink_to(outside)
            super().write_new(path, data, mode=mode, sync=sync)

    with monkeypatch.context() as patched:
        patched.setattr(alf_client, "SystemFiles", MetFiles)
        alf_client.leave_agent_id(workspace, ID)
    assert outside.read_text() == "of another"
    (workspace / alf_client.AGENT_FILE).unlink()
    alf_client.leave_agent_id(workspace, ID)
    assert (workspace / alf_client.AGENT_FILE).read_text() == ID
