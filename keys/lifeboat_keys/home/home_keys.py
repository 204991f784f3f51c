"""The keys of one home on one machine.

    store.json          which store holds the user's key (see `stores`)
    user.key  users/    the user's keys in the file store, readable to anyone who can read the files
    wrapped/            the user's keys, wrapped with a passphrase
    proven.json         when the words were last proven
    fingerprint.key     tells an unchanged secret from a changed one without keeping it; opens nothing
    user.json  device.key  devices.json    whose home this is (see `identity`)
    agents/<id>.json    each agent's pairs (see `agent_keys`)
    rotation.json  settling.json           while the user's key is being replaced (see `key_rotation`)

Each of store.json, user.json, devices.json, agents/<id>.json and settling.json, which hold no unprotected secret,
has a copy in a second folder (`spares`), from which a lost or damaged one is written again.

Capturing and signing need no secret of the user: call `ensure` once; then everything but `user_key`, `agent_secret`
and `open` works while the key is unavailable.
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
from lifeboat_keys.errors import KeysError, NoAgentKey, NoKey, OtherKey
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
from lifeboat_keys.stores.keyring_secrets import KeyringSecrets
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_keys.stores.user_key_stores import OpenedUserKey, UserKeyStores

_PROVEN = "proven.json"


class KeyState(StrEnum):
    """State of the user's key on this machine."""

    OK = "ok"
    NEEDS_KEY = "needs_key"
    """No key, or only its public part: captures work, credentials cannot be opened."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """Status of the user's key. `note` is a hint for people, "" without one; `description` says where a usable key is
    stored; `proven_at` is when the user last proved to have the words."""

    state: KeyState
    key_id: str | None
    store: StoreKind
    note: str
    proven_at: str | None = None
    description: str = ""


class HomeKeys(HomeIdentity):
    """The keys in one key folder: everything `HomeIdentity` knows, and access to the user's key."""

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
        """Make missing keys: the user's key, the device key, the fingerprint key. Never overwrites one.

        A new user key goes into `store`, or into the best available one; an existing key stays in its store (see
        `move`). Returns whether the user's key was made now, or by a call that did not finish: its words must then be
        shown. Raises NoKey when the user's key existed here and is needed, and what the store raises.
        """
        with self._store.locked():
            new = self._read_device() is None
            if self.key_id is None:
                self._refuse_second_key()
                self._complete(self._user.first(store))
            self._complete()
        return new

    def install(self, user_key: UserKey, store: StoreKind | None = None) -> None:
        """Install a key given by its words, into `store` or the one in use. Raises KeysError.EXISTS when this home has
        another key, and what the store raises."""
        with self._store.locked():
            known = self._known_public()
            if known is not None and known != user_key.public:
                raise KeysError.EXISTS(
                    f"this home has the key {known.key_id}, but the words belong to the key {user_key.key_id}"
                )
            self._user.keep(user_key, store)
            self._complete(user_key)

    def status(self, *, thorough: bool = False) -> KeyStatus:
        """Query the store once and return the status. An external program is asked only if `thorough`, because it may
        prompt. Never raises for a problem with a key; the status describes it."""
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
        """Read every file that captures, restores and signatures need besides the user's key, and return what is wrong
        with the first unusable one. Missing files do not count, because the next capture makes them."""
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
        """Return whether this machine has every key that it makes itself. Raises KeysError."""
        return self._read_device() is not None and self._store.has(FINGERPRINT_KEY)

    def user_key(self) -> UserKey:
        """Return the user's key with its secret, from the process that holds it open or from its store.

        Raises NoKey (or a subclass), KeysError.UNSAFE, KeyDamaged, OtherKey, and what the store raises.
        """
        return self._open().key

    @property
    def store(self) -> StoreKind:
        """Return the store of the user's key. Raises KeyDamaged, KeysError.UNSAFE."""
        return self._user.choice.store

    @property
    def store_is_chosen(self) -> bool:
        """Return whether the user chose the store, so that no better one is suggested. Raises as `store`."""
        return self._user.choice.chosen

    def store_problem(self, store: StoreKind) -> LifeboatError | None:
        """Return why a store could not keep a key now; None when it could."""
        return self._user.problem(store)

    def keyring_secrets(self) -> KeyringSecrets:
        """Return the other secrets of this home in the OS keyring. Nothing is asked before one is used."""
        return self._user.keyring_secrets()

    def left_open(self) -> list[str]:
        """Return the files that still hold an unprotected key although it moved to another store."""
        return self._user.left_open()

    def move(self, store: StoreKind) -> list[str]:
        """Move the user's key to another store, and finish an interrupted move.

        Returns the removed unprotected files; before, every key in them is read back from the new store. Other stores
        keep what they have. Raises what both stores raise; the key then stays in its old store.
        """
        with self._store.locked():
            key = self.user_key()
            return self._user.move(key, store, [one.open(key).key_id for one in self.former])

    def keep(self, user_key: UserKey) -> None:
        """Keep a further key in the store in use. Raises KeysError.EXISTS, KeysError.STORE_READ_ONLY where there is
        room for one key only, KeysError.NO_PASSPHRASE, and what else the store raises."""
        with self._store.locked():
            self._user.keep(user_key)

    def unlock(self, passphrase: str | None = None, seconds: float | None = None) -> HeldUserKey | None:
        """Open the key, which may prompt the user, and hold it open for `seconds` or until `lock`. None for a store
        that is never locked. Raises KeysError.CANNOT_HOLD, KeysError.UNSAFE, and what the store raises."""
        return self._user.unlock(self.public.key_id, passphrase, seconds)

    def lock(self) -> bool:
        """End what `unlock` began; return whether there was anything to end."""
        return self._user.lock()

    def note_proven(self, time: str) -> None:
        """Record when the user proved to have the words."""
        document = {"kind": "lifeboat words proven", "version": 1, "key_id": self.public.key_id, "proven_at": time}
        with self._store.locked():
            self._store.replace(_PROVEN, document)

    @property
    def proven_at(self) -> str | None:
        """Return when the user last proved to have the words of the key, without asking the store. Raises KeysError."""
        return self._proven_at(self.key_id)

    def agent_public(self, agent_id: str) -> bytes:
        """Return the public half (X25519) to which an agent's credentials are sealed. Makes a pair when there is
        none."""
        return self._agents.current(agent_id).public

    def agent_secret(self, agent_id: str, pair: str | None = None) -> bytes:
        """Return the secret half of an agent's current pair, or of the named one. Raises NoKey, NoAgentKey."""
        found = self._agents.find(agent_id, pair)
        return found.secret(self._key_of(found.user))

    def _key_of(self, user: UserPublic) -> UserKey:
        """Return the user's key, or the former key for which something was wrapped."""
        key = self.user_key()
        if key.public == user:
            return key
        with self._store.locked():  # so that both are read at one moment
            key, found = self.user_key(), [one for one in self.former if one.public == user]
            return found[0].open(key) if found else key

    def open(self, credential: JsonObject) -> bytes:
        """Return the payload of a credential record, sealed to any pair of its agent.

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
        """Return 64 hexadecimal digits that are equal for equal values and meaningless on another machine."""
        key = self._fingerprint_key()
        if key is None:
            raise NoKey("this machine does not have the key for fingerprints of secrets", fix=MAKE)
        return hashlib.blake2b(value, key=key, digest_size=32, person=b"lifeboat-print").hexdigest()

    def _fingerprint_key(self) -> bytes | None:
        document = self._store.read(FINGERPRINT_KEY)
        return None if document is None else key_file_documents.secret_in(document, FINGERPRINT_KEY)

    def export_agent(self, agent_id: str) -> JsonObject:
        """Return an agent's pairs for an archive. Raises NoAgentKey."""
        return self._agents.export(agent_id)

    def lost_pairs_of(self, agent_id: str, credentials: Iterable[JsonObject]) -> list[JsonObject]:
        """Return the credentials sealed for this home's user to a pair that this home no longer has.

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
        """Destroy an agent's pairs, so that this home can no longer open its credentials, nor copies of them. Return
        False when it had none."""
        return self._agents.destroy(agent_id)

    def import_agent(self, document: JsonObject) -> None:
        """Import the pairs, former keys and machines of an archive. Raises OtherKey, SignatureError, KeyDamaged."""
        self._agents.take_in(document)

    def rotate(self, old: UserKey, new: UserKey, reason: RotationReason) -> None:
        """Replace the current key `old` by `new` (see `key_rotation`). After an interruption at any point, one of the
        two is current. `new` may be the key with which another machine of the user replaced the same key.

        Raises OtherKey when `old` is no longer current, KeysError.EXISTS when `new` is the same key or a former one,
        KeysError when the last rotation has not settled.
        """
        with self._store.locked():
            if self.public != old.public:
                raise OtherKey(f"the key {old.key_id} has been replaced by {self.public.key_id} in the meantime")
            if new.public in (old.public, *(one.public for one in self.former)):
                raise KeysError.EXISTS(
                    f"the key {new.key_id} is already the key of this home, or is a former one",
                    fix="lifeboat keys status",
                )
            self.refuse_unsettled()
            before = RotationStart(old, self.former, self.device.secret, self._agents.all())
            journal = key_rotation.prepare_rotation(before, new, times.to_text(self._clock.now()), reason)
            reach_crash_point(CrashPoint.ROTATE_KEY_KEPT)
            self.keep(new)
            reach_crash_point(CrashPoint.ROTATE_JOURNAL_WRITTEN)
            self._store.write_once(JOURNAL, journal)
            self._store.roll_forward()

    def refuse_unsettled(self) -> None:
        """Raise KeysError while the vaults are not settled. The next command continues settling them."""
        if self.settling() is not None:
            raise KeysError("the last rotation of your key is not complete", fix="lifeboat status")

    def renew_device(self) -> None:
        """Make a new device key for this machine, because a copy of the machine uses the old one. Raises what
        `user_key` raises."""
        with self._store.locked():
            key = self.user_key()
            self._store.replace(DEVICE_KEY, key_file_documents.of_device_key(DeviceKey.generate(key)))
            self._complete(key)

    def note_signed(self) -> None:
        """Record that the vaults' history is signed again, and stop trusting the compromised key."""
        with self._store.locked():
            key_rotation.note_signed(self._store)

    def note_settled(self) -> None:
        """Record that the vaults are settled."""
        with self._store.locked():
            key_rotation.note_settled(self._store)

    def _refuse_second_key(self) -> None:
        """Refuse to make a second user key: nothing sealed before would open under it."""
        if self._store.names(AGENTS):
            raise NoKey("the files that contain the key id of this home are lost", fix="lifeboat keys recover")

    def _open(self) -> OpenedUserKey:
        known = self.public
        opened = self._user.read(known.key_id)
        if opened.key.public != known:
            raise OtherKey(
                f"the store {self.store} contains the key {opened.key.key_id}, but this home uses {known.key_id}"
            )
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
        """Return when the words were proven. An unreadable note counts as missing; the words are then proven again."""
        with contextlib.suppress(KeysError, ValueError):
            document = self._store.read(_PROVEN) or {}
            if document.get("key_id") == key_id:
                return times.to_text(times.parse_time(str(document.get("proven_at"))))
        return None

    def _complete(self, key: UserKey | None = None) -> None:
        """Make missing keys below the user's key, under the lock. The device key comes last, because it marks the set
        as complete. `key` is the user's key, if available."""
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
