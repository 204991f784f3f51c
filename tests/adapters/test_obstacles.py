"""FIFOs, devices and links replace files that an adapter reads in a runtime's own folder: no read blocks, no other file
is read, and unreadable files are reported."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters import database_reading
from lifeboat_adapters.adapter_registry import load_adapter
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFolders, resolve_guarded
from lifeboat_adapters.memory_stores import MemoryTable
from lifeboat_adapters.openclaw import openclaw_paths as openclaw_paths
from lifeboat_adapters.openclaw.hook import hook_note as notes
from lifeboat_adapters.openclaw.hook import hook_planning
from lifeboat_adapters.small_files import read_small
from lifeboat_adapters.testing.sample_installation import rows_of
from lifeboat_adapters.zeroclaw import zeroclaw_paths as zeroclaw_paths
from lifeboat_formats.aionforge import data_dir
from support.adapters import openclaw_workspaces
from support.adapters.openclaw_workspaces import NEW, OLD
from support.adapters.zeroclaw_installs import make_install
from support.patience import patience

OUTSIDE = "read in another file"
ZEROCLAW = {
    "cron/jobs.db": ("cron_jobs", zeroclaw_paths.CRON_JOBS),
    "knowledge.db": ("nodes", f"{zeroclaw_paths.KNOWLEDGE}nodes.jsonl"),
    "sessions/sessions.db": ("sessions", f"{zeroclaw_paths.SESSIONS}sessions.jsonl"),
}
"""For each database, one of its tables and the archive file of its rows."""


def in_time(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the error that it raises. Fail the test when the call blocks."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(patience(60))
    assert found, "it waits"
    return found[0]


@dataclass(frozen=True)
class Runtime:
    """An installation, and the files that are read in it, by the archive file that they are the source of."""

    runtime: str
    installed: Installation
    files: dict[str, Path]

    def read(self) -> str:
        """Return everything that is read of the runtime, and the reasons for everything that is not, as text."""
        made, said = load_adapter(self.runtime), []
        for call in (
            lambda: list(made.databases.rows(self.installed, transcripts=True, cron=True)),
            lambda: list(made.credentials.learned(self.installed)),
            lambda: rows_of(made, self.installed),
            lambda: [made.databases.unreadable_rows(self.installed, path, b"{}\n") for path in self.files],
            lambda: [str(path) for path in made.databases.files(self.installed)],
            lambda: list(made.credentials.leftovers(self.installed)),
        ):
            said.append(repr(in_time(call)))
        return "\n".join(said)


def openclaw(folder: Path, layout: str) -> Runtime:
    made = openclaw_workspaces.make_state_dir(folder / ".openclaw", layout=layout)
    installed = load_adapter("openclaw").locate(made.workspace, {}, folder)
    if layout == NEW:
        rows = openclaw_paths.DATABASES
        files = {
            f"{rows}state/standing_intents.jsonl": made.state_database,
            f"{rows}agent/memory_entry_origins.jsonl": made.agent_database(),
        }
    else:
        sessions, jobs = made.folder / "agents/main/sessions", made.folder / "cron/jobs.json"
        for file, text in ((sessions / "s-1.jsonl", "{}\n"), (sessions / "sessions.json", "{}"), (jobs, "{}")):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        files = {
            openclaw_paths.CRON_JOBS: jobs,
            f"{openclaw_paths.SESSION_FILES}s-1.jsonl": sessions / "s-1.jsonl",
            f"{openclaw_paths.SESSION_FILES}sessions.jsonl": sessions / "sessions.json",
        }
    return Runtime("openclaw", installed, files)


def zeroclaw(folder: Path, generation: str) -> Runtime:
    made = make_install(folder / ".zeroclaw", generation)
    made.remember("first", "The first memory.")
    installed = load_adapter("zeroclaw").locate(made.workspace(), made.environment, folder)
    files = {"brain": made.database}
    for name, (table, archived) in ZEROCLAW.items():
        path = (made.home if name == "knowledge.db" else made.data) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"create table {table}(id text primary key, content text)")
            database.execute(f"insert into {table} values ('1', 'own row')")
        files[archived] = path
    transcript = made.data / "sessions" / "old.jsonl"
    transcript.write_text('{"line": "own row"}\n')
    return Runtime("zeroclaw", installed, {**files, "transcript": transcript})


MADE: dict[str, Callable[[Path], Runtime]] = {
    "openclaw": lambda folder: openclaw(folder, NEW),
    "openclaw of 2026.2": lambda folder: openclaw(folder, OLD),
    "zeroclaw": lambda folder: zeroclaw(folder, "0.8.3"),
    "early zeroclaw": lambda folder: zeroclaw(folder, "0.5.9"),
}


@pytest.fixture(params=MADE)
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Runtime:
    return MADE[request.param](tmp_path)


def other_than(file: Path, folder: Path) -> Path:
    """Write another file of the same kind, with text that must not be read."""
    made = folder / "outside" / file.name
    made.parent.mkdir(exist_ok=True)
    shutil.copy(file, made)
    if made.read_bytes()[:6] != b"SQLite":
        made.write_text(f'{{"version": 1, "jobs": [{{"id": "{OUTSIDE}"}}], "line": "{OUTSIDE}"}}\n')
        return made
    with closing(sqlite3.connect(made)) as database, database:
        tables = database.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
        for (table,) in tables.fetchall():
            columns = [row[1] for row in database.execute(f'pragma table_info("{table}")') if row[2].upper() == "TEXT"]
            for column in columns:
                try:
                    database.execute(f'update "{table}" set "{column}" = \'{OUTSIDE}\' || rowid')
                except sqlite3.Error:
                    continue
    return made


def fifo(path: Path, folder: Path) -> None:
    os.mkfifo(path)


def link_to_fifo(path: Path, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    path.symlink_to(folder / "fifo")


def link_to_device(path: Path, folder: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_nothing(path: Path, folder: Path) -> None:
    path.symlink_to(folder / "nothing")


NAMED = re.compile("does not exist|is not a regular file|contains a symbolic link|No such file|DatabaseAbsent")
OBSTACLES = [fifo, link_to_fifo, link_to_device, link_to_nothing]


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_nothing_waits_for_what_stands_in_the_place_of_a_file(
    runtime: Runtime, obstacle: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    for file in runtime.files.values():
        kept = file.with_name(f"kept {file.name}.away")
        file.rename(kept)
        place = tmp_path / f"obstacle of {file.name}"
        place.mkdir(exist_ok=True)
        obstacle(file, place)
        assert NAMED.search(runtime.read()), file
        file.unlink()
        kept.rename(file)
        shutil.rmtree(place)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_nothing_waits_for_what_stands_beside_a_database(
    runtime: Runtime, obstacle: Callable[[Path, Path], None], end: str, tmp_path: Path
) -> None:
    for number, file in enumerate(runtime.files.values()):
        place = tmp_path / f"beside {number}"
        place.mkdir()
        beside = file.with_name(f"{file.name}{end}")
        beside.unlink(missing_ok=True)
        obstacle(beside, place)
        runtime.read()
        beside.unlink()


def test_no_file_elsewhere_is_read_through_a_link(runtime: Runtime, tmp_path: Path) -> None:
    for file in runtime.files.values():
        other = other_than(file, tmp_path)
        kept = file.with_name(f"kept {file.name}.away")
        file.rename(kept)
        file.symlink_to(other)
        said = runtime.read()
        assert OUTSIDE not in said, file
        assert "contains a symbolic link" in said, file
        file.unlink()
        kept.rename(file)


def test_no_file_is_read_through_a_link_in_the_place_of_a_folder(runtime: Runtime, tmp_path: Path) -> None:
    for file in runtime.files.values():
        if file.parent in (runtime.installed.state_dir, runtime.installed.workspace):
            continue
        other_than(file, tmp_path)
        kept = file.parent.with_name("kept away")
        file.parent.rename(kept)
        file.parent.symlink_to(tmp_path / "outside")
        said = runtime.read()
        assert OUTSIDE not in said, file
        file.parent.unlink()
        kept.rename(file.parent)


def test_a_whole_runtime_folder_on_another_disk_is_read(runtime: Runtime, tmp_path: Path) -> None:
    state = runtime.installed.state_dir
    assert state is not None
    before = runtime.read()
    state.rename(tmp_path / "disk")
    state.symlink_to(tmp_path / "disk")
    after = runtime.read()
    assert after.replace(str(tmp_path / "disk"), str(state)) == before


# The way there -----------------------------------------------------------------------------------------------------


def test_a_workspace_that_the_user_linked_into_the_runtimes_folder_is_reached(tmp_path: Path) -> None:
    runtime, real = tmp_path / "runtime", tmp_path / "agents" / "ada"
    runtime.mkdir()
    real.mkdir(parents=True)
    (runtime / "workspace").symlink_to(real)
    grounds = GuardedFolders(runtime / "workspace", runtime)
    assert resolve_guarded(runtime / "workspace" / "brain.db", grounds) == real / "brain.db"


def test_a_small_file_of_the_runtime_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text(OUTSIDE)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "workspace").mkdir()
    link = tmp_path / "runtime" / "jobs.json"
    link.symlink_to(tmp_path / "outside.json")
    with pytest.raises(OSError, match="the path of the file contains a symbolic link"):
        read_small(link, GuardedFolders(tmp_path / "workspace", tmp_path / "runtime"))


LEFT = {
    "openclaw": ("agents/main/agent/models.json", "agents/main/agent/codex-home/auth.json", "openclaw.json.bak"),
    "zeroclaw": ("auth-profiles.json.1", "config.toml.1", "backup-1/.env"),
}
"""For each runtime, files that are not captured and are searched for secrets."""


@pytest.mark.parametrize("name", MADE)
def test_no_leftover_is_read_through_a_link(name: str, tmp_path: Path) -> None:
    made = MADE[name](tmp_path)
    (tmp_path / "outside").mkdir()
    for path in LEFT[made.runtime]:
        assert made.installed.state_dir is not None
        file, other = made.installed.state_dir / path, tmp_path / "outside" / Path(path).name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        for form in (f"KEY={OUTSIDE}", f'api_key = "{OUTSIDE}"', f'{{"apiKey": "{OUTSIDE}"}}'):
            other.write_text(form)
            file.symlink_to(other)
            assert OUTSIDE not in made.read(), file
            credentials = load_adapter(made.runtime).credentials
            assert file in [left.path for left in credentials.leftovers(made.installed)], file
            file.unlink()


def test_the_note_of_a_hook_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text('{"added": "read"}')
    folder = tmp_path / "runtime" / "hooks" / "lifeboat"
    folder.mkdir(parents=True)
    (folder / notes.NAME).symlink_to(tmp_path / "outside.json")
    assert notes.read_hook_note(folder) is None
    shutil.rmtree(folder)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "outside.json", tmp_path / "elsewhere" / notes.NAME)
    folder.symlink_to(tmp_path / "elsewhere")
    assert notes.read_hook_note(folder) is None


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "runtime").mkdir()
    path = tmp_path / "runtime" / "rows.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("create table rows(text)")
    return path


def test_a_fifo_that_comes_at_the_moment_of_opening_makes_nobody_wait(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite resolves the path itself, after all checks."""
    connect, waiting = sqlite3.connect, threading.Event()

    def exchanged(*arguments: Any, **options: Any) -> sqlite3.Connection:
        database.unlink()
        os.mkfifo(database)
        waiting.set()
        return connect(*arguments, **options)

    def tables(opened: sqlite3.Connection) -> Iterator[str]:
        yield from (name for (name,) in opened.execute("select name from sqlite_master"))

    monkeypatch.setattr(sqlite3, "connect", exchanged)
    monkeypatch.setattr(database_reading, "OPEN_SECONDS", 0.5)
    guarded = GuardedFolders(tmp_path / "workspace", tmp_path / "runtime")
    found = in_time(lambda: list(database_reading.read_database(database, tables, workspace=guarded)))
    assert waiting.is_set()
    assert isinstance(found, RuntimeDatabaseError)
    assert "could not be opened within" in found.message
    os.close(os.open(database, os.O_RDWR | os.O_NONBLOCK))  # lets the thread go on


@pytest.mark.parametrize("obstacle", [fifo, link_to_fifo])
def test_a_log_of_aionforge_is_not_waited_for(obstacle: Callable[[Path, Path], None], tmp_path: Path) -> None:
    obstacle(tmp_path / "wal.log", tmp_path)
    assert in_time(lambda: data_dir.is_log(tmp_path / "wal.log")) is False
    assert in_time(lambda: data_dir.is_locked(tmp_path / "wal.log")) is True


@pytest.mark.parametrize("obstacle", [fifo, link_to_fifo, link_to_device])
def test_a_file_of_the_hook_is_not_waited_for(obstacle: Callable[[Path, Path], None], tmp_path: Path) -> None:
    obstacle(tmp_path / "handler.js", tmp_path)
    assert in_time(lambda: hook_planning._read(tmp_path, "handler.js")) is None


def test_the_memories_of_a_table_are_guarded_wherever_they_are_read(tmp_path: Path) -> None:
    made = zeroclaw(tmp_path, "0.8.3")
    table = load_adapter("zeroclaw").databases.memory_store(made.installed)
    assert isinstance(table, MemoryTable)
    assert table.workspace == made.installed.grounds
