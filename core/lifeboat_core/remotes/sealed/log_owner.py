"""The owner of a log: what a sealed log needs of the keys of this home."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_keys.age_format import age_encryption
from lifeboat_keys.errors import NoKey
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.pairs import former_keys
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.former_keys import FormerKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserPublic
from lifeboat_keys.signed import redaction_signatures


class LogOwner:
    """The user of this home. All but `identities` works while the user's key is away. Raises NoKey if this home has
    none yet."""

    def __init__(self, keys: HomeKeys) -> None:
        self._keys = keys
        self._identities: list[str] = []

    @property
    def trusted(self) -> TrustedKeys:
        self._check()
        return self._keys.trusted

    def counts(self, redaction: Redaction) -> bool:
        """Return whether the signature of a redaction counts in this home."""
        try:
            redaction_signatures.verify_redaction(redaction, self.trusted)
        except SignatureError:
            return False
        return True

    @property
    def device(self) -> DeviceKey:
        self._check()
        return self._keys.device

    @property
    def public(self) -> UserPublic:
        self._check()
        return self._keys.public

    @property
    def former(self) -> list[FormerKey]:
        self._check()
        return self._keys.former

    def identities(self) -> list[str]:
        """Return what opens the user's files: the key, and the keys that it replaced. Asked for once. Raises what the
        key's store raises."""
        if not self._identities:
            self._check()
            own = self._keys.user_key()
            self._identities = [
                age_encryption.age_identity_of(key) for key in (own, *(one.open(own) for one in self._keys.former))
            ]
        return self._identities

    def learn(self, documents: list[JsonObject]) -> None:
        """Take in keys that the user's key replaced and this home may not know.

        Raises KeyDamaged, SignatureError if the user's key did not sign that, and what its store raises.
        """
        found = former_keys.read_former_keys(documents, self.public)
        own = self._keys.user_key()
        known = self.identities()
        self._identities = list(
            dict.fromkeys([*known, *(age_encryption.age_identity_of(one.open(own)) for one in found)])
        )

    def _check(self) -> None:
        if self._keys.key_id is None:
            raise NoKey(
                "the remote is signed and encrypted with your key, and this home has no key yet",
                fix="lifeboat keys recover",
            )
