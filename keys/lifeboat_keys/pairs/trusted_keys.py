"""Decide whose signatures count in a home: those under the user's key and under the keys it replaced.

A compromised key does not count any more. When it is replaced, this home signs again what was signed under it before
(see `key_rotation`), so that no history depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_keys.errors import DeviceRevoked, SignedByAnother, SignedByCompromised
from lifeboat_keys.pairs.strict_base64 import device_id
from lifeboat_keys.pairs.user_key import UserPublic


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The user's key, the `former` ones it replaced, those of them that are `compromised`, and the public keys of
    `revoked` devices."""

    current: UserPublic
    former: tuple[UserPublic, ...] = ()
    compromised: tuple[UserPublic, ...] = ()
    revoked: frozenset[bytes] = frozenset()

    def check(self, user: UserPublic, device: bytes | None = None) -> None:
        """Check that a signature of this user, made on this device, counts. Raises SignedByAnother,
        SignedByCompromised, DeviceRevoked."""
        if device in self.revoked:
            raise DeviceRevoked(f"signed by the machine {device_id(device or b'')}, which you reported as lost")
        if user in self.compromised:
            raise SignedByCompromised(
                f"signed with your former key {user.key_id}, which others may have; your key is {self.current.key_id}"
            )
        if user != self.current and user not in self.former:
            raise SignedByAnother(f"signed with the key {user.key_id}, but your key is {self.current.key_id}")
