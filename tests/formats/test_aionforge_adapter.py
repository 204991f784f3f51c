"""Aionforge as a runtime: its folder as files while it is stopped, its memories as rows while it runs."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.errors import DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.item_fates import count_outcomes
from lifeboat_adapters.testing import AdapterConformance, SampleInstallation
from lifeboat_adapters.testing.sample_installation import rows_of
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_core.agents import manage_agents
from lifeboat_core.restore import RestoreOptions, carry_out_plan, plan_restore
from lifeboat_core.settings import config_file
from lifeboat_core.testing.runtime_harness import Harness, context_for
from lifeboat_formats.aionforge.adapter import CORES, AionforgeAdapter
from lifeboat_formats.aionforge.data_dir import SEED
from support.formats.aionforge_instances import AGENT, running, seeded

SEED_TEXT = b"5eed" * 16
LOG = b"SLDB\x01\x00\x03\x00" + bytes(8) + b"frames nobody parses"


def installed(folder: Path) -> SampleInstallation:
    data = folder / ".aionforge"
    (data / "audit").mkdir(parents=True)
    (data / "wal.log").write_bytes(LOG)
    (data / SEED).write_bytes(SEED_TEXT)
    (data / "audit" / "audit_keyring.json").write_text('{"keys": []}\n')
    (data / "config.toml").write_text('[embedder]\napi_key = "sk-test-0123456789abcdefghij"\nmodel = "small"\n')
    (data / "instance.pid").write_text("4711\n")
    return SampleInstallation(workspace=data, user_home=folder)


class AskedAionforge(AionforgeAdapter):
    """The adapter for a user who permits asking the instance of a store beside the folder."""

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        found = super().locate(workspace, environment, user_home)
        return replace(found, remote=True, server=environment.get("SERVED", ""))


class TestAionforge(AdapterConformance):
    served = ""

    @pytest.fixture(autouse=True)
    def _served(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        folder = tmp_path_factory.mktemp("served")
        seeded(folder / "store.json")
        with running(folder / "store.json") as found:
            self.served = found.address
            yield

    def adapter(self) -> Adapter:
        return AskedAionforge()

    def make(self, folder: Path) -> SampleInstallation:
        return replace(installed(folder), environment={"SERVED": self.served})


def test_memories_are_the_nodes_that_the_agent_may_see(tmp_path: Path) -> None:
    seeded(tmp_path / "store.json")
    with running(tmp_path / "store.json") as found:
        adapter, installation = AionforgeAdapter(), _asked(tmp_path, found.address)
        said = {row.values["content"] for row in rows_of(adapter, installation)}
    assert {"The ferry leaves at nine.", "Ada works on the harbour.", "Everybody knows the lighthouse."} <= said
    assert "A secret of the other agent." not in said and "You are the harbour pilot." not in said


def test_nobody_is_asked_unless_the_user_says_so(tmp_path: Path) -> None:
    installation = replace(_asked(tmp_path, "stdio:/no/such/program"), remote=False)
    with pytest.raises(DatabaseAbsent) as caught:
        AionforgeAdapter().databases.memory_store(installation)
    assert caught.value.fix == "lifeboat config set remote_memory true"


def test_a_release_that_cannot_list_what_it_holds_is_an_error_and_no_empty_list(tmp_path: Path) -> None:
    seeded(tmp_path / "store.json")
    with running(tmp_path / "store.json", "0.3.0") as found:
        store = AionforgeAdapter().databases.memory_store(_asked(tmp_path, found.address))
        assert store is not None and not hasattr(store, "table")
        with pytest.raises(RuntimeDatabaseError, match="cannot list"):
            store.stamp()
        with pytest.raises(RuntimeDatabaseError, match="cannot list"):
            list(store.rows())


def test_an_agent_nobody_named_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path / "store.json", asked="") as found:
        store = AionforgeAdapter().databases.memory_store(_asked(tmp_path, found.address))
        assert store is not None and not hasattr(store, "table")
        with pytest.raises(RuntimeDatabaseError, match="the address of Aionforge does not name an agent") as caught:
            store.stamp()
    assert str(caught.value.fix).startswith("lifeboat config set memory_server")


def test_the_stamp_changes_with_what_is_held_and_with_nothing_else(tmp_path: Path) -> None:
    held = seeded(tmp_path / "store.json")
    with running(tmp_path / "store.json") as found:
        store = AionforgeAdapter().databases.memory_store(_asked(tmp_path, found.address))
        assert store is not None and not hasattr(store, "table")
        before = store.stamp()
        assert store.stamp() == before
    held.note("core_edit", AGENT)
    held.save()
    with running(tmp_path / "store.json") as found:
        assert _stamp(tmp_path, found.address) != before


def test_the_seed_of_the_audit_key_is_cut_and_never_stands_in_an_archive(tmp_path: Path) -> None:
    harness = _begun(tmp_path)
    with harness.context.vault(harness.agent.id) as vault:
        state = vault.state()
        bodies = {entry.path: state.body(entry.path) for entry in state.entries()}
    assert SEED_TEXT not in bodies["raw/aionforge/audit/audit_seed"]
    clear = [path for path, body in bodies.items() if SEED_TEXT in body or b"sk-test-0123456789" in body]
    assert not clear
    assert bodies["raw/aionforge/wal.log"] == LOG
    assert "raw/aionforge/instance.pid" not in bodies


@pytest.mark.parametrize("seed", [SEED_TEXT, bytes(range(200, 232)), b"\xff\xfe\x00\x01" * 8])
def test_the_folder_comes_back_byte_for_byte_with_its_seed(tmp_path: Path, seed: bytes) -> None:
    harness = _begun(tmp_path, seed)
    target = tmp_path / "restored" / "data"
    report = harness.restore(target)
    back = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    kept = {name: data for name, data in back.items() if not name.startswith(".")}
    assert kept["audit/audit_seed"] == seed and kept["wal.log"] == LOG
    assert kept["config.toml"] == (harness.made.workspace / "config.toml").read_bytes()
    assert sum(report.outcomes.values()) == report.objects


def test_what_a_running_program_holds_stays_as_it_was_last_copied(tmp_path: Path) -> None:
    harness = _begun(tmp_path)
    log = harness.made.workspace / "wal.log"
    with log.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        log.write_bytes(LOG + b"half of a chan")
        report = harness.capture()
        assert harness.adapter.placement.running(harness.installation(harness.made.workspace))
        assert "raw/aionforge/wal.log" in report.waiting
        assert _body(harness, "raw/aionforge/wal.log") == LOG
    harness.capture(full=True)
    assert _body(harness, "raw/aionforge/wal.log") == LOG + b"half of a chan"


def test_a_restore_never_puts_a_log_under_a_running_program(tmp_path: Path) -> None:
    harness = _begun(tmp_path)
    log = harness.made.workspace / "wal.log"
    log.write_bytes(LOG + b" and more")
    harness.capture(full=True)
    with log.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Exception, match="is using these files"):
            harness.restore(harness.made.workspace, at=0)
    assert log.read_bytes() == LOG + b" and more"


def test_captures_follow_the_instance_and_an_instance_that_is_away_is_no_deletion(tmp_path: Path) -> None:
    held = seeded(tmp_path / "store.json")
    harness = _begun(tmp_path)
    assert harness.memories() == {}
    with running(tmp_path / "store.json") as found:
        _allow(harness, found.address)
        harness.capture(full=True)
        before = harness.memories()
        assert "The ferry leaves at nine." in before.values()
        assert "The ferry leaves at eight." not in before.values(), "what was superseded counts as current"
        assert "Ada lives in the tower." not in before.values(), "what is in quarantine counts as current"
        assert not harness.capture(full=True).changed, "a second capture finds something"
    report = harness.capture(full=True)
    assert harness.memories() == before and report.unread
    held.put("episode", f"agent:{AGENT}", role="user", body="The lighthouse is white.", captured_at=None)
    held.save()
    with running(tmp_path / "store.json") as found:
        _allow(harness, found.address)
        harness.capture(full=True)
    after = harness.memories()
    assert {after[id] for id in after.keys() - before.keys()} == {"The lighthouse is white."}
    assert before.items() <= after.items()


def test_core_blocks_are_the_identity_and_never_a_memory(tmp_path: Path) -> None:
    seeded(tmp_path / "store.json")
    harness = _begun(tmp_path)
    with running(tmp_path / "store.json") as found:
        _allow(harness, found.address)
        (harness.made.workspace / "wal.log").write_bytes(LOG + b".")
        harness.capture(full=True)
    prose = json_codec.decode_json(_body(harness, archive_layout.IDENTITY))["prose"]
    assert prose["soul"] == "You are the harbour pilot."
    assert list(prose["custom_blocks"].values()) == ["Never enter the harbour in fog."]
    assert b"harbour pilot" in _body(harness, CORES)
    assert not [text for text in harness.memories().values() if "fog" in text]


def test_memories_of_another_runtime_arrive_in_the_instance(tmp_path: Path) -> None:
    state = MemoryState()
    for text in ("The ferry leaves at nine.", "Has two boats."):
        state.add(make_record(text, memory_type="semantic", tags=["boats"]))
    context = _begun(tmp_path).context
    (tmp_path / "new").mkdir()
    made_there = installed(tmp_path / "new")
    with running(tmp_path / "store.json") as found:
        for name, value in (("memory_server", found.address), ("remote_memory", "true")):
            config_file.write_config(context.home, context.files, name, value)
        context = context_for(AionforgeAdapter(), made_there, tmp_path / "home")
        options = RestoreOptions(accept_unsigned=True, yes=True, reindex=False, runtime="aionforge")
        made = plan_restore(context, state, made_there.workspace, options)
        waiting = count_outcomes(made.server.fates) if made.server is not None else {}
        report = carry_out_plan(context, made)
        held = found.bodies()
    assert waiting["unresolved"] == 2
    assert sorted(held) == ["Has two boats.", "The ferry leaves at nine."]
    told = [group for group in report.fates if group["kind"] == "memory"]
    assert [(group["outcome"], len(group["names"])) for group in told] == [("transformed", 2)]


def test_the_log_is_never_looked_into() -> None:
    assert AionforgeAdapter().credentials.find("raw/aionforge/wal.log", LOG) is None
    assert AionforgeAdapter().split("raw/aionforge/wal.log", LOG.decode("latin-1")) is None


# Helpers ------------------------------------------------------------------------------------------------------------


def _asked(folder: Path, address: str) -> Installation:
    (folder / "installed").mkdir(exist_ok=True)
    workspace = folder / "installed" / ".aionforge"
    made = (
        SampleInstallation(workspace, folder / "installed") if workspace.is_dir() else installed(folder / "installed")
    )
    return replace(AionforgeAdapter().locate(made.workspace, {}, made.user_home), remote=True, server=address)


def _stamp(folder: Path, address: str) -> Any:
    store = AionforgeAdapter().databases.memory_store(_asked(folder, address))
    assert store is not None and not hasattr(store, "table")
    return store.stamp()


def _begun(folder: Path, seed: bytes = SEED_TEXT) -> Harness:
    (folder / "there").mkdir()
    made = installed(folder / "there")
    (made.workspace / SEED).write_bytes(seed)
    return Harness.begin(AionforgeAdapter(), made, folder / "home")


def _allow(harness: Harness, address: str) -> None:
    agent = manage_agents.load_agent(harness.context, harness.agent.id)
    manage_agents.write_setting(harness.context, agent, "memory_server", address)
    manage_agents.write_setting(
        harness.context, manage_agents.load_agent(harness.context, agent.id), "remote_memory", True
    )


def _body(harness: Harness, path: str) -> bytes:
    with harness.context.vault(harness.agent.id) as vault:
        return vault.state().body(path)
