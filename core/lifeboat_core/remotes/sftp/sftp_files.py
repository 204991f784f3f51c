"""`SealedFiles` on an SFTP server.

    lifeboat.json                     which remote this is: {kind, version, id, created_at, sealed}
    readme.txt                        for people who find it
    agents/<agent id>/<name>          the files
    agents/<agent id>/heads/<number>  the head, the largest number counts (see `numbered_heads`)
    probes/...                        only while the server is probed

A file is written and flushed under a name that begins with a dot, and then gets its name as a hard link, which the
server refuses if the name exists. So no file is visible before it is whole, and none is ever overwritten.
"""

from __future__ import annotations

import contextlib
import io
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.contract import SEVERAL, StoreFindings
from lifeboat_core.remotes.sealed.log_files import StoredFile
from lifeboat_core.remotes.sealed.numbered_heads import NumberedHeads
from lifeboat_core.remotes.sftp import ssh_problems
from lifeboat_core.remotes.sftp.sftp_address import SftpAddress
from lifeboat_core.remotes.sftp.sftp_answers import (
    NO_SUCH_FILE,
    PERMISSION_DENIED,
    FileFacts,
    GarbledAnswer,
    RefusedOperation,
)
from lifeboat_core.remotes.sftp.sftp_client import NEEDED, ServerSpace, SftpClient
from lifeboat_core.remotes.sftp.ssh_pipe import PipeBroken, SshPipe
from lifeboat_vault import errors

KIND = "lifeboat sftp"
VERSION = 1
ROOT_FILE = "lifeboat.json"
README = "readme.txt"
AGENTS, HEADS, PROBES = "agents", "heads", "probes"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
_HALF = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")
_NUMBER = re.compile(r"[0-9]{12}")
_LARGEST_DOCUMENT = 16 << 20
"""Bytes. Heads stay far below (see `log_contents`)."""
_ABANDONED = 86400.0
"""Seconds after which a half-written file is abandoned."""
_LITTLE_SPACE = 1 << 20
"""Bytes. A write that fails on a server with less free space failed for this reason."""
_README_TEXT = """This folder is a remote of Agent Lifeboat: a copy of AI agents.
Do not change its files. To restore an agent: lifeboat remote add NAME sftp://USER@HOST/PATH, then
lifeboat restore AGENT --from NAME. Files that end with .age can be opened with the owner's key only.
"""


class _SftpDocument(msgspec.Struct, frozen=True):
    """`lifeboat.json`."""

    kind: str
    version: int
    id: str
    created_at: str
    sealed: bool


class SftpHome(NamedTuple):
    """What the files need of this home: `connect` starts ssh, `scratch` is a folder for unnamed files."""

    files: FileOperations
    clock: Clock
    scratch: Path
    connect: Callable[[], SshPipe]


class SftpFiles:
    """The folder of `address` on its server.

    `remote_id` is the id that is expected there; "" for a folder that is being added: one that is no remote yet becomes
    one when its id is asked for. `sealed` says how its files are kept. One connection serves all operations until
    `close`, and is made again after it broke. The id is checked once for each connection.
    """

    def __init__(self, address: SftpAddress, remote_id: str, home: SftpHome, *, sealed: bool) -> None:
        self._address = address
        self._id = remote_id
        self._home = home
        self._sealed = sealed
        self._client: SftpClient | None = None
        self._heads: dict[str, NumberedHeads] = {}
        # Encrypted files may be readable for other users of the server; files in plain text are for their owner alone.
        self._mode: int | None = None if sealed else 0o600
        self._folder_mode = 0o777 if sealed else 0o700

    def identity(self) -> str:
        """Also raises RemoteRefused: it is kept the other way (sealed, plain), or by a newer release."""
        with self._session():
            return self._id

    def agents(self) -> list[str]:
        with self._session() as client:
            try:
                found = client.entries(self._at(AGENTS))
            except RefusedOperation as answer:
                _ignore_missing(answer)
                return []
        return sorted(name for name, facts in found.items() if ids.is_uuid(name) and facts.is_folder)

    def add_agent(self, agent_id: str) -> None:
        folder = self._folder(agent_id)
        with self._session("making a folder") as client:
            for each in (self._at(AGENTS), folder, f"{folder}/{HEADS}"):
                self._make_folder(client, each)

    def names(self, agent_id: str) -> list[StoredFile]:
        folder = self._folder(agent_id)
        with self._session() as client:
            try:
                found = client.entries(folder)
                heads = client.entries(f"{folder}/{HEADS}")
            except RefusedOperation as answer:
                _ignore_missing(answer)
                return []
            self._drop_abandoned(client, folder, found)
        now = max((facts.modified for facts in heads.values()), default=None)
        return sorted(
            (_stored(name, facts, now) for name, facts in found.items() if facts.is_file and _NAME.fullmatch(name)),
            key=lambda file: file.name,
        )

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        path = self._path(agent_id, name)
        with self._session("writing a file") as client:
            if _is_there(client, path) or not self._create(client, self._folder(agent_id), name, path, source):
                raise errors.RemoteRefused(f"the file {name} exists already")

    def read(self, agent_id: str, name: str) -> BinaryIO:
        path = self._path(agent_id, name)
        target = self._unnamed()
        try:
            with self._session() as client:
                try:
                    client.read_file(path, target)
                except RefusedOperation as answer:
                    _ignore_missing(answer)
                    raise errors.UnknownAtRemote(f"the remote has no file {name}") from None
            target.seek(0)
        except BaseException:
            target.close()
            raise
        return target

    def _unnamed(self) -> BinaryIO:
        self._home.files.make_folders(self._home.scratch, 0o700)
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self._home.scratch))

    def remove(self, agent_id: str, name: str) -> None:
        path = self._path(agent_id, name)
        with self._session("removing a file") as client:
            _remove(client, path)

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        folder = self._folder(agent_id)
        with self._session("removing a file") as client:
            for name in _entries(client, folder):
                half = _HALF.fullmatch(name)
                if half is not None and is_wanted(half[1]):
                    _remove(client, f"{folder}/{name}")

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        with self._session():
            found = self._numbered(agent_id).load()
        return None if found is None else (found.data, found.tag)

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        with self._session("replacing the head"):
            return self._numbered(agent_id).replace(data, expected)

    def remove_agent(self, agent_id: str) -> None:
        """Remove an agent, its newest head last of all heads: until then it is the head, afterwards there is none."""
        folder = self._folder(agent_id)
        self._heads.pop(agent_id, None)
        with self._session("removing an agent") as client:
            heads = f"{folder}/{HEADS}"
            for name in sorted(_entries(client, heads)):
                _remove(client, f"{heads}/{name}")
            for name, facts in _entries(client, folder).items():
                if not facts.is_folder:
                    _remove(client, f"{folder}/{name}")
            for each in (heads, folder):
                with _missing_ignored():
                    client.remove_folder(each)

    def examine(self) -> StoreFindings:
        """Probe the server: raises RemoteRefused for one that cannot keep a remote."""
        with self._session("probing the server") as client:
            folder = self._at(PROBES)
            self._make_folder(client, folder)
            name = secrets.token_hex(8)
            try:
                self._probe(client, folder, name)
            finally:
                with contextlib.suppress(RefusedOperation):
                    for each in _entries(client, folder):
                        if name in each:
                            _remove(client, f"{folder}/{each}")
                    client.remove_folder(folder)
        return StoreFindings(SEVERAL, None)

    def _probe(self, client: SftpClient, folder: str, name: str) -> None:
        path = f"{folder}/{name}"
        first = self._create(client, folder, name, path, io.BytesIO(b"first"))
        second = self._create(client, folder, name, path, io.BytesIO(b"second"))
        listed = _entries(client, folder).get(name)
        is_kept = first and not second and self._read_small(client, path) == b"first"
        if not is_kept or listed is None or not listed.is_file:
            raise errors.RemoteRefused(
                f"{self._address.url}: the server does not keep or list what was written first under a name, so it "
                "cannot store a remote"
            )

    def close(self) -> None:
        """End the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # The connection ---------------------------------------------------------------------------------------------

    @contextmanager
    def _session(self, doing: str | None = None) -> Iterator[SftpClient]:
        """Give the connection to the server, where the remote is the expected one. Translate what goes wrong; `doing`
        names an operation that writes."""
        try:
            yield self._connected()
        except PipeBroken as broken:
            self.close()
            raise ssh_problems.explain_broken_pipe(self._address, broken) from None
        except GarbledAnswer:
            self.close()
            raise ssh_problems.explain_garbled(self._address) from None
        except RefusedOperation as answer:
            raise self._explain(answer, doing) from None

    def _connected(self) -> SftpClient:
        if self._client is None:
            try:
                pipe = self._home.connect()
            except FileNotFoundError:
                raise ssh_problems.explain_missing_ssh() from None
            try:
                client = SftpClient(pipe)
                self._identify(client)
            except BaseException:
                pipe.close()
                raise
            self._client = client
        return self._client

    def _check_server(self, client: SftpClient) -> None:
        """Raises RemoteRefused for a server on which nothing may be written. It is asked before a write only: a server
        does not offer what is missing to an account that may only read."""
        lacks = [each for each in NEEDED if each not in client.extensions]
        if lacks:
            raise errors.RemoteRefused(
                f"{self._address.url}: the SFTP server lacks {' and '.join(lacks)}, or the account may only read. "
                "Without it, simultaneous writers could lose data. Mount the folder and add it as a file:// remote",
                fix="lifeboat remote add --help",
            )

    def _explain(self, answer: RefusedOperation, doing: str | None) -> errors.RemoteError:
        if answer.code == PERMISSION_DENIED:
            return ssh_problems.explain_denied(self._address, doing or "reading")
        if answer.code == NO_SUCH_FILE:
            return ssh_problems.explain_absent_remote(self._address)
        space = None if self._client is None else self._space(self._client)
        if doing is None:
            return ssh_problems.explain_failed_read(self._address)
        if space is not None and space.is_read_only:
            return ssh_problems.explain_read_only(self._address)
        return ssh_problems.explain_full(self._address, is_known=_is_full(space))

    def _space(self, client: SftpClient) -> ServerSpace | None:
        """Return the space on the server, None if it does not tell."""
        with contextlib.suppress(PipeBroken, GarbledAnswer, RefusedOperation):
            return client.space(self._address.path)
        return None

    # The root -------------------------------------------------------------------------------------------------------

    def _identify(self, client: SftpClient) -> None:
        found = self._read_root(client)
        if found is None:
            if self._id:
                raise ssh_problems.explain_absent_remote(self._address)
            found = self._make(client)
        if self._id and found.id != self._id:
            raise ssh_problems.explain_other_remote(self._address, found.id)
        self._id = found.id

    def _read_root(self, client: SftpClient) -> _SftpDocument | None:
        try:
            data = self._read_small(client, self._at(ROOT_FILE))
        except RefusedOperation as answer:
            _ignore_missing(answer)
            return None
        try:
            found = msgspec.json.decode(data, type=_SftpDocument)
        except (msgspec.DecodeError, RecursionError):
            found = None
        if found is None or found.kind != KIND or not ids.is_uuid(found.id):
            raise errors.RemoteDamaged(
                f"{self._address.url}/{ROOT_FILE} is damaged, or of another kind of remote: it does not identify this "
                "remote"
            )
        if found.version > VERSION:
            raise errors.RemoteRefused("a newer release of Agent Lifeboat created this remote")
        if found.sealed != self._sealed:
            problem = (
                "is encrypted; add the remote without --plain"
                if found.sealed
                else "is not encrypted; add the remote with --plain"
            )
            raise errors.RemoteRefused(f"{self._address.url} {problem}")
        return found

    def _make(self, client: SftpClient) -> _SftpDocument:
        root = self._address.path
        try:
            self._make_folder(client, root)
        except RefusedOperation as answer:
            _ignore_missing(answer)
            above = [root[:at] for at, letter in enumerate(root) if letter == "/" and at]
            missing = [each for each in above if not _is_there(client, each)]
            raise ssh_problems.explain_missing_parent(self._address, missing) from None
        self._make_folder(client, self._at(AGENTS))
        now = times.to_text(self._home.clock.now())
        made = _SftpDocument(KIND, VERSION, ids.make_id(now), now, self._sealed)
        data = json_codec.encode_pretty(msgspec.to_builtins(made))
        for name, content in ((README, _README_TEXT.encode()), (ROOT_FILE, data)):
            # Another machine may add the folder at the same moment: then its file stays.
            self._create(client, root, name, self._at(name), io.BytesIO(content))
        found = self._read_root(client)
        if found is None:
            raise ssh_problems.explain_absent_remote(self._address)
        return found

    # Files ------------------------------------------------------------------------------------------------------

    def _at(self, name: str) -> str:
        return f"{self._address.path}/{name}"

    def _folder(self, agent_id: str) -> str:
        if not ids.is_uuid(agent_id):
            raise errors.RemoteRefused("the agent id is invalid")
        return self._at(f"{AGENTS}/{agent_id.lower()}")

    def _path(self, agent_id: str, name: str) -> str:
        if not _NAME.fullmatch(name) or name == HEADS or name.endswith("."):
            raise errors.RemoteRefused(f"{name!r} is not a valid file name")
        return f"{self._folder(agent_id)}/{name}"

    def _make_folder(self, client: SftpClient, path: str) -> None:
        """Make a folder. That it exists is no error."""
        try:
            client.make_folder(path, self._folder_mode)
        except RefusedOperation as answer:
            # Servers have no common answer for a name that exists.
            if answer.code == NO_SUCH_FILE or not _is_there(client, path):
                raise
            if not client.facts(path).is_folder:
                raise ssh_problems.explain_no_folder(self._address, path) from None

    def _create(self, client: SftpClient, folder: str, name: str, path: str, source: BinaryIO) -> bool:
        """Create the file `path` from a half-written one in `folder`. Return False if it exists."""
        self._check_server(client)
        half = f"{folder}/.{name}.{secrets.token_hex(6)}.tmp"
        try:
            with client.new_file(half, source, self._mode):
                is_new = self._link(client, half, path)
        except (RefusedOperation, errors.RemoteError):
            with contextlib.suppress(RefusedOperation):
                _remove(client, half)
            raise
        _remove(client, half)
        return is_new

    def _link(self, client: SftpClient, half: str, path: str) -> bool:
        """Give a whole file its name. Return False if the name exists. Raises RemoteRefused where the file system has
        no hard links."""
        try:
            client.link(half, path)
        except RefusedOperation as answer:
            # Servers have no common answer for a name that exists.
            if answer.code == NO_SUCH_FILE:
                raise
            if _is_there(client, path):
                return False
            if _is_full(self._space(client)):
                raise
            raise ssh_problems.explain_no_links(self._address) from None
        return True

    def _read_small(self, client: SftpClient, path: str) -> bytes:
        """Read a document into memory. Raises RemoteDamaged for one that is too large to be a document."""
        size = client.facts(path).size
        if size > _LARGEST_DOCUMENT:
            raise errors.RemoteDamaged(f"{path} has {size} bytes, which is more than Lifeboat writes into such a file")
        target = io.BytesIO()
        client.read_file(path, target, limit=_LARGEST_DOCUMENT)
        return target.getvalue()

    def _drop_abandoned(self, client: SftpClient, folder: str, found: dict[str, FileFacts]) -> None:
        """Remove half-written files of writers that ended, by the clock of the server."""
        now = max((facts.modified for facts in found.values()), default=0)
        for name, facts in found.items():
            if _HALF.fullmatch(name) and now - facts.modified > _ABANDONED:
                with contextlib.suppress(RefusedOperation):
                    _remove(client, f"{folder}/{name}")

    def _numbered(self, agent_id: str) -> NumberedHeads:
        folder = self._folder(agent_id)
        if agent_id not in self._heads:
            self._heads[agent_id] = NumberedHeads(_SftpHeads(self, folder))
        return self._heads[agent_id]


class _SftpHeads:
    """The heads of one agent, as `numbered_heads.HeadPlace` wants them. It is used within a session."""

    def __init__(self, files: SftpFiles, folder: str) -> None:
        self._files = files
        self._agent_folder = folder
        self._folder = f"{folder}/{HEADS}"

    def numbers(self) -> list[int]:
        found = _entries(self._files._connected(), self._folder)
        return sorted(int(name) for name, facts in found.items() if _NUMBER.fullmatch(name) and facts.size)

    def read(self, number: int) -> bytes:
        client = self._files._connected()
        try:
            return self._files._read_small(client, self._path(number))
        except RefusedOperation as answer:
            _ignore_missing(answer)
            return b""

    def create(self, number: int, data: bytes) -> bool:
        client = self._files._connected()
        name = self._path(number).rpartition("/")[2]
        return self._files._create(client, self._agent_folder, name, self._path(number), io.BytesIO(data))

    def clear(self, number: int) -> None:
        client = self._files._connected()
        if number > 1:
            _remove(client, self._path(number))
            return
        empty = f"{self._agent_folder}/.empty.{secrets.token_hex(6)}.tmp"
        with client.new_file(empty, io.BytesIO(), self._files._mode):
            client.replace(empty, self._path(number))

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number:012d}"


def _entries(client: SftpClient, folder: str) -> dict[str, FileFacts]:
    """Return what is in a folder, nothing for one that does not exist."""
    try:
        return client.entries(folder)
    except RefusedOperation as answer:
        _ignore_missing(answer)
        return {}


def _is_full(space: ServerSpace | None) -> bool:
    return space is not None and (space.free < _LITTLE_SPACE or space.inodes == 0)


def _is_there(client: SftpClient, path: str) -> bool:
    try:
        client.facts(path)
    except RefusedOperation as answer:
        _ignore_missing(answer)
        return False
    return True


def _remove(client: SftpClient, path: str) -> None:
    with _missing_ignored():
        client.remove_file(path)


@contextmanager
def _missing_ignored() -> Iterator[None]:
    try:
        yield
    except RefusedOperation as answer:
        _ignore_missing(answer)


def _ignore_missing(answer: RefusedOperation) -> None:
    """Raise an answer again unless it says that a file or folder does not exist."""
    if answer.code != NO_SUCH_FILE:
        raise answer


def _stored(name: str, facts: FileFacts, now: int | None) -> StoredFile:
    return StoredFile(name, facts.size, None if now is None else float(now - facts.modified))
