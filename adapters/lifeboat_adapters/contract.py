"""The contract of runtime adapters: the base class `Adapter`, its capability groups, and the types that they use.

An adapter answers questions about bytes and paths. It never walks a workspace, keeps no state and does not decide what
a change means: capture does, and asks again only about files that changed. Every path is relative to its root, with
`/`, as text. Names that are not UTF-8 are percent-encoded before the adapter sees them.

Every adapter finds agents, classifies files and reads memories from files. What not every runtime has is in the groups
`credentials`, `databases`, `hook`, `placement` and `projects`: each is an object with more methods, or None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from lifeboat_adapters.credential_types import (
    CredentialDelivery,
    CredentialNeed,
    CredentialRefusal,
    EncryptionKeyFile,
    FileSecret,
    ForeignCredential,
    LeftoverSecretFile,
    Place,
    ReencryptedFile,
    TranslatedCredentials,
)
from lifeboat_adapters.errors import RuntimeDatabaseError
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
    `outside` lists the parts of the workspace that lie in other folders, as `Adapter.outside_parts` does.
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
    outside: tuple[tuple[str, Path], ...] = ()

    @property
    def grounds(self) -> GuardedFolders:
        """Return the folders below which no link is followed."""
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
        """Return the memory in this section, "" for a section without one."""
        return self.content if self.memory is None else self.memory


@dataclass(frozen=True, slots=True)
class MergedHomeFile:
    """A file of the runtime's own folder after values that only the archive had were added to it.

    `decided` says why the values at paths of the archive's file were left out, None for values that were added or
    already there. A decision about a path applies to everything below it that has no separate decision. `rewritten`
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
    sorts and identifies the row in its table. `conversation` names the conversation of which the row is a part, "" for
    every other row."""

    path: str
    key: str
    values: JsonObject
    conversation: str = ""


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


@dataclass(frozen=True, slots=True)
class HomeFileMerge:
    """A file of an archive that is to be merged into the runtime's own folder.

    `found` is the file that is there, None where there is none; `wanted` is the archive's, with its secrets filled in.
    `left_out` gives reasons for paths of it that must not be added. `state` is the state that is restored.
    """

    path: str
    found: bytes | None
    wanted: bytes
    left_out: Mapping[tuple[str | int, ...], Reason]
    state: Any
    user_home: Path
    now: str


class CredentialSupport(ABC):
    """Finds the credentials of a runtime, and puts them back."""

    @abstractmethod
    def find(self, path: str, data: bytes) -> list[FileSecret] | None:
        """Return the spans to cut in a file, sorted and without overlaps, None for a path that never holds secrets.

        Raises UnparsableSecrets.
        """

    def decrypt(self, installation: Installation, secrets: list[FileSecret]) -> list[FileSecret]:
        """Return secrets that `find` found, with values decrypted that the runtime encrypts on this machine.

        Values that cannot be decrypted are `locked`. An archive never holds the runtime's own key, so a restore on
        another machine needs the decrypted value.
        """
        return secrets

    def learned(self, installation: Installation) -> Iterator[FileSecret]:
        """Yield secrets of the runtime's databases and of files that are never captured. They are cut from all other
        files. Raises what `DatabaseSupport.rows` raises."""
        return iter(())

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        """Yield files around the agent that hold secrets in plain text, left behind by migrations and changes."""
        return iter(())

    def needs(self, files: AgentFiles, identity: JsonObject) -> list[CredentialNeed]:
        """Return which credentials the capabilities of an identity document need (ALF §3.2.6)."""
        return []

    def is_store(self, path: str) -> bool:
        """Return whether a file of an archive is a credential store, which is restored through
        `PlacementSupport.home_name` or `deliveries` only."""
        return False

    def secret_places(self, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
        """Return the paths in a cut file at which its cuts stand, () where that is unknown."""
        return [()] * len(offsets)

    def key_file(self, installation: Installation) -> EncryptionKeyFile | None:
        """Return the key that encrypts credentials in the runtime's own folder, a new one if it has none, None when
        they are not encrypted. Called once for each restore. Raises SecretsError."""
        return None

    def reencrypt(
        self,
        installation: Installation,
        path: str,
        data: bytes,
        values: Mapping[tuple[str | int, ...], str],
        key: EncryptionKeyFile | None,
        *,
        translated: bool = False,
    ) -> ReencryptedFile:
        """Return a file of an archive, with its secrets filled in, so that this installation can read it.

        Values that `key` decrypts stay byte for byte; others are encrypted with it. `values` are those of the
        credentials at the places from `secret_places`, for a login all of its members as they are sealed. In a
        `translated` file, plain values are encrypted, too. Raises ValueError when the file does not parse.
        """
        return ReencryptedFile(data)

    def translate(
        self, installation: Installation, credentials: Sequence[ForeignCredential], state: Any
    ) -> TranslatedCredentials:
        """Return credentials of another runtime's archive under the names of this runtime."""
        return refuse_credentials(installation, credentials)

    def deliveries(
        self, installation: Installation, files: Mapping[str, bytes], left_out: Mapping[Place, Reason], now: str
    ) -> list[CredentialDelivery]:
        """Return what has to be run for the stores of an archive (by archive path, with secrets filled in).

        Reads the runtime's own stores: credentials that are there and usable stay.
        """
        return []


def refuse_credentials(installation: Installation, credentials: Sequence[ForeignCredential]) -> TranslatedCredentials:
    """Return the translation for a runtime that has no place for foreign credentials."""
    reason = Reason(CredentialRefusal.NO_PLACE, runtime=installation.runtime)
    return TranslatedCredentials({}, {}, {each.id: reason for each in credentials})


class DatabaseSupport(ABC):
    """Reads the databases of a runtime, and plans what a restore writes into them.

    A runtime that keeps memories as rows overrides `memory_store`, `memory_of`, `row_of` and `plan_writes`.
    """

    @abstractmethod
    def files(self, installation: Installation) -> list[Path]:
        """Return the files that `rows`, `memory_store` and `CredentialSupport.learned` read. Capture watches them."""

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        """Yield durable rows of the runtime's databases except its memories.

        Each database is read in one transaction, and nothing is written. Transcripts, and scheduled jobs that are not
        part of the configuration, are included only on request. Transcripts are yielded after all other rows, one
        conversation after the other, the newest first: capture reads no further than `transcripts_limit`.
        """
        return iter(())

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        """Return why the source of captured rows is missing, empty or lacks its table, "" when it has the information.

        `path` is the archive path of the rows, `data` their captured bytes. Raises what `rows` raises.
        """
        return ""

    def row_names(self, path: str, values: JsonObject) -> tuple[str, ...]:
        """Return what identifies a row in its file: its own name, then those of earlier versions of it. Two rows that
        share a name are the same."""
        return (str(next(iter(values.values()), "")),)

    def memory_store(self, installation: Installation) -> MemoryStore | None:
        """Return where the runtime keeps memories as rows, None when it keeps them in files.

        Raises RuntimeDatabaseError for a store that is missing, empty or damaged. Its memories do not count as deleted.
        """
        return None

    def memory_of(self, installation: Installation, values: JsonObject) -> MemorySection:
        """Return the memory in a row of `memory_store`.

        `fields.temporal.created_at` is the time of the row. `fields.raw_source_format` holds, under the runtime's name,
        all columns except the content.
        """
        raise RuntimeDatabaseError(f"{installation.runtime} does not store memories in a database")

    def row_of(self, record: JsonObject, root_id: str) -> JsonObject:
        """Return the row that a restore writes for a record: every column that `memory_of` reads, and those that a new
        row needs. `root_id` is the first id of the record's chain: the id of a row without another one."""
        raise RuntimeDatabaseError("this runtime does not store memories in a database")

    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        """Yield data of the agent that the runtime does not read any more. Raises what `rows` raises."""
        return iter(())

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        """Plan what a restore writes into the runtime's databases, without writing.

        Raises RuntimeDatabaseError for an existing database that cannot be merged into.
        """
        return []

    def plan_server_write(self, installation: Installation, order: WriteOrder) -> ServerWrite | None:
        """Plan what a restore writes to the server that holds the memories, None when there is none. Contacts no
        server."""
        return None

    def session_deliveries(self, installation: Installation, tables: Mapping[str, bytes]) -> list[CredentialDelivery]:
        """Return what has to be run for sessions of an archive that the runtime lacks, where only its own command can
        import them. `tables` are files of rows by archive path. Raises what `rows` raises."""
        return []


class HookSupport(ABC):
    """Makes a runtime tell Lifeboat when a session ended. All methods plan and read; none writes. `skills` is the
    folder of skills in the workspace, "" for a runtime without one."""

    skills: str = ""

    @abstractmethod
    def install(self, installation: Installation, order: HookOrder) -> HookPlan:
        """Plan the hook. Raises HookUnavailable for an installation that cannot have one."""

    @abstractmethod
    def remove(self, installation: Installation, order: HookOrder) -> HookPlan:
        """Plan the removal of the hook and nothing else; an empty plan where there is none."""

    @abstractmethod
    def problem(self, installation: Installation, order: HookOrder) -> str:
        """Return why the end of a session is not reported, "" when it is. Raises HookUnavailable."""


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """What has to change after the folder of a project moved: folders to rename, files with their new bytes, and files
    that still name the old path in another form."""

    folders: Mapping[Path, Path]
    files: Mapping[Path, bytes]
    still_naming: tuple[Path, ...] = ()


class ProjectSupport(ABC):
    """Follows projects to other paths, for a runtime whose files hold the absolute paths of projects."""

    @abstractmethod
    def plan_move(self, installation: Installation, old: str, new: str) -> ProjectMove:
        """Plan what has to change after the project at `old`, with all below, moved to `new`. Nothing is written.
        Raises OSError, RuntimeDatabaseError."""

    @abstractmethod
    def map_name(self, name: str, old: str, new: str) -> str:
        """Return the name of a file of the workspace after the folder `old` became `new`."""

    @abstractmethod
    def uncertain_folder(self, name: str, old: str) -> str:
        """Return the folder of a file whose name `map_name` changes although it may belong to another project, "" for
        every other file."""

    @abstractmethod
    def holds_paths(self, name: str) -> bool:
        """Return whether a file of the workspace contains paths of projects that `map_data` replaces."""

    @abstractmethod
    def map_data(self, data: bytes, old: str, new: str) -> bytes:
        """Return such a file with every path replaced."""


class PlacementSupport(ABC):
    """Places a restored agent in an installation of the runtime: its folder, its configuration, its program."""

    stop_command: str = ""
    """The runtime's own command that stops it, "" if it has none."""

    @abstractmethod
    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        """Return the installation in a state directory, which may not exist yet, for an agent that is restored into it.

        `state` is the `lifeboat_alf.state.State` to restore. `version` is the output of the runtime's program for its
        version, "" without the program.
        """

    def home_around(self, workspace: Path) -> Path | None:
        """Return where a restore creates the runtime's own folder for a workspace that has none around it, None for a
        runtime whose workspaces stand alone."""
        return None

    def stand_alone(self, workspace: Path) -> Installation | None:
        """Return the installation in a workspace that does not exist yet, for a runtime that keeps everything in it;
        None for any other."""
        return None

    def is_configured(self, installation: Installation) -> bool:
        """Return whether the runtime knows the agent. A restore adds an unknown agent to the configuration, even
        without credentials."""
        return True

    def running(self, installation: Installation) -> str:
        """Return why the runtime seems to be running on this installation ("zeroclaw daemon, process 123"), "" when it
        is not. While it runs, a restore does not write to its databases."""
        return ""

    def home_name(self, installation: Installation, path: str) -> str | None:
        """Return the place of a file of an archive in the runtime's own folder, None when this installation keeps it
        elsewhere."""
        return None

    def merge_home(self, installation: Installation, merge: HomeFileMerge) -> MergedHomeFile | None:
        """Merge a file of an archive into the runtime's own folder. Return None for a file that is used as a whole or
        not at all. Raises ValueError when either file does not parse."""
        return None

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        """Return commands of the runtime that make a restore take effect, in order."""
        return []

    def missing_on_host(self, identity: JsonObject) -> list[JsonObject]:
        """Return host-dependent capabilities that this machine lacks: [{name, host_requirements, reason}] (spec
        §6.2)."""
        return []


class Adapter(ABC):
    """A runtime. Methods raise `lifeboat_adapters.errors.AdapterError` where the user has to act."""

    runtime: str
    splitter_version: int
    home_names: tuple[str, ...] = ()
    """Globs of the folders that the runtime makes in a user's home. Where one appears, there may be an agent."""
    takes_any_folder: bool = False
    """Whether any folder with notes may be a workspace. Such a runtime is offered, never chosen without being named."""
    profile_text: str = ""
    """The folder profile that a user wrote for this runtime, "" for any other runtime. Each capture includes the text,
    because no other machine has it."""
    credentials: CredentialSupport | None = None
    databases: DatabaseSupport | None = None
    hook: HookSupport | None = None
    placement: PlacementSupport | None = None
    projects: ProjectSupport | None = None

    # Finding agents

    @abstractmethod
    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        """Return the agents of the runtime on this machine."""

    @abstractmethod
    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        """Return the installation around a workspace. Raises NotAWorkspace for a folder that does not look like one of
        the runtime."""

    @abstractmethod
    def recognises(self, workspace: Path) -> int:
        """Rate how surely a folder is this runtime's workspace, by names only: 0 not at all, 1 its files look like it,
        2 the runtime's own database or configuration says so."""

    def fitted_to(self, workspace: Path, state: Any) -> Adapter:
        """Return the adapter for a restore of a state into a workspace whose configuration may limit what the runtime
        holds."""
        return self

    def lock_name(self, name: str) -> str | None:
        """Return the file of the workspace on which the runtime takes an exclusive lock (`flock`) before it changes the
        file `name`, None when it takes none."""
        return None

    def find_program(self, environment: Mapping[str, str]) -> Path | None:
        """Return the runtime's command on this machine, None when it is not on PATH."""
        return None

    def usual_workspace(self, user_home: Path, name: str) -> Path:
        """Return the default workspace for an agent that is restored into a user's home. `name` is valid as a folder
        name."""
        return user_home / self.home_names[0] / "workspace" if self.home_names else user_home / name

    def outside_parts(self, state: Any, user_home: Path) -> Mapping[str, Path]:
        """Return the parts of the workspace that the runtime keeps in other folders, as the settings in a state say.
        The key is the name under which the part is captured (`notes/`)."""
        return {}

    # Files

    @abstractmethod
    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        """Return the folders to capture, the workspace first."""

    @abstractmethod
    def place(self, path: str, *, is_folder: bool) -> Placement:
        """Classify an archive path. A folder that is EXCLUDED is not entered."""

    @abstractmethod
    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        """Return why a path is EXCLUDED, as text for users, None when it is not."""

    def share(self, installation: Installation, path: str, data: bytes) -> bytes | None:
        """Return this agent's share of a file that several agents have in common, None when it has none. The only agent
        gets the whole file. Raises UnparsableSecrets, and AdapterError when the owner is unknown."""
        return data

    def matters(self, path: str, data: bytes) -> bytes | None:
        """Return the part of a file whose changes are worth another sequence, None when every change is."""
        return None

    # Memories in files, and documents

    @abstractmethod
    def split(self, path: str, text: str) -> list[MemorySection] | None:
        """Return the memories in a file, by archive path, None for a file that holds none."""

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        """Return the text of a raw file with these memories, each an id and a text. Splitting it gives them again."""
        return "".join(text for _, text in memories)

    def rejoin(
        self, path: str, text: str, record_ids: Sequence[str], memories: Sequence[tuple[str, str]]
    ) -> str | None:
        """Return the text of a raw file with its memories replaced: `record_ids` are those in `text`, in order,
        `memories` those that it shall hold. Unchanged text stays. None lets `join` make the file."""
        return None

    def pieces(self, path: str, text: str, record_ids: Sequence[str], gone: Collection[str]) -> list[tuple[int, int]]:
        """Return where the memories `gone` stand in the text of a raw file, with everything that is about them alone. A
        purge removes these spans.

        `record_ids` are those of all memories in it, in order. Nothing is returned for a file that contains memories
        verbatim, because a purge searches their text in every file.
        """
        return []

    def label(self, record_id: str) -> str:
        """Return the label of a record in a file that `render` wrote, the last part of a section's heading."""
        return record_id

    @abstractmethod
    def derivations(self) -> Sequence[Derivation]:
        """Return the documents that are derived from files."""

    def render(self, state: Any) -> Iterator[RenderedFile]:
        """Yield native files of a `lifeboat_alf.state.State` without current raw files of this runtime, with archive
        paths under `raw/<runtime>/` and `raw/<runtime>-home/`."""
        return iter(())

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        """Yield what of a state this runtime cannot represent. It is listed, stays in the archive, and is restored
        elsewhere."""
        return iter(())


def find_secret_places(adapter: Adapter, path: str, data: bytes, offsets: Sequence[int]) -> list[tuple[str | int, ...]]:
    """Return the paths in a cut file at which its cuts stand, () where that is unknown."""
    credentials = adapter.credentials
    return [()] * len(offsets) if credentials is None else credentials.secret_places(path, data, offsets)
