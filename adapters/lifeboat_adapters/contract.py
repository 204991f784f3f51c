"""What an adapter of a runtime is: a set of derivations, each of which names the files it reads.

An adapter answers questions about bytes and paths; it never walks a workspace, never keeps state and never
decides what a change means. Capture does the walking and the bookkeeping, and asks again only for files that
changed. Every path is relative to its root, with `/`, as text (names that are not UTF-8 are percent-encoded before
the adapter sees them).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from lifeboat_adapters.credential_types import (
    CredentialDelivery,
    CredentialNeed,
    EncryptionKeyFile,
    FileSecret,
    ForeignCredential,
    LeftoverSecretFile,
    Place,
    ReencryptedFile,
    TranslatedCredentials,
)
from lifeboat_adapters.guarded_files import GuardedFolders
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.memory_stores import DatabaseWrite, MemoryStore, ServerWrite, WriteOrder
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason


@dataclass(frozen=True, slots=True)
class DiscoveredAgent:
    """An agent that an adapter discovered on this machine. `native_id` is the runtime's own name for it."""

    runtime: str
    native_id: str
    name: str
    workspace: Path
    state_dir: Path | None


@dataclass(frozen=True, slots=True)
class Installation:
    """The runtime around one workspace. `state_dir` and `config` are None when the workspace stands alone.

    `layout` names the generation on disk (openclaw: `2026.2`, `2026.9`, `bare`). `program` is the runtime's executable
    when it is on PATH. `included` lists the files of the state directory that the configuration includes. `sharing` is
    "" for the only agent of a state directory. For one of several agents it changes whenever its share of the common
    files has to be computed in another way. `remote` says that the user allows queries to servers that hold memories.
    `server` is the address of such a server when the runtime's own files do not name it, "" for the usual address.
    `locate` sets neither of the last two.
    """

    runtime: str
    workspace: Path
    native_id: str
    name: str
    state_dir: Path | None = None
    config: Path | None = None
    layout: str = "bare"
    version: str | None = None
    program: Path | None = None
    included: tuple[str, ...] = ()
    sharing: str = ""
    remote: bool = False
    server: str = ""

    @property
    def grounds(self) -> GuardedFolders:
        """The folders below which no link is followed."""
        return GuardedFolders(self.workspace, self.state_dir)


@dataclass(frozen=True, slots=True)
class FolderCap:
    """Limits for a folder in a root that a program writes into all the time.

    At most `count` files of at most `size` bytes each are kept; for a `size` of None the user's limit for files
    applies. Another version of a file is captured only when `seconds` have passed. `noise` lists names (globs of
    `fnmatch`) of temporary files that are never captured.
    """

    folder: str
    size: int | None
    count: int
    seconds: int = 0
    noise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaptureRoot:
    """A folder that is captured under an archive prefix. `only` lists the files to capture (globs of `fnmatch`); None
    captures the whole tree. The first root is always the workspace."""

    prefix: str
    folder: Path
    only: tuple[str, ...] | None = None
    caps: tuple[FolderCap, ...] = ()


class Placement(StrEnum):
    """Where a file belongs (spec §3.1.9)."""

    MANAGED = "managed"
    """Tier 1: the runtime's own state, kept in raw/."""
    ARTIFACT = "artifact"
    """Tier 2 or 3, depending on its size."""
    EXCLUDED = "excluded"
    """Cache, lock, machine identity or execution state: never captured."""


@dataclass(frozen=True, slots=True)
class MemorySection:
    """A consecutive piece of a memory file. Joining the `content` of all sections gives the text of the file.

    `heading` is used for matching only and is never stored. `fields` are the parts of a memory record that follow from
    the text: memory_type, namespace, category, tags, confidence, status, temporal (observed_at, valid_*), source
    (origin, extraction_method), raw_source_format. `memory` is the memory itself where it is not the whole text: the
    rest is a comment that an adapter wrote to tell memories apart. `record_id` is the id of the memory in another
    system that has such ids. A new record takes it unless the history already holds this id. `follows` names fields
    that a record takes over even if its text is unchanged.
    """

    content: str
    heading: tuple[str, ...] = ()
    fields: JsonObject = field(default_factory=dict)
    memory: str | None = None
    record_id: str | None = None
    follows: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The memory in this section, "" for a section without one."""
        return self.content if self.memory is None else self.memory


@dataclass(frozen=True, slots=True)
class MergedHomeFile:
    """A file of the runtime's own folder after values that only the archive had were added to it.

    `decided` says why the values at paths of the archive's file were left out, None for values that were added or
    already there. A decision about a path applies to everything below it that has no decision of its own. `rewritten`
    says that comments and layout are lost.
    """

    data: bytes
    decided: Mapping[tuple[str | int, ...], Reason | None]
    rewritten: bool = False

    def reason(self, path: tuple[str | int, ...]) -> Reason | None:
        """Return why the value at a path was left out, None when it is in the file."""
        above = (path[:length] for length in range(len(path), -1, -1))
        return next((self.decided[each] for each in above if each in self.decided), None)


@dataclass(frozen=True, slots=True)
class UnusedDataOffer:
    """Data of the agent that its runtime does not use any more. The Lifeboat command `command` puts it back to use."""

    what: str
    command: str


class AgentFiles(Protocol):
    """The files of an agent as a derivation sees them: by archive path (`raw/openclaw/SOUL.md`), with
    secrets cut out."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, None when it does not exist."""
        ...

    def paths(self, prefix: str) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Derivation:
    """A document that is derived from files.

    `reads` says which archive paths matter. `derive` gets all files and the previous document (None at first). It
    returns the new document without id, version and times, or None when the files say nothing. `derive` carries fields
    that the adapter does not read over from `previous`.

    `document` is one of identity, principals, runtime_hints, manifest (agent name, version, adapter hints).
    """

    document: str
    reads: Callable[[str], bool]
    derive: Callable[[AgentFiles, JsonObject | None, DerivationContext], JsonObject | None]


@dataclass(frozen=True, slots=True)
class DerivationContext:
    """What a derivation may use beside the files."""

    installation: Installation
    agent_id: str
    ids: Callable[..., str]
    """Mint a stable id from text parts: `ids("principal", "primary")`."""


@dataclass(frozen=True, slots=True)
class RuntimeRow:
    """A row of a runtime's database. `path` is its archive path (`raw/openclaw-home/db/state/cron_jobs.jsonl`); `key`
    sorts and identifies the row in its table."""

    path: str
    key: str
    values: JsonObject


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command of the runtime that makes a restore take effect.

    `automatic` steps run after a restore (re-index). The others are listed and run with `--finish`. `waits` says why a
    step cannot run now; such a step is only listed.
    """

    title: str
    command: tuple[str, ...]
    automatic: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    input: bytes | None = None
    timeout_seconds: float = 120.0
    waits: str = ""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file written from structured layers. `basis` is `raw`, `merged` or `structured`."""

    path: str
    data: bytes
    basis: str


class Adapter(Protocol):
    """A runtime. Everything raises `lifeboat_adapters.errors.AdapterError` where a person has to do something."""

    runtime: str
    splitter_version: int
    home_names: tuple[str, ...]
    """Globs of the folders that the runtime makes in a user's home: where one comes, there may be an agent."""

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]: ...

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        """The runtime's command on this machine, None when it is not on PATH."""
        ...

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        """Where the runtime would have the workspace of an agent that comes to a user's home. `name` fits a folder."""
        ...

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        """The installation around a workspace; a folder that looks like none of the runtime's raises NotAWorkspace."""
        ...

    def recognises(self, workspace: Path) -> int:
        """How surely a folder is this runtime's workspace (cheap, by names): 0 not at all, 1 its files look like it,
        2 the runtime's own database or configuration says so."""
        ...

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]: ...

    def place(self, path: str, *, is_folder: bool) -> Placement:
        """By archive path. EXCLUDED for a folder means it is not entered."""
        ...

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        """Why a path is EXCLUDED, in people's words; None where it is not."""
        ...

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        """The memories in a file, by archive path; None when such a file holds none."""
        ...

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        """The text of a raw file from the memories that stand in it now, each an id and a text, in order. Splitting it
        gives them again."""
        ...

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        """The text of a raw file whose memories stood under these ids, in order, with those that stand in it now: all
        that did not change stays as it is. None where `join` makes the file anew."""
        ...

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        """Where in the text of a raw file the memories `gone` stand, dress included, and what else is about them alone:
        a purge takes it. `record_ids` are those of all memories in it, in order. Nothing where the file spells memories
        as they are: their text is looked for everywhere anyway."""
        ...

    def label(self, record_id: str) -> str:
        """What a record is called in a file that `render` wrote, as the last part of a section's heading."""
        ...

    def secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        """Spans to cut, sorted, not overlapping; None when this path never holds secrets. Raises UnparsableSecrets."""
        ...

    def opened(self, installation: Installation, secrets: list[FileSecret]) -> list[FileSecret]:
        """What `secrets` found, with values that the runtime encrypts on this machine decrypted (others `locked`): an
        archive never holds the runtime's own key, and whoever restores it elsewhere needs what the value says."""
        ...

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        """This agent's share of a file that it has in common with others, by archive path; None when none of it is its
        own. All of it for the only agent. Raises UnparsableSecrets, and AdapterError when nobody can say."""
        ...

    def matters(self, path: str, data: bytes) -> bytes | None:
        """What of a file is worth another sequence when it changes; None when all of it is."""
        ...

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        """Secrets of the runtime's databases and of files that are never captured: their values are known, and cut
        wherever else they stand. Errors are those of `rows`."""
        ...

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        """Files around the agent in which secrets stand in clear, left behind by migrations and changes."""
        ...

    def derivations(self) -> Sequence[Derivation]: ...

    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        """What the runtime left lying where it does not look any more. Errors are those of `rows`."""
        ...

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        """Durable rows of the runtime's databases but its memories, each database read in one read transaction, nothing
        written. Transcripts, and scheduled jobs that are no part of the configuration, only where they are asked
        for."""
        ...

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        """Why the database is not there, empty or without its table that the rows of an archive's file (its bytes as
        they are held) came from, "" when it says what became of them. Errors are those of `rows`."""
        ...

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        """What tells a row from the others of its file: its own name, then those under which it may have been made
        again. Two rows that share a name are the same."""
        ...

    def databases(self, installation: Installation) -> list[Path]:
        """The files that `rows`, `learned` and `memory_store` read: capture watches their stat."""
        ...

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        """Where the runtime keeps memories as rows; None when it keeps them in files. Raises RuntimeDatabaseError for a
        store that is not there, empty or damaged: that is no deletion."""
        ...

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        """The memory in a row of `memory_store`, from its columns. `fields.temporal.created_at` is the row's own time;
        `fields.raw_source_format` holds, under the runtime's name, all columns but the content."""
        ...

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        """The row that a restore writes for a record: every column that `memory_of` could have come from, and those
        that a new row needs. `root_id` is the first id of the record's chain: the row's own id where it has no
        other."""
        ...

    def render(self, state: Any) -> Iterator[RenderedFile]:
        """Native files of a state that holds no (or outdated) raw of this runtime, archive paths under `raw/<runtime>/`
        and `raw/<runtime>-home/`. `state` is a `lifeboat_alf.states.agent_state.State`."""
        ...

    def home_around(self, workspace: Path) -> Path | None:
        """Where a restore makes the runtime's own folder for a workspace that has none around it; None for a runtime
        whose workspaces stand alone."""
        ...

    def is_configured(self, installation: Installation) -> bool:
        """Whether the runtime knows of the agent: a restore tells it of one that it does not know, also without
        credentials."""
        ...

    def running(self, installation: Installation) -> str:
        """Why the runtime seems to be at work on this installation ("zeroclaw daemon, process 123"), "" when not.
        Nothing is written into its databases then."""
        ...

    def write_databases(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        """What a restore does to the runtime's databases. Reads, never writes. Raises RuntimeDatabaseError for one that
        is there and cannot be merged into."""
        ...

    def write_server(self, installation: Installation, order: WriteOrder) -> ServerWrite | None:
        """What a restore puts into the server that the runtime keeps its memories behind; None where it keeps them
        here. Asks no server."""
        ...

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        """What of a state this runtime has no place for: it is listed, kept in the archive, and comes back
        elsewhere."""
        ...

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        """Credentials of another runtime's archive under this one's names."""
        ...

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        """The installation that a state folder, which may not exist yet, is for an agent that is restored into it.
        `version` is what the runtime's program says of itself, "" without one."""
        ...

    def is_store(self, path: str) -> bool:
        """Whether a file of an archive is a credential store, which only `home_name` or `deliveries` put back."""
        ...

    def home_name(self, installation: Installation, path: str) -> str | None:
        """Where a credential store of an archive stands as a file of the runtime's own folder; None when this
        installation keeps it otherwise."""
        ...

    def merge_home(
        self,
        installation: Installation,
        path: str,
        found: bytes | None,
        wanted: bytes,
        left_out: Mapping[tuple[str | int, ...], Reason],
        state: Any,
        user_home: Path,
        now: str,
    ) -> MergedHomeFile | None:
        """A file of an archive (whole again) merged into the runtime's own, None where that is not there. `left_out`
        says of paths why they must not be put in. None for a file that is taken over as it is or not at all. Raises
        ValueError when either does not parse."""
        ...

    def key_file(self, installation: Installation) -> EncryptionKeyFile | None:
        """The key that credentials in the runtime's own folder are encrypted with, a new one where it has none; None
        when they are not encrypted. Asked once for a restore. Raises SecretsError."""
        ...

    def recrypted(
        self,
        installation: Installation,
        path: str,
        data: bytes,
        values: Mapping[tuple[str | int, ...], str],
        key: EncryptionKeyFile | None,
        *,
        translated: bool = False,
    ) -> ReencryptedFile:
        """A file of an archive (whole again) as this installation can read it: what `key` does not open is encrypted
        with it, what it opens stays byte for byte. `values` are those of the credentials at the places of
        `secret_places` (of a login all of its members, as they are sealed). Of a file that was `translated` what stands
        in clear is encrypted, too. Raises ValueError when it does not parse."""
        ...

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        """The paths in a cut file at which its cuts stand; () where that cannot be told."""
        ...

    def deliveries(
        self,
        installation: Installation,
        files: Mapping[str, bytes],
        left_out: Mapping[Place, Reason],
        now: str,
    ) -> list[CredentialDelivery]:
        """What has to be run for the stores of an archive (whole again, by archive path). Reads the runtime's own: what
        is there and usable stays."""
        ...

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[CredentialDelivery]:
        """What has to be run for the sessions of an archive (files of rows, whole again, by archive path) that the
        runtime lacks, where only its own command takes them. Errors are those of `rows`."""
        ...

    def not_arrived(self, installation: Installation, delivered: CredentialDelivery) -> Mapping[Place, Reason]:
        """What of a delivery that was run the runtime's store does not hold, each with why."""
        ...

    def needs(self, files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
        """Which credentials the capabilities of an identity document need (ALF §3.2.6)."""
        ...

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        """Host-dependent capabilities that this machine lacks: [{name, host_requirements, reason}] (spec §6.2)."""
        ...

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]: ...

    def hook(self, installation: Installation, order: HookOrder) -> HookPlan:
        """What makes the runtime tell Lifeboat that a session of this agent ended. Reads, never writes. Raises NoHook
        for a runtime or an installation that cannot."""
        ...

    def unhook(self, installation: Installation, order: HookOrder) -> HookPlan:
        """What takes that away again, and nothing else; an empty plan where it is not there."""
        ...

    def hook_problem(self, installation: Installation, order: HookOrder) -> str:
        """Why a session's end is not told, "" when it is. Raises NoHook."""
        ...
