"""An agent's X25519 key pair: credentials are sealed to its public half, and its secret half is sealed to the user's
public key. So making a pair needs no secret, and a pair can travel in an archive.

The device that makes a pair signs a testimony for it. The travelling document is not covered by any state's signature,
and an attacker who replaced the public half would receive the next credentials.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import nacl.exceptions
import nacl.public

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.errors import KeyDamaged
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import PUBLIC_BYTES, UserKey, UserPublic

_CONTEXT = "agent pair"


@dataclass(frozen=True, slots=True)
class AgentPair:
    """One key pair of an agent. `wrapped` is the secret half, sealed to the key `user`; `testimony` says who made
    it."""

    agent_id: str
    public: bytes
    wrapped: bytes
    created_at: str
    testimony: JsonObject
    user: UserPublic

    @property
    def id(self) -> str:
        return pair_id(self.public)

    def secret(self, user_key: UserKey) -> bytes:
        """Return the secret half. Raises KeyDamaged when it does not belong to the public half."""
        try:
            secret = user_key.open_box(self.wrapped)
            public = bytes(nacl.public.PrivateKey(secret).public_key)
        except (nacl.exceptions.CryptoError, nacl.exceptions.TypeError, ValueError):
            raise KeyDamaged(f"your key cannot open the key {self.id} of the agent {self.agent_id}") from None
        if public != self.public:
            raise KeyDamaged(
                f"the public and secret halves of the key {self.id} of the agent {self.agent_id} do not match"
            )
        return secret

    def to_json(self) -> JsonObject:
        return {**_statement(self.agent_id, self.public, self.wrapped, self.created_at), "testimony": self.testimony}


def pair_id(public: bytes) -> str:
    """Return the id of a pair: 16 hexadecimal digits of its public half."""
    return hashlib.blake2b(public, digest_size=8, person=b"lifeboat-pair").hexdigest()


def make_agent_pair(agent_id: str, device: DeviceKey, created_at: str) -> AgentPair:
    """Make a new pair, wrapped for the device's user."""
    return _wrapped(agent_id, bytes(nacl.public.PrivateKey.generate()), device, created_at)


def wrap_again(pair: AgentPair, secret: bytes, device: DeviceKey) -> AgentPair:
    """Wrap a pair for the key that the device's certificate names, with a new testimony."""
    return _wrapped(pair.agent_id, secret, device, pair.created_at)


def _wrapped(agent_id: str, secret: bytes, device: DeviceKey, created_at: str) -> AgentPair:
    public = bytes(nacl.public.PrivateKey(secret).public_key)
    wrapped = nacl.public.SealedBox(nacl.public.PublicKey(device.user.box)).encrypt(secret)
    testimony = device.testify(_CONTEXT, _statement(agent_id, public, wrapped, created_at))
    return AgentPair(agent_id, public, wrapped, created_at, testimony, device.user)


def decode_agent_pair(document: Any, agent_id: str, trusted: TrustedKeys) -> AgentPair:
    """Decode a pair. Raises KeyDamaged for the wrong shape, SignatureError when no device of the trusted user made
    it."""
    try:
        if document["agent_id"] != agent_id or not isinstance(document["created_at"], str):
            raise ValueError("another agent")
        public = from_base64(document["public"], PUBLIC_BYTES)
        wrapped = from_base64(document["wrapped"])
        created_at, testimony = document["created_at"], document["testimony"]
    except (KeyError, TypeError, ValueError):
        raise KeyDamaged(f"the document with the keys of the agent {agent_id} has an invalid format") from None
    user = device_key.check_testimony(testimony, _CONTEXT, _statement(agent_id, public, wrapped, created_at), trusted)
    return AgentPair(agent_id, public, wrapped, created_at, testimony, user)


def _statement(agent_id: str, public: bytes, wrapped: bytes, created_at: str) -> JsonObject:
    return {
        "agent_id": agent_id,
        "public": to_base64(public),
        "wrapped": to_base64(wrapped),
        "created_at": created_at,
    }
