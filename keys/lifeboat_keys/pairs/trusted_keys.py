"""Whose signatures count in a home: those under the user's key, and under the keys that it replaced.

A key that others may hold counts no more. What was signed under it while it was safe is signed again by this home
when it is replaced (see `rotation`), so that nothing of the history needs it.
"""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_keys.errors import DeviceRevoked, SignedByAnother, SignedByCompromised
from lifeboat_keys.pairs.strict_base64 import device_id
from lifeboat_keys.pairs.user_key import UserPublic


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The user's key, the `former` ones it replaced, those of them that are `compromised`, and the public keys of
    devices that were `revoked`."""

    current: UserPublic
    former: tuple[UserPublic, ...] = ()
    compromised: tuple[UserPublic, ...] = ()
    revoked: frozenset[bytes] = frozenset()

    def check(self, user: UserPublic, device: bytes | None = None) -> None:
        """Raises SignedByAnother, SignedByCompromised, DeviceRevoked when a signature of this user, made on this
        device, does not count."""
        if device in self.revoked:
            raise DeviceRevoked(f"signed by the machine {device_id(device or b'')}, which you reported as lost")
        if user in self.compromised:
            raise SignedByCompromised(
                f"signed under your former key {user.key_id}, which others may hold; yours is {self.current.key_id}"
            )
        if user != self.current and user not in self.former:
            raise SignedByAnother(f"signed under the key {user.key_id}, yours is {self.current.key_id}")
