"""Who writes an agent, where it has several second copies, of which some are away or refuse."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import SignatureError
from lifeboat_core.agents import manage_agents
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.history import thin_history
from lifeboat_core.home import user_key_rotation
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import acknowledged_states, agent_adoption, displaced_histories, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.remote_restore import RemoteSource, place_history
from lifeboat_core.remotes.sealed.sealed_log_setup import RemovableLog
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import EpochMoved, RemoteDamaged, RemoteDenied, VaultMissing
from lifeboat_vault.remote.remote_contract import RemoteAgent
from lifeboat_vault.vault import Retention
from support.cli.cli_client import run
from support.core.machines import Machine, there

DISKS = ("one", "two")


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    """With two folders as second copies, which have what it captured first."""
    for name in DISKS:
        (tmp_path / name).mkdir()
    made = joined(Machine(tmp_path / "laptop"), tmp_path)
    made.add(name="ada")
    for name in DISKS:
        assert made.push(name).state == "ok"
    return made


def joined(machine: Machine, tmp_path: Path) -> Machine:
    machine.context.keys().ensure()
    for name in DISKS:
        machine.add_remote(name, (tmp_path / name).as_uri(), sealed=True)
    return machine


@pytest.fixture
def desktop(laptop: Machine, tmp_path: Path) -> Machine:
    """Another machine of the same user, that has nothing yet."""
    made = Machine(tmp_path / "desktop")
    made.learn_words_of(laptop)
    return joined(made, tmp_path)


def name_of(machine: Machine) -> str:
    return machine.context.keys().own_name


def take(desktop: Machine, laptop: Machine, tmp_path: Path) -> None:
    desktop.bring_back(laptop.agent.id, tmp_path / "new", "one", take_over=name_of(laptop))


def change(machine: Machine, text: str) -> None:
    machine.write("MEMORY.md", f"# Memory\n\n{text}\n")
    assert machine.capture().changed


def away(tmp_path: Path, name: str) -> None:
    (tmp_path / name).rename(tmp_path / f"{name} is away")


def back(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name} is away").rename(tmp_path / name)


def test_what_was_captured_before_an_agent_came_back_gives_way_and_the_workspace_is_sent_at_once(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    take(desktop, laptop, tmp_path)
    change(laptop, "Written while the desktop had it.")
    done = laptop.adopt(take_over=name_of(desktop))
    assert done.aside is not None and len(displaced_histories.list_displaced(laptop.context, laptop.agent.id)) == 1
    for name in DISKS:
        assert laptop.push(name).state == "ok"
        assert there(laptop.context, laptop.remote(name), laptop.agent.id) == laptop.entries_at()
        assert desktop.push(name).code == "moved"


def test_a_second_copy_that_is_behind_gets_what_was_captured_before_this_machine_adopted(laptop: Machine) -> None:
    change(laptop, "Only one of them has it.")
    laptop.push("one")
    laptop.adopt()
    assert laptop.push("two").state == "ok"
    assert there(laptop.context, laptop.remote("two"), laptop.agent.id) == laptop.entries_at()


def test_a_second_copy_that_was_away_learns_who_writes_though_nothing_changed(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    away(tmp_path, "two")
    take(desktop, laptop, tmp_path)
    back(tmp_path, "two")
    assert desktop.push("two").state == "ok"
    change(laptop, "It does not know yet.")
    assert laptop.push("two").code == "moved"


def test_who_took_an_agent_over_and_wrote_nothing_yet_is_not_said_to_be_this_machine(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    take(desktop, laptop, tmp_path)
    assert laptop.push("one").message == "the agent moved to another machine"
    change(desktop, "Written on the desktop.")
    desktop.push("one")
    assert laptop.push("one").message == f"the agent moved to {name_of(desktop)}"


def test_a_machine_that_was_taken_over_at_one_second_copy_sends_nothing_to_another(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    away(tmp_path, "two")
    take(desktop, laptop, tmp_path)
    back(tmp_path, "two")
    change(laptop, "It may not send this.")
    assert laptop.push("one").code == "moved"
    outcome = laptop.push("two")
    assert (outcome.state, outcome.code, outcome.sequence) == ("fenced", "moved", 0)
    assert desktop.push("two").state == "ok"
    laptop.adopt(take_over=name_of(desktop))
    assert [laptop.push(name).state for name in DISKS] == ["ok", "ok"]


def test_a_second_copy_that_lets_this_machine_in_no_more_keeps_nobody_from_adopting(
    laptop: Machine, desktop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(desktop, laptop, tmp_path)

    def opened(context: Context, config: RemoteConfig) -> Any:
        if config.name == "two":
            raise RemoteDenied("the token was revoked")
        return open_remote(context, config)

    monkeypatch.setattr(writer_epochs, "open_remote", opened)
    done = laptop.adopt("one", take_over=name_of(desktop))
    assert done.missed == {"two": "the token was revoked"}
    assert laptop.push("one").state == "ok" and desktop.push("one").code == "moved"


def test_a_second_copy_that_another_machine_wrote_to_meanwhile_is_named_and_keeps_what_it_has(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    away(tmp_path, "two")
    take(desktop, laptop, tmp_path)
    change(desktop, "Written on the desktop.")
    desktop.push("one")
    back(tmp_path, "two")
    away(tmp_path, "one")
    change(laptop, "Nobody told the laptop.")
    assert laptop.push("two").state == "ok"
    back(tmp_path, "one")

    assert desktop.push("two").code == "foreign"
    done = desktop.adopt("one")
    assert "another history, up to sequence 1" in done.missed["two"]
    assert (desktop.push("one").state, desktop.push("two").state) == ("ok", "fenced")
    assert there(laptop.context, laptop.remote("two"), laptop.agent.id) == laptop.entries_at()

    kept = agent_adoption.replace_history(
        desktop.context, desktop.known_agent, desktop.remote("two"), accept_unsigned=False, tell=tell_nobody
    )
    assert kept is not None and desktop.push("two").state == "ok"
    assert there(desktop.context, desktop.remote("two"), desktop.agent.id) == desktop.entries_at()
    desktop.restore_from(desktop.agent.name, tmp_path / "copy", "aside")
    assert (tmp_path / "copy" / "MEMORY.md").read_text() == laptop.read("MEMORY.md")
    assert laptop.push("two").state == "fenced"


def test_what_was_written_while_somebody_thought_about_adopting_is_not_passed_over(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    take(desktop, laptop, tmp_path)
    with agent_adoption.prepare_adoption(
        laptop.context, laptop.known_agent, "one", accept_unsigned=False, tell=tell_nobody
    ) as adoption:
        change(desktop, "Written meanwhile.")
        desktop.push("one")
        with pytest.raises(EpochMoved, match="has received a newer sequence"):
            agent_adoption.adopt_agent(laptop.context, adoption, take_over=name_of(desktop))
    assert desktop.push("one").state == "ok"
    assert laptop.push("one").code == "moved"


def test_where_this_machine_may_remove_nothing_no_history_gives_way(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: RemovableLog, agent_id: str) -> None:
        raise RemoteDenied("only the operator of the endpoint can remove an agent")

    monkeypatch.setattr(RemovableLog, "remove_agent", denied)
    monkeypatch.setattr(writer_epochs, "has_remote_state", lambda vault, head: False)
    with pytest.raises(RemoteDenied):
        agent_adoption.replace_history(
            laptop.context, laptop.known_agent, laptop.remote("two"), accept_unsigned=False, tell=tell_nobody
        )
    assert displaced_histories.list_displaced(laptop.context, laptop.agent.id) == []
    assert laptop.push("two").state == "ok"


def test_a_key_that_was_replaced_before_the_first_push_of_a_machine_leaves_no_state_that_counts_no_more(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    take(desktop, laptop, tmp_path)
    old, new = desktop.context.keys().user_key(), UserKey.generate()
    user_key_rotation.rotate_user_key(desktop.context, old, new, compromised=True, lost=None)
    desktop.push("one")
    clean = Machine(tmp_path / "clean")
    clean.learn_words_of(desktop)
    joined(clean, tmp_path)
    report = clean.bring_back(laptop.agent.id, tmp_path / "newest", "one", take_over=name_of(desktop))
    assert report.signature == "signed"


def test_older_states_whose_key_counts_no_more_and_that_were_thinned_here_keep_nobody_out_for_ever(
    laptop: Machine, tmp_path: Path
) -> None:
    change(laptop, "It is kept there, and thinned here.")
    laptop.push("one")
    laptop.clock.advance(days=300)
    change(laptop, "The newest.")
    laptop.push("one")
    thin_history.thin_agent(laptop.context, laptop.known_agent, Retention(0, 0, 0))
    old, new = laptop.context.keys().user_key(), UserKey.generate()
    user_key_rotation.rotate_user_key(laptop.context, old, new, compromised=True, lost=None)
    laptop.push("one")
    clean = Machine(tmp_path / "clean")
    clean.learn_words_of(laptop)
    joined(clean, tmp_path)
    with pytest.raises(SignatureError) as refused:
        clean.bring_back(laptop.agent.id, tmp_path / "newest", "one", take_over=name_of(laptop))
    assert refused.value.fix == "the same command with --accept-unsigned"
    clean.bring_back(laptop.agent.id, tmp_path / "newest", "one", take_over=name_of(laptop), accept_unsigned=True)
    assert (tmp_path / "newest" / "MEMORY.md").read_text() == laptop.read("MEMORY.md")


def test_a_history_that_did_not_part_gives_way_to_nothing(laptop: Machine) -> None:
    change(laptop, "It is only behind.")
    replaced = agent_adoption.replace_history(
        laptop.context, laptop.known_agent, laptop.remote("two"), accept_unsigned=False, tell=tell_nobody
    )
    assert replaced is None and displaced_histories.list_displaced(laptop.context, laptop.agent.id) == []
    assert laptop.push("two").state == "ok"


def test_between_the_two_renames_of_an_adoption_everybody_is_told_to_adopt_again(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    take(desktop, laptop, tmp_path)
    (tmp_path / "new" / "MEMORY.md").write_text("# Memory\n\nWritten on the desktop.\n")
    desktop.capture_and_push("one")
    kept = displaced_histories.set_vault_aside(laptop.context, laptop.agent.id)  # here it was cut off
    with pytest.raises(VaultMissing) as missing:
        laptop.capture()
    assert missing.value.fix == f"lifeboat agents adopt {laptop.agent.id}"
    laptop.adopt(take_over=name_of(desktop))
    assert laptop.push("one").state == "ok"
    assert [one.folder for one in displaced_histories.list_displaced(laptop.context, laptop.agent.id)] == [kept]


def test_what_is_noted_of_two_second_copies_at_once_is_all_kept(laptop: Machine) -> None:
    one, two = (laptop.remote(name).id for name in DISKS)
    with laptop.context.vault(laptop.agent.id) as vault, laptop.context.vault(laptop.agent.id) as other:
        begun = vault._metadata.transaction

        def noted_meanwhile() -> Any:
            vault._metadata.transaction = begun  # type: ignore[method-assign]
            acknowledged_states.note_acknowledged(other, two, message="two")
            return begun()

        vault._metadata.transaction = noted_meanwhile  # type: ignore[method-assign]
        acknowledged_states.note_acknowledged(vault, one, message="one")
        known = acknowledged_states.load_acknowledged(vault)
    assert [known[one].message, known[two].message] == ["one", "two"]


def copied_aside(machine: Machine) -> None:
    """The history as it is now, as if it had given way."""
    copy = machine.context.home.vaults_folder / "copy"
    shutil.copytree(machine.context.home.vault_folder(machine.agent.id), copy)
    displaced_histories.keep_displaced(machine.context, machine.agent.id, copy)


def test_every_history_that_gave_way_is_named_and_can_be_restored_for_90_days(
    laptop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("The first.", "The second."):
        change(laptop, text)
        copied_aside(laptop)
        laptop.clock.advance(hours=24)
    for name, text in (("aside", "The second."), ("aside-2", "The first.")):
        laptop.restore_from("ada", tmp_path / name, name)
        assert text in (tmp_path / name / "MEMORY.md").read_text()
    with pytest.raises(NothingToRestore):
        laptop.restore_from("ada", tmp_path / "none", "aside-3")
    for variable in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(variable, laptop.context.environment[variable])
    assert [one["from"] for one in run("timeline", "ada")["set_aside"]] == ["aside", "aside-2"]
    laptop.clock.advance(hours=24 * 87)
    manage_agents.sweep_removed(laptop.context, trusted=True)
    assert len(displaced_histories.list_displaced(laptop.context, laptop.agent.id)) == 2
    laptop.clock.advance(hours=24 + 1)
    manage_agents.sweep_removed(laptop.context, trusted=True)
    assert list(displaced_histories.name_displaced(laptop.context, laptop.agent.id)) == ["aside"]


# What a machine without the agent says ------------------------------------------------------------------------------


def test_a_restored_agent_is_said_to_be_unprotected_with_the_command_that_protects_it(
    laptop: Machine, desktop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(variable, desktop.context.environment[variable])
    restored = run("restore", "ada", "--from", "one", "--to", tmp_path / "new")
    step = next(each for each in restored["next"] if "not protected" in each["title"])
    run(*shlex.split(step["command"])[1:])
    assert [agent["name"] for agent in run("agents", "list")["agents"]] == ["ada"]
    again = run("restore", "ada", "--from", "one", "--to", tmp_path / "copy")
    assert [each for each in again["next"] if "not protected" in each["title"]] == []


def test_only_a_newest_state_that_is_old_is_warned_about(laptop: Machine, desktop: Machine, tmp_path: Path) -> None:
    fresh = desktop.restore_from("ada", tmp_path / "fresh", "one")
    assert [each for each in fresh.warnings if "newest" in each] == []
    desktop.clock.advance(days=9)
    old = desktop.restore_from("ada", tmp_path / "old", "one")
    assert "captured 2026-11-12" in str(old.warnings) and "9 days ago" in str(old.warnings)
    chosen = desktop.restore_from("ada", tmp_path / "chosen", "one", at="0")
    assert [each for each in chosen.warnings if "newest" in each] == []


def test_an_arrival_that_was_stopped_writes_in_an_epoch_of_its_own(
    laptop: Machine, desktop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(writer_epochs, "raise_epoch_everywhere", stop)
        take(desktop, laptop, tmp_path)
    desktop.agent = manage_agents.load_agent(desktop.context, laptop.agent.id)
    desktop.workspace = desktop.agent.workspace
    change(desktop, "Written after the arrival was stopped.")
    assert desktop.push("one").state == "ok"
    change(laptop, "Written by the machine that wrote before.")
    outcome = laptop.push("one")
    assert (outcome.state, outcome.code) == ("fenced", "moved")


def test_a_history_whose_remote_states_an_impossible_epoch_takes_the_place_of_no_vault(
    laptop: Machine, tmp_path: Path
) -> None:
    agent = laptop.agent
    vault, staged = laptop.context.home.vault_folder(agent.id), tmp_path / "staged"
    shutil.copytree(vault, staged)
    source = RemoteSource(RemoteConfig("one", "file:///x"), RemoteAgent(agent.id, "ada", agent.runtime, 10**6))
    with pytest.raises(RemoteDamaged, match="writer epoch 1000000"):
        place_history(laptop.context, source, staged)
    assert vault.is_dir() and staged.is_dir()
