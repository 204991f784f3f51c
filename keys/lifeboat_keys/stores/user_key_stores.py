"""Find the user's key of one home: the store that holds it, and the process that may hold it open.

    store.json   {"kind": "lifeboat key store", "version": 1, "store": kind, "chosen": whether the user named it,
                  "home": the id under which the keyring has the key}

The file is written with the first key. Older homes without it keep their key in the unprotected file.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_keys.errors import KeyDamaged, KeysError, NoKey
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import key_holder
from lifeboat_keys.stores.command_store import CommandStore
from lifeboat_keys.stores.file_store import FileStore
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.key_file_store import KeyFileStore
from lifeboat_keys.stores.key_holder import HeldUserKey
from lifeboat_keys.stores.key_store import KeyStore
from lifeboat_keys.stores.keyring_secrets import KeyringSecrets
from lifeboat_keys.stores.keyring_store import KeyringStore
from lifeboat_keys.stores.passphrase_store import PassphraseStore
from lifeboat_keys.stores.store_kinds import StoreKind

RECORD = "store.json"
_HOLDABLE = frozenset({StoreKind.KEYRING, StoreKind.PASSPHRASE, StoreKind.COMMAND})
_KIND = "lifeboat key store"
_DAY_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class KeyStoreChoice:
    """The store in use. `chosen` says whether the user chose it."""

    store: StoreKind
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class OpenedUserKey:
    """The user's key and, for people, where it came from."""

    key: UserKey = field(repr=False)
    description: str


class UserKeyStores:
    """All stores of one home. Writing requires the lock of the keys."""

    def __init__(self, documents: KeyFiles, files: FileOperations, around: KeyEnvironment) -> None:
        self._documents = documents
        self._files = files
        self._around = around
        self._file = FileStore(documents)

    @property
    def choice(self) -> KeyStoreChoice:
        """Return the store in use: the file that the environment names, else the recorded store. Raises KeyDamaged."""
        return self._known_choice() or KeyStoreChoice(StoreKind.FILE)

    def first(self, kind: StoreKind | None) -> UserKey:
        """Return the first key of a home: the one already in the store, else a new one. The store is the given, the
        recorded, or the best available one."""
        if kind is not None or self._known_choice() is not None:
            return self._first_in(self._choose(kind), asked=kind is not None)
        best = KeyStoreChoice(self._best())
        try:
            return self._first_in(best)
        except KeysError:
            if best.store is not StoreKind.KEYRING:
                raise
            return self._first_in(KeyStoreChoice(self._best_file()))  # a keyring that answers, but keeps nothing

    def _first_in(self, choice: KeyStoreChoice, *, asked: bool = False) -> UserKey:
        store = self._store(choice.store)
        key = store.find()
        if key is None:
            if choice.store is StoreKind.KEY_FILE and not asked:
                # A path that is mistyped must not become the place of a new key.
                message = f"{self._around.key_file} does not exist, and Lifeboat creates a key there only on request"
                raise NoKey(message, fix="lifeboat keys init --store key_file")
            key = UserKey.generate()
            store.keep(key)
        self._record(choice)
        return key

    def keep(self, key: UserKey, kind: StoreKind | None = None) -> None:
        """Store a key in the given, the recorded, or the best available store, which becomes the store in use."""
        choice = self._choose(kind)
        self._store(choice.store).keep(key)
        if kind is not None or self._documents.read(RECORD) is None:
            self._record(choice)

    def move(self, key: UserKey, kind: StoreKind, sealed: Collection[str] = ()) -> list[str]:
        """Move a key to another store. Returns the removed unprotected files, after every key in them was read back
        from the new store. `sealed` are the ids of keys that the key itself opens."""
        store = self._store(kind)
        in_files = {} if kind is StoreKind.FILE else self._file.whole()
        for each in (key, *(one for one in in_files.values() if one.key_id not in sealed)):
            store.keep(each)
            if store.read(each.key_id).key_id != each.key_id:
                raise KeyDamaged(f"the store {kind} returned a key other than {each.key_id}, so the key was not moved")
        self._record(KeyStoreChoice(kind, chosen=True))
        self._file.remove(in_files)
        return list(in_files)

    def read(self, key_id: str) -> OpenedUserKey:
        """Return the key with this id, from the process that holds it open or from the store. Raises what stores
        raise."""
        kind = self.choice.store
        held = key_holder.ask_holder(self._around, key_id) if kind in _HOLDABLE else None
        if held is not None and held.key.key_id == key_id:
            return OpenedUserKey(held.key, _held_text(held.until))
        store = self._store(kind)
        return OpenedUserKey(store.read(key_id), store.description)

    def unlock(self, key_id: str, passphrase: str | None, seconds: float | None) -> HeldUserKey | None:
        """Open the key, which may prompt the user, and hold it open; None for a store that is never locked."""
        kind = self.choice.store
        if kind not in _HOLDABLE:
            return None
        around = self._around if passphrase is None else replace(self._around, passphrase=passphrase)
        key = self._store(kind, around, may_ask=True).read(key_id)
        with self._documents.locked():
            return key_holder.start_holder(around, self._documents.folder, key, seconds)

    def lock(self) -> bool:
        """Stop holding the key open; return whether it was held."""
        return key_holder.end_holder(self._around)

    def problem(self, kind: StoreKind) -> LifeboatError | None:
        """Return why a store cannot be used now; None when it can."""
        return self._store(kind).problem()

    def keyring_secrets(self) -> KeyringSecrets:
        """Return the other secrets of this home in the OS keyring, also while the key is in another store."""
        return KeyringSecrets(KeyringStore(replace(self._around, home_id=self._home_id())))

    def left_open(self) -> list[str]:
        """Return the unprotected files of keys that moved to another store."""
        return [] if self.choice.store is StoreKind.FILE else self._file.names()

    def _choose(self, kind: StoreKind | None) -> KeyStoreChoice:
        if kind is not None:
            return KeyStoreChoice(kind, chosen=True)
        return self._known_choice() or KeyStoreChoice(self._best())

    def _known_choice(self) -> KeyStoreChoice | None:
        if self._around.key_file is not None:
            return KeyStoreChoice(StoreKind.KEY_FILE, chosen=True)
        recorded = self._documents.read_checked(RECORD, _of_record)
        if recorded is not None:
            return recorded
        return KeyStoreChoice(StoreKind.FILE) if self._file.names() else None

    def _best(self) -> StoreKind:
        if self._around.key_command():
            return StoreKind.COMMAND
        if not self._around.temporary and self.problem(StoreKind.KEYRING) is None:
            return StoreKind.KEYRING
        return self._best_file()

    def _best_file(self) -> StoreKind:
        return StoreKind.PASSPHRASE if self._around.passphrase_is_given else StoreKind.FILE

    def _record(self, choice: KeyStoreChoice) -> None:
        what = {"store": str(choice.store), "chosen": choice.chosen, "home": self._home_id()}
        document = {"kind": _KIND, "version": 1, **what}
        if self._documents.read(RECORD) != document:
            self._documents.replace(RECORD, document)

    def _home_id(self) -> str | None:
        """Return the id that the home had when its first key was stored. A home that lost its id gets another one."""
        return self._documents.read_checked(RECORD, _home_of_record) or self._around.home_id

    def _store(self, kind: StoreKind, around: KeyEnvironment | None = None, *, may_ask: bool = False) -> KeyStore:
        surroundings = around or self._around
        match kind:
            case StoreKind.KEYRING:
                return KeyringStore(replace(surroundings, home_id=self._home_id()), may_ask=may_ask)
            case StoreKind.PASSPHRASE:
                return PassphraseStore(self._documents, surroundings, self._files)
            case StoreKind.COMMAND:
                return CommandStore(surroundings)
            case StoreKind.KEY_FILE:
                return KeyFileStore(surroundings.key_file, self._files)
            case StoreKind.FILE:
                return self._file


def _home_of_record(document: JsonObject) -> str:
    """Return the home id in a record; "" without one."""
    _of_record(document)
    return str(document.get("home") or "")


def _of_record(document: JsonObject) -> KeyStoreChoice:
    try:
        return KeyStoreChoice(StoreKind(document["store"]), chosen=document.get("chosen") is True)
    except (KeyError, ValueError):
        raise KeyDamaged(f"{RECORD} refers to an unknown store of keys") from None


def _held_text(until: float | None) -> str:
    """Return the time in local time, with the day unless it is within a day."""
    if until is None:
        return "unlocked until you lock it"
    form = "%H:%M" if until - time.time() < _DAY_SECONDS else "%Y-%m-%d %H:%M"
    return f"unlocked until {datetime.fromtimestamp(until).strftime(form)}"
