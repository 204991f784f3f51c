"""Types for credentials: where they stand in files, which capability needs them, and how a restore puts them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_alf.common.reason_codes import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class FileSecret:
    """A byte span of a file that holds a credential, found by a tokenizer that keeps positions.

    `start` and `end` bound the literal as spelled in the file; `value` is what the runtime reads from it. Secrets of
    one file with the same `group` form one credential (a login has an access and a refresh token); `member` is the name
    of each in it. `expires_at` is a timestamp. A `bound` secret belongs to this machine and is never restored to
    another one. A `locked` secret is still encrypted with a key of the runtime that was missing; it is usable only
    together with that key. A secret found `by_look` is cut because its value resembles a secret and the user asked for
    that.
    """

    start: int
    end: int
    value: str
    service: str
    credential_type: str
    label: str
    group: str = ""
    member: str = ""
    expires_at: str | None = None
    bound: bool = False
    locked: bool = False
    by_look: bool = False


class CredentialRefusal(ReasonCode):
    """Why a credential, or a setting beside it, is not put into a runtime's files and stores.

    An adapter of another distribution may define more codes. Lifeboat acts on EXPIRED, LOCKED and NO_PROGRAM.
    """

    KEPT = "kept", "the credential already exists and was not replaced"
    EXPIRED = "expired", "the credential has expired"
    EMPTY = "empty", "the credential is empty"
    TAKEN = "taken", "the runtime already has another credential for the same purpose"
    LOCKED = (
        "locked",
        "{runtime} encrypted the credential with a {key} that is not on this machine",
    )
    NO_PROGRAM = (
        "no_program",
        "the program {runtime} is not on PATH, and only this program can write its credential store",
    )
    NOT_TAKEN = "not_taken", "{runtime} did not accept the credential"
    NOT_REFRESHED = "not_refreshed", "{runtime} could not refresh the credential: sign in again"
    STORE_UNREADABLE = "store_unreadable", "the credential store of {runtime} cannot be read now"
    RUNTIME_PROBLEM = "runtime_problem", "{message}"
    ONE_IDENTITY = (
        "one_identity",
        "{runtime} cannot import a secret that belongs to one identity instead of the whole team",
    )
    NOT_SPELLED = "not_spelled", "the import command of the runtime cannot read a credential of this form"
    OLD_RELEASE = "old_release", "this release of {runtime} has no command that imports sessions"
    NEW_GATEWAY = "new_gateway", "{runtime} creates a new gateway token: pair your devices again"
    NO_CHANNEL = "no_channel", "{runtime} does not support this type of channel"
    LINK_AGAIN = "link_again", "a channel login is bound to one installation: link the channel again"
    NO_PLACE = "no_place", "{runtime} cannot store this credential"
    NO_VARIABLES = (
        "no_variables",
        "{runtime} does not store environment variables for other programs: set this variable for the "
        "skill that needs it",
    )
    NOT_A_LINE = "not_a_line", "the credential cannot be written as one line in a .env file"
    SET_BY_ANOTHER = "set_by_another", "the setting for this credential already has another value in the file"
    RETIRED = "retired", "the installed release of {runtime} does not support this credential"
    OF_INSTALLATION = "of_installation", "the credential works only in the installation that created it"
    ANOTHER_FOLDER = (
        "another_folder",
        "the value is a folder path of the original installation, which may not exist here",
    )
    OF_MACHINE = (
        "of_machine",
        "Lifeboat's own hook is not copied between machines. To install it on this machine: lifeboat agents hook",
    )
    OF_ANOTHER_AGENT = "of_another_agent", "another agent on this machine has this name"
    IN_COMMON = "in_common", "other agents on this machine use the same setting, so it was not changed"


class UnparsableSecrets(ValueError):
    """A file that may hold secrets does not parse. Capture keeps its last version and names the file."""


@dataclass(frozen=True, slots=True)
class EncryptionKeyFile:
    """The key that a runtime encrypts its credentials with. `name` is the file in the runtime's own folder, `data` its
    content. When `is_new` is set, the file does not exist yet and has to be written together with the first value that
    it encrypts."""

    name: str
    data: bytes
    is_new: bool


@dataclass(frozen=True, slots=True)
class ReencryptedFile:
    """A file whose secrets an installation can decrypt. `unreadable` says why the secrets at some places cannot be
    decrypted."""

    data: bytes
    unreadable: Mapping[tuple[str | int, ...], Reason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CredentialNeed:
    """The credentials that a capability needs, selected by their labels (`file: place in it`). `variables` are places
    in any file; `places` are beginnings of whole labels."""

    capability: str
    variables: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftoverSecretFile:
    """A file with secrets in plain text that the runtime does not need. `made_again` says that the runtime writes it
    whenever it is missing. Otherwise `advice` says when the user can delete it."""

    path: Path
    what: str
    made_again: bool
    advice: str = ""


Place = tuple[str, tuple[str | int, ...]]
"""A place in a file of an archive, and everything below it: (archive path, keys and indexes from the root)."""


@dataclass(frozen=True, slots=True)
class CredentialDelivery:
    """How credentials get into a store that only the runtime itself writes, or why they do not (`reason`).

    `places` maps the delivered places to their names in the store; `where` is the name of the store for people.
    `command` runs with `input` on its standard input. Before it runs, `files` are written (mode 0600). Afterwards they
    are removed, together with new files beside them whose names match `leftovers`. `find_undelivered` is called
    afterwards with the installation and the delivery. It returns places that did not arrive, each with the reason.
    """

    places: Mapping[Place, str]
    where: str
    reason: Reason | None = None
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    input: bytes | None = None
    files: tuple[tuple[Path, bytes], ...] = ()
    leftovers: tuple[str, ...] = ()
    timeout_seconds: float = 120.0
    find_undelivered: Callable[[Any, CredentialDelivery], Mapping[Place, Reason]] = lambda *_: {}


@dataclass(frozen=True, slots=True)
class ForeignCredential:
    """A credential from the archive of another runtime. `members` are the parts of a login by name, empty for a single
    value. `place` is the archive path and the keys where it stood."""

    id: str
    service: str
    credential_type: str
    label: str
    value: str
    members: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class TranslatedCredentials:
    """Credentials of another runtime under the names of this one.

    `files` holds files by archive path, as if they had been captured from this runtime, for `merge_home` and
    `deliveries`. By credential id, `places` says where each one is in them and `reasons` why others have no place.
    """

    files: Mapping[str, bytes]
    places: Mapping[str, Place]
    reasons: Mapping[str, Reason]
