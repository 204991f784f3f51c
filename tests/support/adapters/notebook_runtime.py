"""A complete adapter of a small runtime: an agent that keeps a persona, notes in a file and facts in a database.

my-notebook/
  notebook.json   {"id": "ada", "name": "Ada", "api_key": "..."}
  PERSONA.md      who the agent is
  NOTES.md        one memory a paragraph
  facts.db        table facts(id, text, written)
  cache/          never kept
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import (
    Adapter,
    AgentFiles,
    CaptureRoot,
    CredentialSupport,
    DatabaseSupport,
    Derivation,
    DerivationContext,
    DiscoveredAgent,
    Installation,
    MemorySection,
    Placement,
    PlacementSupport,
    RenderedFile,
)
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.errors import DatabaseAbsent, NotAWorkspace, RuntimeConfigError, RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, MemoryTable, WriteOrder
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import visible_records

RUNTIME = "notebook"
RAW, HOME = "raw/notebook/", "raw/notebook-home/"
CONFIG, FACTS, PERSONA, NOTES = "notebook.json", "facts.db", "PERSONA.md", "NOTES.md"
COLUMNS = ("id", "text", "written")
TABLE = "create table if not exists facts (id text primary key, text text not null, written text not null)"


class NotebookCredentials(CredentialSupport):
    """Finds the one key in the configuration."""

    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        if path != HOME + CONFIG:
            return None
        try:
            value = json.loads(data)["api_key"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UnparsableSecrets(f"{CONFIG} does not parse") from error
        if value == "":
            return []
        literal = json.dumps(value).encode()
        start = data.find(literal)
        if not isinstance(value, str) or start < 0:
            raise UnparsableSecrets(f"{CONFIG} spells its key in another way")
        return [FileSecret(start, start + len(literal), value, "notebook", "api_key", f"{CONFIG}: api_key")]


class NotebookDatabases(DatabaseSupport):
    """Memories in rows. A row is unchanged as long as `row_of` gives it back."""

    def files(self, installation: Installation) -> list[Path]:
        return [] if installation.state_dir is None else [installation.state_dir / FACTS]

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        path = next(iter(self.files(installation)), None)
        if path is None or not path.is_file():
            raise DatabaseAbsent(f"{installation.name} has no {FACTS}")
        return MemoryTable(path, FACTS, "facts", COLUMNS, content="text", key="id")

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        kept = {name: value for name, value in values.items() if name != "text"}
        fields = {
            "memory_type": "semantic",
            "source": {"origin": "sqlite_store", "origin_file": FACTS, "extraction_method": "agent_written"},
            "temporal": {"created_at": values["written"]},
            "raw_source_format": {RUNTIME: {"row": kept, "text": _print(values["text"])}},
        }
        return MemorySection(str(values["text"]), fields=fields)

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        own = (record.get("raw_source_format") or {}).get(RUNTIME) or {}
        row = own.get("row") or {"id": root_id, "written": record["temporal"]["created_at"]}
        return {**row, "text": record["content"]}

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        path = next(iter(self.files(installation)))
        found = [each for each in visible_records(order.state) if not _is_note(each.record)]
        wanted = {str(each.record["id"]): self.row_of(each.record, each.chain_ids[0]) for each in found}
        there = _rows(path)
        same = {name for name, row in wanted.items() if there.get(row["id"]) == row}
        if not wanted:
            return []
        outcomes = {name: ItemOutcome.DEDUPLICATED if name in same else ItemOutcome.ACCEPTED for name in wanted}
        fates = tuple(ItemFate("memory", name, outcome) for name, outcome in outcomes.items())
        rows = list(wanted.values())
        write = DatabaseWrite(path, len(same) < len(rows), lambda to: _write(path, to, rows), fates, held=tuple(wanted))
        return [write]


class NotebookPlacement(PlacementSupport):
    """Puts an agent of another runtime into a new folder around its workspace."""

    def home_around(self, workspace: Path) -> Path | None:
        return workspace.parent

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        if _is_pages(workspace):
            return _locate(workspace)
        return Installation(RUNTIME, workspace, "ada", "Ada", state_dir, state_dir / CONFIG)


class Notebook(Adapter):
    """The abstract methods that every adapter has, and the groups of this one."""

    runtime = RUNTIME
    splitter_version = 1
    credentials = NotebookCredentials()
    databases = NotebookDatabases()
    placement = NotebookPlacement()

    # Finding: the environment names the folder, `notebook.json` makes it one.

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        workspace = Path(environment.get("NOTEBOOK", user_home / "notebook")) / "pages"
        if not self.recognises(workspace):
            return []
        found = self.locate(workspace, environment, user_home)
        return [DiscoveredAgent(self.runtime, found.native_id, found.name, workspace, found.state_dir)]

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        return _locate(workspace)

    def recognises(self, workspace: Path) -> int:
        return 2 if _is_pages(workspace) else 0

    # Files: the workspace but for what can be made again, and of the folder around it what is named.

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        found = [CaptureRoot(RAW, installation.workspace)]
        if installation.state_dir is not None:
            found.append(CaptureRoot(HOME, installation.state_dir, only=(CONFIG,)))
        return found

    def place(self, path: str, *, is_folder: bool) -> Placement:
        if self.exclusion(path, is_folder=is_folder):
            return Placement.EXCLUDED
        return Placement.MANAGED if path.endswith((".md", ".json")) else Placement.ARTIFACT

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        first = path.removeprefix(RAW).split("/")[0]
        return "it can be made again" if first == "cache" else None

    # Memories in files: joining the sections gives the text back.

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        if path != RAW + NOTES:
            return None
        pieces = text.split("\n\n")
        whole = [piece + "\n\n" for piece in pieces[:-1]] + pieces[-1:]
        return [MemorySection(piece, fields={"memory_type": "semantic"}) for piece in whole]

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return "\n\n".join(text.strip("\n") for _, text in memories) + "\n"

    def render(self, state: Any) -> Iterator[RenderedFile]:
        notes = [each.record["content"].strip("\n") for each in visible_records(state) if _is_note(each.record)]
        yield RenderedFile(RAW + NOTES, ("\n\n".join(notes) + "\n").encode(), "structured")
        yield RenderedFile(HOME + CONFIG, b'{"id": "ada", "name": "Ada", "api_key": ""}\n', "structured")

    # Documents.

    def derivations(self) -> Sequence[Derivation]:
        return [Derivation("identity", lambda path: path == RAW + PERSONA, _identity)]


def _is_pages(workspace: Path) -> bool:
    return (workspace.parent / CONFIG).is_file()


def _locate(workspace: Path) -> Installation:
    if not _is_pages(workspace):
        raise NotAWorkspace(f"{workspace} has no {CONFIG} beside it")
    config = workspace.parent / CONFIG
    try:
        said = json.loads(config.read_bytes())
        native_id, name = str(said["id"]), str(said["name"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RuntimeConfigError(f"{config}: {error}") from error
    return Installation(RUNTIME, workspace, native_id, name, workspace.parent, config)


def _identity(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    persona = files.read(RAW + PERSONA)
    if persona is None:
        return None
    structured = {**((previous or {}).get("structured") or {}), "names": {"primary": context.installation.name}}
    prose = {**((previous or {}).get("prose") or {}), "soul": persona.decode("utf-8", "replace")}
    return {**(previous or {}), "structured": structured, "prose": prose, "source_format": "notebook"}


def _is_note(record: JsonObject) -> bool:
    return bool((record.get("source") or {}).get("origin_file") == NOTES)


def _print(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rows(path: Path) -> dict[str, JsonObject]:
    if not path.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            rows = connection.execute("select id, text, written from facts")
            return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}
    except sqlite3.Error as error:
        raise RuntimeDatabaseError(f"{path}: {error}") from error


def _write(path: Path, to: Path, rows: Sequence[JsonObject]) -> None:
    if path.is_file():
        shutil.copyfile(path, to)
    with closing(sqlite3.connect(to)) as connection, connection:
        connection.execute(TABLE)
        connection.executemany("insert or replace into facts values (:id, :text, :written)", rows)


ADAPTER = Notebook()
