"""A restore plans, stages, moves and undoes a database of the runtime like a file."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import CaptureRoot, DatabaseSupport, Installation
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, RowChoice, WriteOrder
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.testing.sample_states import AGENT_ID, MemoryState, make_identity, make_record
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore import (
    RestoreOptions,
    RestoreReport,
    carry_out_plan,
    describe_plan,
    plan_restore,
    recover_restores,
    undo_restore,
)
from lifeboat_core.restore.running_check import make_running_error
from support.alf.raising import raises_code
from support.core.plain_runtime import RUNTIME, PlainAdapter, PlainPlacement, plain_context
from support.killing import killed_at

ROWS = f"raw/{RUNTIME}-home/db/jobs/jobs.jsonl"


class Shelves(PlainAdapter):
    """A runtime that keeps words in `store.db` of its state directory, which is beside the workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.databases = ShelvesDatabases(self)
        self.placement = ShelvesPlacement(self)
        self.orders: list[WriteOrder] = []
        self.at_work = ""
        self.problem: Exception | None = None
        self.withheld: tuple[str, ...] = ()
        self.fates: tuple[ItemFate, ...] = ()

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        found = super().locate(workspace, environment, user_home)
        home = self.placement.home_around(workspace)
        return replace(found, state_dir=home if (home / "store.db").exists() else None)

    def roots(self, installation: Installation) -> list[CaptureRoot]:
        found = [CaptureRoot(f"raw/{RUNTIME}/", installation.workspace)]
        if installation.state_dir is not None:
            found.append(CaptureRoot(f"raw/{RUNTIME}-home/", installation.state_dir, only=("plain.json",)))
        return found


class ShelvesPlacement(PlainPlacement):
    def __init__(self, shelves: Shelves) -> None:
        super().__init__(shelves)
        self.shelves = shelves

    def home_around(self, workspace: Path) -> Path:
        return workspace.parent / ".shelves"

    def running(self, installation: Installation) -> str:
        return self.shelves.at_work


class ShelvesDatabases(DatabaseSupport):
    def __init__(self, shelves: Shelves) -> None:
        self.shelves = shelves

    def files(self, installation: Installation) -> list[Path]:
        return [] if installation.state_dir is None else [installation.state_dir / "store.db"]

    def row_of(self, record: dict[str, Any], root_id: str) -> dict[str, Any]:
        return {"id": f"row {root_id}", "content": record["content"]}

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        shelves = self.shelves
        shelves.orders.append(order)
        if installation.state_dir is None:
            return []
        path = installation.state_dir / "store.db"

        def write(staged: Path) -> None:
            if shelves.problem is not None:
                raise shelves.problem
            make_store(staged, "from the archive")

        beside = tuple(Path(f"{path}{end}") for end in ("-wal", "-shm"))
        return [DatabaseWrite(path, True, write, fates=shelves.fates, replaces=beside, withheld=shelves.withheld)]


def make_store(path: Path, word: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE words (word TEXT)")
        connection.execute("INSERT INTO words VALUES (?)", (word,))


def words(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM words")]


@pytest.fixture
def shelves() -> Shelves:
    return Shelves()


@pytest.fixture
def context(tmp_path: Path, shelves: Shelves) -> Context:
    return plain_context(tmp_path, shelves)


def sample() -> MemoryState:
    return MemoryState().put(f"raw/{RUNTIME}/SOUL.md", b"# Soul\n").put(ROWS, b'{"id":1}\n')


def restored(context: Context, target: Path, state: MemoryState | None = None, **options: Any) -> RestoreReport:
    chosen = RestoreOptions(accept_unsigned=True, reindex=False, **options)
    return carry_out_plan(context, plan_restore(context, state or sample(), target, chosen))


@pytest.fixture
def old(context: Context, tmp_path: Path) -> Path:
    """Return a workspace with a store beside it that has a log."""
    workspace = tmp_path / "there" / "ada"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Old\n")
    home = workspace.parent / ".shelves"
    home.mkdir()
    make_store(home / "store.db", "from before")
    (home / "store.db-wal").write_bytes(b"a log")
    (home / "store.db-shm").write_bytes(b"an index")
    return workspace


def protect(context: Context, workspace: Path) -> None:
    """Let the agent of the state live in a workspace, without a capture."""
    context.keys().ensure()
    context.create_vault(AGENT_ID).close()
    agents.save_agent(context, Agent(AGENT_ID, "ada", RUNTIME, workspace, watched=False))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".lifeboat-undo-" not in str(path)
    }


def test_a_home_is_made_around_a_fresh_folder_with_the_database_in_it(context: Context, tmp_path: Path) -> None:
    report = restored(context, tmp_path / "new" / "ada")
    assert words(tmp_path / "new" / ".shelves" / "store.db") == ["from the archive"]
    assert (tmp_path / "new" / "ada" / "SOUL.md").read_text() == "# Soul\n"
    assert report.files["created"] == 2


def test_a_database_and_its_folder_are_for_their_owner_only(context: Context, tmp_path: Path) -> None:
    restored(context, tmp_path / "new" / "ada")
    home = tmp_path / "new" / ".shelves"
    assert [path.stat().st_mode & 0o777 for path in (home, home / "store.db")] == [0o700, 0o600]


def test_the_tables_of_the_state_reach_the_adapter(context: Context, shelves: Shelves, tmp_path: Path) -> None:
    restored(context, tmp_path / "ada", rows=RowChoice(cron=True))
    (order,) = shelves.orders
    assert dict(order.tables) == {ROWS: b'{"id":1}\n'}
    assert (order.exact, order.before, order.choice.cron) == (False, None, True)


def test_a_database_that_is_there_goes_aside_with_its_log(context: Context, old: Path) -> None:
    report = restored(context, old, yes=True)
    home = old.parent / ".shelves"
    assert words(home / "store.db") == ["from the archive"]
    assert sorted(path.name for path in home.iterdir() if "lifeboat" not in path.name) == ["store.db"]
    assert report.files["overwritten"] == 2
    assert report.files["removed"] == 0


def test_undo_brings_the_database_back_byte_for_byte(context: Context, old: Path) -> None:
    before = files_of(old.parent)
    protect(context, old)
    restored(context, old, yes=True)
    assert files_of(old.parent) != before
    undo_restore(context)
    assert files_of(old.parent) == before


def test_an_index_of_the_log_that_changed_meanwhile_stops_nothing(context: Context, old: Path) -> None:
    made = plan_restore(context, sample(), old, RestoreOptions(accept_unsigned=True, yes=True))
    (old.parent / ".shelves" / "store.db-shm").write_bytes(b"read by somebody")
    carry_out_plan(context, made)
    assert words(old.parent / ".shelves" / "store.db") == ["from the archive"]


def test_a_log_that_grew_meanwhile_stops_the_restore(context: Context, old: Path) -> None:
    made = plan_restore(context, sample(), old, RestoreOptions(accept_unsigned=True, yes=True))
    (old.parent / ".shelves" / "store.db-wal").write_bytes(b"a longer log")
    before = files_of(old.parent)
    with raises_code(RestoreError.TARGET_CHANGED):
        carry_out_plan(context, made)
    assert files_of(old.parent) == before


def test_nothing_is_written_while_the_runtime_runs(context: Context, shelves: Shelves, old: Path) -> None:
    before = files_of(old.parent)
    shelves.at_work = "shelves daemon, process 17"
    with raises_code(RestoreError.RUNTIME_RUNNING, match="process 17") as raised:
        restored(context, old, yes=True)
    assert raised.value.exit_status == 3
    assert raised.value.fix == "quit the program, then run the same command again"
    assert files_of(old.parent) == before


@pytest.mark.parametrize("name", ["zeroclaw", "hermes", "codex"])
def test_a_running_runtime_is_stopped_by_its_own_command_if_it_has_one(isolated_home: Path, name: str) -> None:
    commands = {"zeroclaw": "zeroclaw service stop", "hermes": "hermes gateway stop"}
    error = make_running_error("a program, process 17", Context.open().adapter(name))
    assert error.fix == commands.get(name, "quit the program, then run the same command again")


def test_a_runtime_that_starts_while_files_are_staged_stops_the_restore(
    context: Context, shelves: Shelves, old: Path
) -> None:
    before = files_of(old.parent)
    made = plan_restore(context, sample(), old, RestoreOptions(accept_unsigned=True, yes=True))
    shelves.at_work = "shelves daemon, process 17"
    with raises_code(RestoreError.RUNTIME_RUNNING):
        carry_out_plan(context, made)
    assert files_of(old.parent) == before


def test_a_dry_run_says_that_the_runtime_runs(context: Context, shelves: Shelves, old: Path) -> None:
    shelves.at_work = "shelves daemon, process 17"
    report = restored(context, old, dry_run=True)
    assert any("process 17" in warning for warning in report.warnings)


def test_undo_waits_until_the_runtime_is_stopped(context: Context, shelves: Shelves, old: Path) -> None:
    protect(context, old)
    restored(context, old, yes=True)
    after = files_of(old.parent)
    shelves.at_work = "shelves daemon, process 17"
    with raises_code(RestoreError.RUNTIME_RUNNING):
        undo_restore(context)
    assert files_of(old.parent) == after


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOSPC, "No space left on device"), sqlite3.OperationalError("disk is full")]
)
def test_a_disk_that_is_full_while_the_database_is_written_changes_nothing(
    context: Context, shelves: Shelves, old: Path, problem: Exception
) -> None:
    before = files_of(old.parent)
    shelves.problem = problem
    with raises_code(RestoreError.RESTORE_FAILED):
        restored(context, old, yes=True)
    assert files_of(old.parent) == before
    assert [path for path in old.parent.rglob("*lifeboat*") if path.is_file()] == []


def test_a_restore_that_fails_leaves_no_home_behind(context: Context, shelves: Shelves, tmp_path: Path) -> None:
    shelves.problem = OSError(errno.ENOSPC, "No space left on device")
    with raises_code(RestoreError.RESTORE_FAILED):
        restored(context, tmp_path / "new" / "ada")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    "step",
    [
        CrashPoint.RESTORE_STAGED,
        CrashPoint.RESTORE_JOURNAL_WRITTEN,
        CrashPoint.RESTORE_MOVED_ASIDE,
        CrashPoint.RESTORE_MOVED_IN,
        CrashPoint.RESTORE_JOURNAL_REMOVED,
    ],
)
def test_a_restore_that_is_killed_is_all_old_or_all_new(context: Context, old: Path, step: CrashPoint) -> None:
    before = files_of(old.parent)
    for nth in range(1, 20):
        if not killed_at(lambda: restored(context, old, yes=True), step, nth):
            break
        recover_restores(context)
        after = files_of(old.parent)
        if after != before:
            assert words(old.parent / ".shelves" / "store.db") == ["from the archive"]
            assert set(after) == {".shelves/store.db", "ada/SOUL.md"}
            break
    assert nth > 1 or after != before


def test_a_log_of_a_runtime_that_ran_between_crash_and_recovery_is_not_read_into_the_database(
    context: Context, old: Path
) -> None:
    assert killed_at(lambda: restored(context, old, yes=True), CrashPoint.RESTORE_MOVED_IN, 2)
    home = old.parent / ".shelves"
    (home / "store.db-wal").write_bytes(b"of another database")
    recover_restores(context)
    assert not (home / "store.db-wal").exists()
    assert words(home / "store.db") == ["from the archive"]


def test_a_recovery_waits_until_the_runtime_is_stopped(context: Context, shelves: Shelves, old: Path) -> None:
    assert killed_at(lambda: restored(context, old, yes=True), CrashPoint.RESTORE_MOVED_IN, 2)
    (old.parent / ".shelves" / "store.db").write_bytes(b"of a runtime that was started")
    shelves.at_work = "shelves daemon, process 17"
    (said,) = recover_restores(context)
    assert "process 17" in said
    shelves.at_work = ""
    recover_restores(context)
    assert words(old.parent / ".shelves" / "store.db") == ["from the archive"]


def test_a_database_is_chosen_by_the_name_of_its_rows(context: Context, old: Path) -> None:
    restored(context, old, yes=True, path_globs=("db/store/*",))
    assert words(old.parent / ".shelves" / "store.db") == ["from the archive"]
    assert (old / "SOUL.md").read_text() == "# Old\n"


def test_a_database_that_was_not_asked_for_stays(context: Context, old: Path) -> None:
    restored(context, old, yes=True, path_globs=("SOUL.md",))
    assert words(old.parent / ".shelves" / "store.db") == ["from before"]


def test_rows_that_are_not_written_are_noted(context: Context, shelves: Shelves, tmp_path: Path) -> None:
    shelves.withheld = ("0192aaaa-0000-7000-8000-000000000001",)
    not_written = f"raw/{RUNTIME}-home/db/jobs/jobs.jsonl#1"
    assert restored(context, tmp_path / "new" / "ada").withheld == [*shelves.withheld, not_written]


def test_ids_and_paths_that_were_withheld_are_told_apart(context: Context) -> None:
    with context.create_vault(AGENT_ID) as vault:
        withheld_items.note_withheld(vault, ["raw/openclaw/.env", "0192aaaa-0000-7000-8000-000000000001"])
        assert withheld_items.list_withheld_paths(vault) == {"raw/openclaw/.env"}
        assert withheld_items.list_withheld_records(vault) == {"0192aaaa-0000-7000-8000-000000000001"}
        withheld_items.forget_items_that_exist(vault, ["0192aaaa-0000-7000-8000-000000000001"])
        assert withheld_items.list_withheld_records(vault) == frozenset()


def test_memories_with_cuts_wait_for_their_credentials(context: Context, shelves: Shelves, tmp_path: Path) -> None:
    state = sample().put_document("identity.json", make_identity())
    kept = make_record("The key is .")
    state.add(kept)
    line = f'{{"id":"row {kept["id"]}","content":"The key is ."}}\n'.encode()
    cut = {"offset": line.index(b' ."}') + 1, "credential_id": "c1"}
    state.put(f"raw/{RUNTIME}-home/db/store/memories.jsonl", line, cuts=[cut])
    restored(context, tmp_path / "ada", state)
    (order,) = shelves.orders
    assert order.cut == {kept["id"]}
    assert dict(order.texts) == {}


def test_the_plan_counts_rows_by_kind_and_names_no_log(context: Context, shelves: Shelves, old: Path) -> None:
    shelves.fates = (
        ItemFate("memory", "1", ItemOutcome.ACCEPTED),
        ItemFate("memory", "2", ItemOutcome.DEDUPLICATED),
        ItemFate("row", "3", ItemOutcome.OMITTED, "not requested"),
    )
    made = plan_restore(context, sample(), old, RestoreOptions(accept_unsigned=True, yes=True))
    lines = list(describe_plan(made))
    assert "  store.db, memory: 1 accepted, 1 deduplicated" in lines
    assert "  store.db, row: 1 omitted" in lines
    assert [line for line in lines if "-wal" in line] == []
