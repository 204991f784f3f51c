"""A restore uses the runtime program that is installed now, not the remembered one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.adapters.fake_openclaw import FakeOpenClaw
from support.adapters.openclaw_stores import api_key, put_shared, store
from support.adapters.openclaw_workspaces import NEW, OLD, make_state_dir
from support.core.protected import SteadyClock

BESIDE_THE_CONFIGURATION = {
    "hooks/tide/HOOK.md": b"# Tide\n",
    "extensions/harbour/index.js": b"export default {}\n",
    "wiki/main/entities/mira.md": b"# Mira\n\nSails on Thursdays.\n",
    "media/inbound/chart.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "memory/lancedb/memories.lance/data/1.lance": bytes(range(256)) * 40,
    "settings/tts.json": b'{"voice": "calm"}\n',
}


class Lost:
    """The agent `main` in a state directory of a layout, which was lost completely after a capture."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.state = make_state_dir(folder / "user/.openclaw", layout=layout)
        if layout == NEW:
            orchard = api_key("orchard", "sk-example-orchard-1111-not-a-real-key")
            put_shared(self.state.state_database, store(orchard__default=orchard))
        for name, data in BESIDE_THE_CONFIGURATION.items():
            (self.state.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.state.folder / name).write_bytes(data)
            os.utime(self.state.folder / name, (1_790_000_000, 1_790_000_000))  # stores are taken when they are at rest
        self.fake = folder / "bin"
        around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user")}
        self.context = Context.open({**around, "PATH": f"{self.fake}:/usr/bin:/bin"}, clock=SteadyClock())
        self.agent, _ = manage_agents.protect_workspace(self.context, self.state.workspace, name="juniper")
        shutil.rmtree(self.state.folder)

    def restored(self, version: str) -> dict[str, object]:
        """Return the configuration after a restore in place, with a program of this release on PATH."""
        fake = FakeOpenClaw.install(self.fake, version=version)
        report = restore_agent(self.context, self.agent, RestoreOptions(yes=True, finish=True, with_credentials=True))
        assert "not on PATH" not in str(report.to_json())
        assert [step["title"] for step in report.steps if step["ok"]] == [step["title"] for step in report.steps]
        self.skipped = report.credentials["skipped"]
        assert fake.commands() != []
        found: dict[str, object] = json.loads(self.state.config.read_text())
        return found


def test_a_program_on_path_is_run_after_a_total_loss(tmp_path: Path) -> None:
    lost = Lost(tmp_path, NEW)
    assert "entries" in str(lost.restored("2026.9.6"))
    assert lost.skipped == 0
    found = {name: (lost.state.folder / name).read_bytes() for name in BESIDE_THE_CONFIGURATION}
    assert found == BESIDE_THE_CONFIGURATION


@pytest.mark.parametrize(("captured", "now", "key"), [(OLD, "2026.9.6", "entries"), (NEW, "2026.2.26", "list")])
def test_the_configuration_is_written_for_the_program_that_is_here_now(
    tmp_path: Path, captured: str, now: str, key: str
) -> None:
    agents_now = Lost(tmp_path, captured).restored(now)["agents"]
    assert isinstance(agents_now, dict)
    assert {"entries", "list"} & agents_now.keys() == {key}
