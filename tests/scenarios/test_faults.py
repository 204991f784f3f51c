"""What can go wrong around the program, and what must hold then: nothing half done, nothing lost, the reason said
where people look, and the next command works without help."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.demo.tree_comparison import Tree, list_differences, read_tree
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.health.status_gathering import ERROR, gather_status
from lifeboat_core.history import thin_history
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent, undo_restore
from lifeboat_core.verify import samples_and_drills
from support import preloaded
from support.cli.cli_client import run
from support.cli.commands import command, standing, synced
from support.core import invariants
from support.core.harbour import Harbour, harbour
from support.core.protected import SteadyClock
from support.failing_files import READS, WRITES, FailingFiles
from support.patience import patience

SYSTEM = frozenset(
    ("disk_full", "system_refused", "vault_full", "vault_unusable", "restore_failed", "home", "keys", "busy")
)


# The system refuses -------------------------------------------------------------------------------------------


def refusals(
    ada: Harbour, work: Callable[[Context], object], names: frozenset[str], **how: Any
) -> Iterator[str | None]:
    """Run `work` again and again, each time with another operation refused; yields the code it ended with."""
    step = how.pop("step", 3)
    for number in range(1, 500, step):
        files = FailingFiles(how.get("reason", errno.ENOSPC))
        files.nth(names, number, and_after=how.get("and_after", False))
        try:
            work(replace(ada.context, files=files))
            code = None
        except LifeboatError as error:
            code = error.code
            assert code in SYSTEM, error
        if not files.fired:
            return
        yield code


def grow(ada: Harbour) -> None:
    (ada.workspace / "chart.md").write_bytes(os.urandom(300_000).hex().encode())
    (ada.workspace / "photo.raw").write_bytes(os.urandom(700_000))


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_a_capture_that_cannot_write_changes_nothing_and_says_why(ada: Harbour, reason: int) -> None:
    (ada.workspace / "chart.md").write_bytes(os.urandom(300_000).hex().encode())
    ended, said, before = [], [], ada.head
    for code in refusals(ada, lambda context: capture_agent(context, ada.agent), WRITES, reason=reason, step=1):
        ended.append(code)
        if code is None:
            before = ada.head
            (ada.workspace / "chart.md").write_bytes(os.urandom(300_000).hex().encode())
        else:
            assert ada.head == before
            said.append(gather_status(ada.context).agents[0].failed)
    assert any(ended) and any(said)
    ada.capture()
    assert gather_status(ada.context).agents[0].state == "ok"
    invariants.always(ada.context, ada.agent, ada.trees)


def is_one_of(ada: Harbour, *trees: Tree) -> bool:
    now = {path: node for path, node in read_tree(ada.workspace).items() if b".lifeboat-" not in path}
    return any(list_differences(tree, now) == [] for tree in trees)


@pytest.mark.parametrize("and_after", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("what", ["restore", "undo"])
def test_a_restore_that_cannot_write_is_taken_back_whole(ada: Harbour, what: str, and_after: bool) -> None:
    new, old = ada.head, 0

    def go_back(context: Context) -> None:
        restore_agent(context, ada.agent, RestoreOptions(at=old, yes=True, reindex=False))

    def take_back(context: Context) -> None:
        undo_restore(context, ada.agent)

    ended = []
    if what == "undo":
        go_back(ada.context)
    for code in refusals(ada, go_back if what == "restore" else take_back, WRITES, and_after=and_after, step=7):
        ended.append(code)
        recover_restores(ada.context)
        assert is_one_of(ada, ada.trees[old], ada.trees[new])
        assert not list(ada.context.home.restore_folder.glob("*.json"))
        restore_agent(ada.context, ada.agent, RestoreOptions(at=new, yes=True, reindex=False))
        if what == "undo":
            go_back(ada.context)
    assert any(ended)
    invariants.always(ada.context, ada.agent, ada.trees)


def test_a_drill_without_room_blames_no_copy(ada: Harbour) -> None:
    ended = list(refusals(ada, lambda context: samples_and_drills.drill_vault(context, ada.agent), WRITES, step=11))
    assert "disk_full" in ended
    assert gather_status(ada.context).agents[0].damaged is None
    invariants.a_drill_succeeds(ada.context, ada.agent)


@pytest.mark.parametrize("reason", [errno.EIO, errno.EACCES])
def test_what_cannot_be_read_is_no_deletion_wherever_it_happens(ada: Harbour, reason: int) -> None:
    before = ada.head
    work = lambda context: capture_agent(context, ada.agent, full=True)  # noqa: E731
    ended = list(refusals(ada, work, READS, reason=reason, step=2))
    assert len(ended) > 10
    assert ada.head == before
    assert not capture_agent(ada.context, ada.agent).changed


def test_an_unreadable_folder_waits_and_is_counted(ada: Harbour) -> None:
    before = ada.head
    files = FailingFiles(errno.EACCES, lambda name, path: name == "scan" and path.endswith("/memory"))
    report = capture_agent(replace(ada.context, files=files), ada.agent)
    assert files.fired
    assert "raw/openclaw/memory/" in report.unread
    assert ada.head == before
    told = gather_status(ada.context).agents[0]
    assert told.state == "waiting" and told.pending > 2 and "memory" in str(told.reasons)
    capture_agent(ada.context, ada.agent)
    assert gather_status(ada.context).agents[0].state == "ok"


# A small disk ---------------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


needs_mount = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="a small file system is mounted, which only root can on Linux",
)


@needs_mount
def test_a_home_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "home", "6m") as home:
        ada = harbour(tmp_path)
        before = ada.head
        filler = home / "vault" / "filler"
        with filler.open("ab", buffering=0) as stream, pytest.raises(OSError):
            while True:
                stream.write(b"x" * 4096)
        (ada.workspace / "chart.md").write_bytes(os.urandom(400_000).hex().encode())
        with pytest.raises(LifeboatError) as caught:
            capture_agent(ada.context, ada.agent)
        assert caught.value.code in ("vault_full", "disk_full") and caught.value.fix and caught.value.retryable
        assert gather_status(ada.context).agents[0].state == ERROR
        copy = tmp_path / "elsewhere"
        filler.unlink()
        assert ada.head == before
        assert capture_agent(ada.context, ada.agent).changed
        restore_agent(ada.context, ada.agent, RestoreOptions(to=copy, reindex=False))
        missing = list_differences(read_tree(ada.workspace), read_tree(copy))
        assert all(each.startswith("photographs") for each in missing), "only large files give way on a small disk"
        invariants.always(ada.context, ada.agent)


@needs_mount
def test_a_restore_onto_a_full_disk_leaves_it_as_it_was(ada: Harbour, tmp_path: Path) -> None:
    grow(ada)
    ada.capture()
    with small_disk(tmp_path / "stick", "600k") as stick:
        with pytest.raises(LifeboatError) as caught:
            restore_agent(ada.context, ada.agent, RestoreOptions(to=stick / "ada", reindex=False))
        assert caught.value.code in ("restore_failed", "disk_full")
        assert list(stick.iterdir()) == []
    invariants.always(ada.context, ada.agent, ada.trees)


@needs_mount
def test_a_workspace_whose_disk_is_not_there_is_not_captured(tmp_path: Path) -> None:
    state_dir = tmp_path / "user" / ".openclaw"
    with small_disk(state_dir, "4m"):
        ada = harbour(tmp_path)
        number = ada.head
    (state_dir / "workspace").mkdir(parents=True)
    report = capture_agent(ada.context, ada.agent)
    assert report.outcome == "root_missing" and ada.head == number
    assert gather_status(ada.context).agents[0].state == ERROR


# Things that hang or tear ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".lifeboatignore", "memory/pipe.md", "IDENTITY.md", "pipe"])
def test_a_fifo_stops_no_command(cli: Harbour, name: str) -> None:
    (cli.workspace / name).unlink(missing_ok=True)
    os.mkfifo(cli.workspace / name)
    for arguments in (["sync"], ["agents", "show", "ada"], ["agents", "discover"], ["diff", "ada"], ["verify", "ada"]):
        code, document = command(*arguments)
        assert code == (1 if name == ".lifeboatignore" and arguments[0] in ("sync", "verify") else 0), document
    named = command("sync")[1]["agents"][0]["left_out"]
    assert any(path.endswith(name) for path in named)


def test_a_socket_is_named_and_left_out(cli: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cli.workspace)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("door")
        assert "raw/openclaw/door" in synced()["left_out"]


def test_a_file_that_is_rewritten_all_the_time_is_kept_whole_or_as_it_was(ada: Harbour) -> None:
    note, ended = ada.workspace / "memory" / "log.md", threading.Event()

    def write_on() -> None:
        number = 0
        with note.open("r+b", buffering=0) as stream:
            while not ended.wait(0.005):
                number += 1
                stream.seek(0)
                stream.write(b"%08d\n" % number * 5000)

    note.write_bytes(b"%08d\n" % 0 * 5000)
    capture_agent(ada.context, ada.agent)
    kept = 0
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for _ in range(15):
            capture_agent(ada.context, ada.agent)
    finally:
        ended.set()
        writer.join()
    with ada.context.vault(ada.agent.id) as vault:
        for row in vault.sequences():
            state = vault.state(row.number)
            if state.entry("raw/openclaw/memory/log.md") is not None:
                lines = state.body("raw/openclaw/memory/log.md").splitlines()
                assert len(set(lines)) == 1 and len(lines) == 5000
                kept += 1
    assert kept
    assert capture_agent(ada.context, ada.agent).outcome in ("captured", "unchanged")
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.state().body("raw/openclaw/memory/log.md") == note.read_bytes()


# The clock ------------------------------------------------------------------------------------------------------


def partitions_of(ada: Harbour) -> list[tuple[str, bool]]:
    with ada.context.vault(ada.agent.id) as vault:
        head = json_codec.decode_json(vault.state().body(archive_layout.MANIFEST))
    return [(item["file"], item["sealed"]) for item in head["partitions"]]


def test_a_clock_ten_years_ahead_thins_and_seals_nothing_and_heals(tmp_path: Path) -> None:
    clock = SteadyClock()
    ada = harbour(tmp_path, clock)
    for number in range(12):
        clock.advance(minutes=10)
        (ada.workspace / "MEMORY.md").write_text(f"# Tides\n\n## Today\n\nHigh water {number}.\n")
        ada.capture()
    invariants.a_drill_succeeds(ada.context, ada.agent)
    sealed, kept = partitions_of(ada), len(ada.trees)
    clock.jump(days=3650)
    (ada.workspace / "ahead.md").write_text("# Ahead\n\nWritten in another decade.\n")
    ada.capture()
    assert thin_history.apply_retention(ada.context, ada.agent) is not None
    assert partitions_of(ada)[: len(sealed)] == sealed
    samples_and_drills.drill_vault(ada.context, ada.agent)
    assert not gather_status(ada.context).clock_trusted
    with ada.context.vault(ada.agent.id) as vault:
        assert len(vault.sequences()) == kept + 1
    clock.jump(days=-3650)
    clock.advance(minutes=10)
    healed = gather_status(ada.context)
    assert healed.clock_trusted
    assert healed.agents[0].last_verified_at is None, "a drill of the future proves nothing about today"
    (ada.workspace / "back.md").write_text("# Back\n\nThe clock is right again.\n")
    ada.capture()
    invariants.a_drill_succeeds(ada.context, ada.agent)
    assert gather_status(ada.context).agents[0].last_verified_at is not None
    invariants.always(ada.context, ada.agent, ada.trees)


# The workspace goes ---------------------------------------------------------------------------------------------


def _vanish(workspace: Path) -> None:
    workspace.rename(workspace.with_name("elsewhere"))


def _empty(workspace: Path) -> None:
    shutil.rmtree(workspace)
    workspace.mkdir()


def _replace(workspace: Path) -> None:
    _vanish(workspace)
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n\nSomebody else.\n")


@pytest.mark.parametrize("accident", [_vanish, _empty, _replace])
def test_a_workspace_that_goes_is_not_captured_and_comes_back(cli: Harbour, accident: Callable[[Path], None]) -> None:
    number, tree = cli.head, read_tree(cli.workspace)
    accident(cli.workspace)
    assert synced(expect=1)["state"] == "error"
    assert cli.head == number
    assert standing()["state"] == "error"
    run("doctor", expect=1)
    run("restore", "ada", "--yes", "--no-reindex")
    assert list_differences(tree, read_tree(cli.workspace)) == []
    assert synced()["state"] == "ok"
    assert standing()["state"] == "ok"


def test_a_template_over_the_memory_is_captured_held_and_accepted(cli: Harbour) -> None:
    for number in range(12):
        (cli.workspace / "memory" / f"note-{number}.md").write_text(f"# Note {number}\n\nKim said {number}.\n")
    cli.capture()
    good, tree = cli.head, read_tree(cli.workspace)
    shutil.rmtree(cli.workspace / "memory")
    (cli.workspace / "MEMORY.md").write_text("# Memory\n\nNothing yet.\n")
    held = synced()
    assert held["state"] == "held" and held["held"]["previous"] == good
    assert standing()["state"] == "held"
    copy = cli.workspace.parent / "copy"
    run("restore", "ada", "--at", str(good), "--to", copy, "--no-reindex")
    assert list_differences(tree, read_tree(copy)) == []
    run("agents", "accept", "ada")
    assert standing()["state"] == "ok"


# Two at once ----------------------------------------------------------------------------------------------------


def together(*commands: list[str]) -> list[tuple[int, JsonObject]]:
    """Start commands at the same time; how each ended. None may take longer than a minute."""
    started = [preloaded.Popen([*each, "--json"], stdout=subprocess.PIPE) for each in commands]
    ended = []
    for process in started:
        said = process.communicate(timeout=patience())[0]
        ended.append((process.returncode, json.loads(said or b"{}")))
    return ended


def is_busy(document: JsonObject) -> bool:
    if "error" in document:
        return str(document["error"]["code"]) in ("busy", "vault_busy", "target_changed")
    return all("Another command" in str(agent["warnings"]) for agent in document["agents"] if agent["state"] == "error")


def test_commands_at_the_same_time_wait_or_are_told(cli: Harbour, tmp_path: Path) -> None:
    for number in range(3):
        (cli.workspace / f"n{number}.md").write_text(f"# N{number}\n\nAt the same time {number}.\n")
        ended = together(
            ["sync"],
            ["sync"],
            ["restore", "ada", "--yes", "--no-reindex"],
            ["verify", "ada"],
            ["restore", "ada", "--to", str(tmp_path / f"copy-{number}"), "--no-reindex"],
        )
        assert all(code == 0 or is_busy(document) for code, document in ended), ended
    cli.capture()
    invariants.always(cli.context, cli.agent, cli.trees)


def test_a_workspace_that_is_added_twice_at_once_is_one_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import date

    from lifeboat_cli.demo import demo_workspace as demo

    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    workspace = demo.write_workspace(tmp_path / "openclaw", date(2026, 11, 20))
    ended = together(*[["agents", "add", str(workspace)] for _ in range(3)])
    assert sorted(code for code, _ in ended) == [0, 3, 3], ended
    assert len(run("agents", "list")["agents"]) == 1
    assert len(list((tmp_path / "home" / "vault").iterdir())) == 1


def test_settings_that_are_changed_at_once_are_all_changed(cli: Harbour) -> None:
    names = ["artifacts.versions", "held.minimum", "artifacts.threshold", "vault.min_free"]
    ended = together(*[["config", "set", name, "7"] for name in names])
    assert [code for code, _ in ended] == [0] * len(names), ended
    assert all(run("config", "get", name)["value"] == 7 for name in names)


# What is left over ----------------------------------------------------------------------------------------------


def test_nothing_that_a_killed_command_left_stays(cli: Harbour, tmp_path: Path) -> None:
    home = cli.context.home
    scratch = home.restore_folder / "tmp" / f"{cli.context.clock.now():%Y%m%dT%H%M%S}-verify-00000000-999999999"
    scratch.mkdir(parents=True)
    begun = home.vaults_folder / "01a1fab7-127e-762b-a6b8-38e16ce2f0ca"
    begun.mkdir()
    (begun / "vault.db.new").write_bytes(b"")
    temporary = home.state_folder / ".config.good.toml.0123456789ab.tmp"
    temporary.write_bytes(b"")
    os.utime(temporary, (0, 0))
    staged = home.state_folder / f"{cli.agent.id}.staged"
    staged.mkdir()
    (staged / "0").write_bytes(b"left over")
    (cli.workspace / "photo.raw").write_bytes(os.urandom(700_000))
    other = shutil.copytree(cli.workspace, tmp_path / "other", symlinks=True)
    assert synced()["changed"]
    run("verify", "ada")
    run("agents", "add", other)
    assert not any(path.exists() for path in (scratch, begun, temporary, staged))


def test_an_agent_file_is_never_half_written(cli: Harbour) -> None:
    files = FailingFiles(errno.ENOSPC, lambda name, path: name == "write_new")
    with pytest.raises((LifeboatError, OSError)):
        agent_files.save_agent(replace(cli.context, files=files), replace(cli.agent, name="Eve"))
    assert agent_files.load_agent(cli.context, cli.agent.id).name == "Ada"


def test_an_import_that_was_cut_off_before_its_agent_was_written_can_be_made_again(
    cli: Harbour, tmp_path: Path
) -> None:
    archive = tmp_path / "ada.alf"
    run("alf", "export", "openclaw", cli.workspace, "-o", archive)
    run("agents", "remove", "ada", "--yes")
    first = run("alf", "import", archive, "--to", tmp_path / "one", "--runtime", "openclaw")
    cli.context.home.agent_file(cli.agent.id).unlink()
    (cli.context.home.state_folder / f"{cli.agent.id}.good.toml").unlink()  # nor was it ever read
    run("alf", "import", archive, "--to", tmp_path / "two", "--runtime", "openclaw")
    (found,) = run("agents", "list")["agents"]
    assert found["id"] == first["agent"] == cli.agent.id
    assert run("verify", found["id"], "--whole")["mismatches"] == []
