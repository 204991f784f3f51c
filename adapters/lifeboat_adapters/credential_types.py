"""Credentials as an adapter speaks of them: where they stand in files, what needs them, and how they go back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.common.reason_codes import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class FileSecret:
    """A byte span of a file that holds a credential, found by a tokenizer that keeps positions.

    `start` and `end` bound the literal as spelled in the file; `value` is what the runtime reads from it. Secrets of
    one file with the same `group` are one credential (a login has an access and a refresh token); each then has its
    `member` name in it. `expires_at` is a timestamp. One that is `bound` to this machine is never put into another. One
    that is `locked` is still encrypted, with a key of the runtime's that was not there: it is of use beside it only.
    One that is known `by_look` is cut because it looks like a secret and the user said so.
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
    """Why a credential, or a setting beside it, is not put into a runtime's files and stores. An adapter of another
    distribution may define codes of its own; Lifeboat acts on EXPIRED, LOCKED and NO_PROGRAM."""

    KEPT = "kept", "it is there already and stays"
    EXPIRED = "expired", "it has expired"
    EMPTY = "empty", "there is nothing in it"
    TAKEN = "taken", "another credential for the same has this place"
    LOCKED = "locked", "{runtime} sealed it with a {key} that is not here, and it can only be used beside that"
    NO_PROGRAM = "no_program", "{runtime} is not on PATH, and only it writes into its store"
    NOT_TAKEN = "not_taken", "{runtime} did not take it"
    NOT_REFRESHED = "not_refreshed", "{runtime} could not refresh it: sign in again"
    STORE_UNREADABLE = "store_unreadable", "{runtime}'s store cannot be read now"
    RUNTIME_PROBLEM = "runtime_problem", "{message}"
    ONE_IDENTITY = "one_identity", "no command of {runtime} stores what belongs to one identity"
    NOT_SPELLED = "not_spelled", "it cannot be spelled for the command that imports it"
    OLD_RELEASE = "old_release", "this release of {runtime} has no command that takes sessions over"
    NEW_GATEWAY = "new_gateway", "what opens {runtime}'s gateway is made by itself: pair your devices again"
    NO_CHANNEL = "no_channel", "{runtime} has no channel of this kind"
    LINK_AGAIN = "link_again", "the login of a channel is for one installation: link the channel again"
    NO_PLACE = "no_place", "{runtime} has no place for it"
    NO_VARIABLES = (
        "no_variables",
        "{runtime} has no place for the variables of other programs: give it to the skill that needs it",
    )
    NOT_A_LINE = "not_a_line", "it does not fit on a line of a .env file"
    SET_BY_ANOTHER = "set_by_another", "what it turns into is set by something else in the same file"
    RETIRED = "retired", "the release of {runtime} that this installation is for does not know it"
    OF_INSTALLATION = "of_installation", "it belongs to the installation that wrote it"
    ANOTHER_FOLDER = "another_folder", "it names a folder of the other machine"
    OF_MACHINE = "of_machine", "each machine gets a hook of its own from Lifeboat: lifeboat agents hook"
    OF_ANOTHER_AGENT = "of_another_agent", "another agent here has this name"
    IN_COMMON = "in_common", "other agents here use what it would change"


class UnparsableSecrets(ValueError):
    """A file that may hold secrets does not parse: its last version stays, and it is named."""


@dataclass(frozen=True, slots=True)
class EncryptionKeyFile:
    """The key that a runtime encrypts its credentials with: `name` is the file in the runtime's own folder, `data` what
    stands in it. One that `is_new` is not there yet: whoever encrypts with it writes it."""

    name: str
    data: bytes
    is_new: bool


@dataclass(frozen=True, slots=True)
class ReencryptedFile:
    """A file that an installation can read. `unreadable` says of places why nobody can read them there."""

    data: bytes
    unreadable: Mapping[tuple[str | int, ...], Reason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CredentialNeed:
    """The credentials that a capability needs, by what they are called: a label is `file: place in it`. `variables` are
    such places whatever the file, `places` are beginnings of whole labels."""

    capability: str
    variables: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftoverSecretFile:
    """A file with secrets in clear that nobody needs there. `made_again` says that the runtime writes it whenever it
    is missing; else `advice` says when it may go."""

    path: Path
    what: str
    made_again: bool
    advice: str = ""


Place = tuple[str, tuple[str | int, ...]]
"""A path in a file of an archive, and everything below it: (archive path, keys and indexes from the root)."""


@dataclass(frozen=True, slots=True)
class CredentialDelivery:
    """How credentials get into a store that only the runtime itself writes, or (`reason`) why they do not.

    `places` says which those are and how each is called in the store, `where` is the store in people's words. `command`
    runs with `input` on its standard input; `files` are written for it before (0600) and taken away after, together
    with new files beside them whose names fit `leftovers`.
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


@dataclass(frozen=True, slots=True)
class ForeignCredential:
    """A credential that another runtime kept. `members` are the parts of a login by name, empty for a single value;
    `place` is the archive's path and keys where it stood."""

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
    """Credentials of another runtime under this one's names: `files` by archive path, as if they had been captured
    here, for `merge_home` and `deliveries`; `places` say where in them each stands, `reasons` why others have none, by
    id."""

    files: Mapping[str, bytes]
    places: Mapping[str, Place]
    reasons: Mapping[str, Reason]
