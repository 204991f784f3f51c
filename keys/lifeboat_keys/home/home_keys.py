"""The keys of one home on one machine.

    store.json          where the user's key lies (see `stores`)
    user.key  users/    the user's keys in the file store: whoever reads these files has them
    wrapped/            the user's keys, wrapped with a passphrase
    proven.json         when the words were last proven
    fingerprint.key     tells an unchanged secret from a changed one without keeping it; opens nothing
    user.json  device.key  devices.json    whose home this is (see `identity`)
    agents/<id>.json    each agent's pairs (see `agent_keys`)
    rotation.json  settling.json           while the user's key is being replaced (see `key_rotation`)

Each of store.json, user.json, devices.json, agents/<id>.json and settling.json, which hold nothing secret in the open,
has a copy in a second folder (`spares`): one that is lost or damaged is written again from it.

Capturing and signing need no secret of the user: `ensure` once, then everything but `user_key`, `agent_secret`
and `open` works while the key is away.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_keys.errors import KeyExists, KeysError, NoAgentKey, NoKey, OtherKey
from lifeboat_keys.home import key_file_documents, key_rotation
from lifeboat_keys.home.agent_keys import AgentKeys
from lifeboat_keys.home.device_registry import host_name
from lifeboat_keys.home.home_identity import MAKE, HomeIdentity
from lifeboat_keys.home.key_file_names import AGENTS, DEVICE_KEY, FINGERPRINT_KEY, JOURNAL, USER_PUBLIC
from lifeboat_keys.home.key_rotation import RotatingFiles, RotationReason, RotationStart
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey, UserPublic
from lifeboat_keys.signed import credential_sealing, unopened_credentials
from lifeboat_keys.stores.command_store import CommandStore
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.key_holder import HeldUserKey
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_keys.stores.user_key_stores import OpenedUserKey, UserKeyStores

_PROVEN = "proven.json"


class KeyState(StrEnum):
    OK = "ok"
    NEEDS_KEY = "needs_key"
    """No key, or only its public part: capture goes on, credentials cannot be opened."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """What `status` says of the user's key. `note` is for people, "" when there is nothing to say;
    `description` says of a key that can be used where it is. `proven_at`
    is when the words were last proven."""

    state: KeyState
    key_id: str | None
    store: StoreKind
    note: str
    proven_at: str | None = None
    description: str = ""


class HomeKeys(HomeIdentity):
    """One folder of keys: what `HomeIdentity` knows, the way to the user's key, and what is done with it."""

    def __init__(
        self,
        folder: Path,
        files: FileOperations | None = None,
        clock: Clock | None = None,
        around: KeyEnvironment | None = None,
        spares: Path | None = None,
    ) -> None:
        operations = files or SystemFiles()
        super().__init__(RotatingFiles(folder, operations, spares))
        self._clock = clock or SystemClock()
        self._user = UserKeyStores(self._store, operations, around or KeyEnvironment())
        self._agents = AgentKeys(self._store, self, self._clock)

    def ensure(self, store: StoreKind | None = None) -> bool:
        """Make what is missing: the user's key, the device key, the fingerprint key. Never overwrites one.

        A new key goes into `store`, or into the best there is; one that is here stays where it is (see `move`). Says
        whether the user's key was made now, or by a call that did not get to its end: its words have then to be
        shown. Raises NoKey when the user's key was here once and is needed, and what the store raises.
        """
        with self._store.locked():
            new = self._read_device() is None
            if self.key_id is None:
                self._refuse_second_key()
                self._complete(self._user.first(store))
            self._complete()
        return new

    def install(self, user_key: UserKey, store: StoreKind | None = None) -> None:
        """Take a key from its words, into `store` or the one in use. Raises KeyExists when this home has another one,
        and what the store raises."""
        with self._store.locked():
            known = self._known_public()
            if known is not None and known != user_key.public:
                raise KeyExists(f"this home has the key {known.key_id}, the words are of {user_key.key_id}")
            self._user.keep(user_key, store)
            self._complete(user_key)

    def status(self, *, thorough: bool = False) -> KeyStatus:
        """Asks the store, once; a program of the user's only if `thorough`, because it may have to ask somebody. Never
        raises for what is wrong with a key: it says so."""
        try:
            if not thorough and self.public and self.store is StoreKind.COMMAND and not self.store_problem(self.store):
                return self._usable(CommandStore.description)
            opened = self._open()
        except NoKey as error:
            return self._status(KeyState.NEEDS_KEY, f"{_uncapitalised(error.title)}: {error.message} ({error.fix})")
        except KeysError as error:
            return self._status(KeyState.ERROR, error.message)
        damage = self.damage()
        if damage is not None:
            return self._status(KeyState.ERROR, damage.message)
        return self._usable(opened.description)

    def damage(self) -> LifeboatError | None:
        """Read every file that captures, restores and signatures need beside the user's key, and return what is wrong
        with the first that cannot be used. What is merely missing is made again by the next capture."""
        try:
            if self._read_device() is not None:
                _ = self.device
            self.machines.all()
            self._fingerprint_key()
            self._agents.all()
        except NoKey:
            return None
        except (KeysError, SignatureError) as error:
            return error
        return None

    @property
    def is_complete(self) -> bool:
        """Whether this machine has every key that it makes by itself. Raises KeysError."""
        return self._read_device() is not None and self._store.has(FINGERPRINT_KEY)

    def user_key(self) -> UserKey:
        """The user's key with its secret: from the process that holds it open, or from its store.

        Raises NoKey (or what is derived from it), KeyUnsafe, KeyDamaged, OtherKey, and what the store raises.
        """
        return self._open().key

    @property
    def store(self) -> StoreKind:
        """Where the user's key lies. Raises KeyDamaged, KeyUnsafe."""
        return self._user.choice.store

    @property
    def store_is_chosen(self) -> bool:
        """Whether the user named the store, so that no better one need be looked for. Raises as `store`."""
        return self._user.choice.chosen

    def store_problem(self, store: StoreKind) -> KeysError | None:
        """Why a key could not be kept in a store now, None when it could."""
        return self._user.problem(store)

    def left_open(self) -> list[str]:
        """Files in which a key still lies unprotected although it is in another store now."""
        return self._user.left_open()

    def move(self, store: StoreKind) -> list[str]:
        """Bring the user's key into another store, and finish a move that was interrupted.

        The names of the unprotected files that are gone: the new store gave back every key they held before. Other
        stores keep what they have. Raises what both stores raise; then the key is where it was.
        """
        with self._store.locked():
            key = self.user_key()
            return self._user.move(key, store, [one.open(key).key_id for one in self.former])

    def keep(self, user_key: UserKey) -> None:
        """Keep a further key in the store in use; the others stay. Raises KeyExists, StoreReadOnly where there is
        room for one only, NoPassphrase, and what else the store raises."""
        with self._store.locked():
            self._user.keep(user_key)

    def unlock(self, passphrase: str | None = None, seconds: float | None = None) -> HeldUserKey | None:
        """Open the key, which may ask the user, and hold it open for `seconds`, or until `lock`. None where the store
        is never locked. Raises CannotHold, KeyUnsafe, and what the store raises."""
        return self._user.unlock(self.public.key_id, passphrase, seconds)

    def lock(self) -> bool:
        """End what `unlock` began; whether there was anything to end."""
        return self._user.lock()

    def note_proven(self, time: str) -> None:
        """Remember when the words were proven."""
        document = {"kind": "lifeboat words proven", "version": 1, "key_id": self.public.key_id, "proven_at": time}
        with self._store.locked():
            self._store.replace(_PROVEN, document)

    @property
    def proven_at(self) -> str | None:
        """When the words of the user's key were last proven; its store is not asked. Raises KeysError."""
        return self._proven_at(self.key_id)

    def agent_public(self, agent_id: str) -> bytes:
        """The public half (X25519) that an agent's credentials are sealed to; the pair is made when there is none."""
        return self._agents.current(agent_id).public

    def agent_secret(self, agent_id: str, pair: str | None = None) -> bytes:
        """The secret half of an agent's current pair, or of the one named. Raises NoKey, NoAgentKey."""
        found = self._agents.find(agent_id, pair)
        return found.secret(self._key_of(found.user))

    def _key_of(self, user: UserPublic) -> UserKey:
        """The user's key, or the former one that something was wrapped for."""
        key = self.user_key()
        if key.public == user:
            return key
        with self._store.locked():  # so that both are of one moment
            key, found = self.user_key(), [one for one in self.former if one.public == user]
            return found[0].open(key) if found else key

    def open(self, credential: JsonObject) -> bytes:
        """The payload of a credential record, whichever pair of its agent it was sealed to.

        Raises NoKey, NoAgentKey, UnsealError.
        """
        credential_sealing.check_form(credential)
        agent_id, recipient = str(credential.get("agent_id")), credential["encryption"].get("recipient")
        try:
            secret = self.agent_secret(agent_id, str(recipient) if recipient else None)
        except NoAgentKey as error:
            raise self._agents.why_shut(credential) or error from None
        return credential_sealing.unseal_credential(credential, secret)

    def fingerprint(self, value: bytes) -> str:
        """64 hexadecimal digits that are equal for equal values and mean nothing on another machine."""
        key = self._fingerprint_key()
        if key is None:
            raise NoKey("this machine has no fingerprint key", fix=MAKE)
        return hashlib.blake2b(value, key=key, digest_size=32, person=b"lifeboat-print").hexdigest()

    def _fingerprint_key(self) -> bytes | None:
        document = self._store.read(FINGERPRINT_KEY)
        return None if document is None else key_file_documents.secret_in(document, FINGERPRINT_KEY)

    def export_agent(self, agent_id: str) -> JsonObject:
        """An agent's pairs as they travel in an archive. Raises NoAgentKey."""
        return self._agents.export(agent_id)

    def lost_pairs_of(self, agent_id: str, credentials: Iterable[JsonObject]) -> list[JsonObject]:
        """Return the credentials that were sealed for the user of this home, to a pair that this home has no more.

        Raises KeyDamaged, OtherKey, SignatureError.
        """
        users = {self.key_id, *(one.public.key_id for one in self.former)} if self.key_id else set()
        own = [each for each in credentials if unopened_credentials.user_of(each) in users]
        if not own:
            return []
        try:
            document = self.export_agent(agent_id)
        except NoAgentKey:
            document = None
        return unopened_credentials.select_unopened(own, document)

    def destroy_agent(self, agent_id: str) -> bool:
        """Destroy an agent's pairs here: its credentials, wherever copies of them are, cannot be opened with what this
        home holds. False when it had none."""
        return self._agents.destroy(agent_id)

    def import_agent(self, document: JsonObject) -> None:
        """Keep the pairs, the former keys and the machines that came with an archive. Raises OtherKey, SignatureError,
        KeyDamaged."""
        self._agents.take_in(document)

    def rotate(self, old: UserKey, new: UserKey, reason: RotationReason) -> None:
        """Put `new` in the place of the key in force, `old` (see `key_rotation`). Interrupted anywhere, one of the two
        is in force. `new` may be one that another machine of the user put in the place of the same key.

        Raises OtherKey when `old` is not the key in force any more, KeyExists when `new` is no other key or was
        replaced once, KeysError when the last rotation has not settled.
        """
        with self._store.locked():
            if self.public != old.public:
                raise OtherKey(f"the key {old.key_id} was replaced by {self.public.key_id} meanwhile")
            if new.public in (old.public, *(one.public for one in self.former)):
                raise KeyExists(f"{new.key_id} is or was the key of this home", fix="lifeboat keys status")
            self.refuse_unsettled()
            before = RotationStart(old, self.former, self.device.secret, self._agents.all())
            journal = key_rotation.prepare_rotation(before, new, times.to_text(self._clock.now()), reason)
            reach_crash_point(CrashPoint.ROTATE_KEY_KEPT)
            self.keep(new)
            reach_crash_point(CrashPoint.ROTATE_JOURNAL_WRITTEN)
            self._store.write_once(JOURNAL, journal)
            self._store.roll_forward()

    def refuse_unsettled(self) -> None:
        """Raises KeysError while the vaults lack something: the next command goes on with it."""
        if self.settling() is not None:
            raise KeysError("the last rotation of your key has not come to its end", fix="lifeboat status")

    def renew_device(self) -> None:
        """A new device key for this machine, because a copy of it uses the old one. Raises what `user_key` raises."""
        with self._store.locked():
            key = self.user_key()
            self._store.replace(DEVICE_KEY, key_file_documents.of_device_key(DeviceKey.generate(key)))
            self._complete(key)

    def note_signed(self) -> None:
        """The vaults' history is signed anew: the compromised key counts no more."""
        with self._store.locked():
            key_rotation.note_signed(self._store)

    def note_settled(self) -> None:
        """The vaults lack nothing any more."""
        with self._store.locked():
            key_rotation.note_settled(self._store)

    def _refuse_second_key(self) -> None:
        """Under another key nothing that was sealed before would open."""
        if self._store.names(AGENTS):
            raise NoKey("the files that say whose home this is are lost", fix="lifeboat keys recover")

    def _open(self) -> OpenedUserKey:
        known = self.public
        opened = self._user.read(known.key_id)
        if opened.key.public != known:
            raise OtherKey(f"the store {self.store} gave the key {opened.key.key_id}, this home has {known.key_id}")
        return opened

    def _usable(self, description: str) -> KeyStatus:
        return self._status(KeyState.OK, f"key: {description}", description)

    def _status(self, state: KeyState, note: str, description: str = "") -> KeyStatus:
        try:
            key_id, store = self.key_id, self.store
        except KeysError as error:
            return KeyStatus(KeyState.ERROR, None, StoreKind.FILE, error.message)
        return KeyStatus(state, key_id, store, note, self._proven_at(key_id), description)

    def _proven_at(self, key_id: str | None) -> str | None:
        """None also where the note of it cannot be read: they are proven anew then."""
        with contextlib.suppress(KeysError, ValueError):
            document = self._store.read(_PROVEN) or {}
            if document.get("key_id") == key_id:
                return times.to_text(times.parse_time(str(document.get("proven_at"))))
        return None

    def _complete(self, key: UserKey | None = None) -> None:
        """Everything that hangs on the user's key, where it is missing; under the lock. The device key comes last:
        it says that all is there. `key` is the user's key where it is at hand."""
        if self._store.read(USER_PUBLIC) is None:
            self._store.write_once(USER_PUBLIC, (key.public if key else self.public).to_json())
        if self._store.read(FINGERPRINT_KEY) is None:
            self._store.write_once(FINGERPRINT_KEY, key_file_documents.new_fingerprint_key())
        if self._read_device() is None:
            self._store.write_once(
                DEVICE_KEY, key_file_documents.of_device_key(DeviceKey.generate(key or self.user_key()))
            )
        own = self.device.public
        if own not in {one.public for one in self.machines.all()}:
            self.machines.meet(own, host_name(), times.to_text(self._clock.now()))


def _uncapitalised(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
