"""Identify the owner and the machine of a home from its key files, without any secret of the user.

user.json           the public part of the user's key, so that capture never touches the secret, and the keys that
                    it replaced
device.key          the device key and its certificate; signs, opens nothing
devices.json        the machines this home has met, and where it saw which key
"""

from __future__ import annotations

from dataclasses import replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.errors import KeyDamaged, NoKey
from lifeboat_keys.home import key_file_documents, key_rotation
from lifeboat_keys.home.device_registry import DeviceRegistry, host_name
from lifeboat_keys.home.key_file_names import DEVICE_KEY, USER_PUBLIC
from lifeboat_keys.home.key_rotation import RotatingFiles, UnsettledRotation
from lifeboat_keys.pairs import device_key, former_keys
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.former_keys import FormerKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.stores.file_store import FileStore

MAKE = "lifeboat keys init"


class HomeIdentity:
    """Owner and machine of one key folder. Nothing is cached, because another process may change the files."""

    def __init__(self, store: RotatingFiles) -> None:
        self._store = store

    @property
    def key_id(self) -> str | None:
        """Return the id of the user's key without asking its store; None when there is none yet. Raises KeysError."""
        known = self._known_public()
        return None if known is None else known.key_id

    @property
    def public(self) -> UserPublic:
        """Return the public part of the user's key. Raises NoKey."""
        known = self._known_public()
        if known is None:
            raise NoKey("this home has no key", fix=MAKE)
        return known

    @property
    def former(self) -> list[FormerKey]:
        """Return the keys that the user's key replaced. Raises NoKey, KeyDamaged, SignatureError."""
        return self._key_and_former()[1]

    @property
    def trusted(self) -> TrustedKeys:
        """Return the keys whose signatures count here. Raises NoKey."""
        return key_rotation.trusted_keys_of(*self._key_and_former(), self.machines.revoked(), self.settling())

    @property
    def trusted_when_settled(self) -> TrustedKeys:
        """Return the keys whose signatures count once no history is signed by a compromised key any more."""
        user, keys = self._key_and_former()
        settling = self.settling()
        return key_rotation.trusted_keys_of(
            user, keys, self.machines.revoked(), settling and replace(settling, signed=True)
        )

    def settling(self) -> UnsettledRotation | None:
        """Return what the vaults still lack after a compromised key was replaced; None when nothing."""
        return key_rotation.read_unsettled(self._store)

    @property
    def device(self) -> DeviceKey:
        """Return the device key. Raises NoKey when there is none yet, KeyDamaged when the user did not certify it."""
        device = self._read_device()
        if device is None:
            raise NoKey("this machine has no device key", fix=MAKE)
        public = self.public
        if device.user != public:  # a rotation may have ended between the two reads
            with self._store.locked():
                device, public = self._read_device() or device, self.public
        try:
            device_key.check_testimony(device.testify("self test", {}), "self test", {}, TrustedKeys(public))
        except SignatureError as error:
            raise KeyDamaged(f"{DEVICE_KEY} is not certified by your key: {error.message}") from None
        return device

    @property
    def machines(self) -> DeviceRegistry:
        """Return the registry of machines that this home has met."""
        return DeviceRegistry(self._store)

    @property
    def own_name(self) -> str:
        """Return the user's name for this machine."""
        device = self._read_device()
        known = [one.name for one in self.machines.all() if device is not None and one.public == device.public]
        return known[0] if known else host_name()

    def last_seen(self, key_id: str) -> str:
        """Return where this home last saw a key, in words; "" when it never did."""
        if key_id == self.key_id:
            return f"in use on this machine, {self.own_name}"
        for one in self.former:
            if one.public.key_id == key_id:
                return f"your key until it was replaced on {one.replaced_at[:10]}"
        found = self.machines.last_seen(key_id)
        return "" if found is None else f"{found[0]}, {found[1][:10]}"

    def _key_and_former(self) -> tuple[UserPublic, list[FormerKey]]:
        """Return the key and its former keys from one read. Read this before other trusted data, because a rotation
        writes it last."""
        return self._store.read_checked(USER_PUBLIC, _key_and_former) or (self.public, [])

    def _known_public(self) -> UserPublic | None:
        recorded = self._recorded_public()
        if recorded is not None:
            return recorded
        key = FileStore(self._store).find()  # left by a process that ended before writing the public part
        return None if key is None else key.public

    def _recorded_public(self) -> UserPublic | None:
        """Return the user's key from the device's certificate. A home that lost both files of the user's key must not
        get a new key, under which nothing sealed before would open."""
        known = self._store.read_checked(USER_PUBLIC, key_file_documents.user_public)
        if known is not None:
            return known
        device = self._read_device()
        return None if device is None else device.user

    def _read_device(self) -> DeviceKey | None:
        document = self._store.read(DEVICE_KEY)
        return None if document is None else key_file_documents.device_key(document)


def _key_and_former(document: JsonObject) -> tuple[UserPublic, list[FormerKey]]:
    """Decode the document. Raises KeyDamaged, SignatureError."""
    user = key_file_documents.user_public(document)
    return user, former_keys.read_former_keys(document.get(former_keys.FIELD), user)
