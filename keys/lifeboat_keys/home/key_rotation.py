"""Replace the user's key. No history is rewritten; only 32 bytes per pair are wrapped again.

Everything is prepared first and written as ONE journal, `rotation.json`; from then on the new key is current. The
next process that takes the lock of the folder rolls the journal forward, file by file. This needs no secret, because
everything in the journal is public, wrapped, or a certificate.

    rotation.json   {"kind", "version", "agents": {id: document}, "certificate": base64, "user": document of user.json,
                     "settle": document or null}
    settling.json   what the vaults still lack after a compromised key was replaced: {"kind", "version",
                     "compromised": [key id], "lost": base64 or null, "signed": bool}

A key gives access to every former key, whose secrets are sealed to it, so all of them are compromised with it. Until
`settling.json` says `signed`, the history still carries signatures under them, and these count; afterwards they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_keys.errors import KeyDamaged
from lifeboat_keys.home import key_file_documents
from lifeboat_keys.home.key_file_names import AGENTS, DEVICE_KEY, JOURNAL, SETTLING, USER_PUBLIC
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs import agent_pair, former_keys
from lifeboat_keys.pairs.agent_pair import AgentPair
from lifeboat_keys.pairs.device_key import SIGNATURE_BYTES, DeviceKey
from lifeboat_keys.pairs.former_keys import FormerKey
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey, UserPublic

_KIND = "lifeboat rotation"
_SETTLING_KIND = "lifeboat rotation, settling"
_VERSION = 1
_FIELDS = {"agents", "certificate", "user", "settle"}


@dataclass(frozen=True, slots=True)
class RotationStart:
    """Input of a rotation: the current key, the keys it replaced, the device's secret, and every agent's pairs."""

    key: UserKey
    former: list[FormerKey]
    device_secret: bytes
    pairs: dict[str, list[AgentPair]]


@dataclass(frozen=True, slots=True)
class RotationReason:
    """Why a key is replaced. `compromised`: others may have it; `lost` is the public key of the machine that has it."""

    compromised: bool = False
    lost: bytes | None = None


def prepare_rotation(before: RotationStart, new: UserKey, now: str, reason: RotationReason) -> JsonObject:
    """Return the journal. Raises KeyDamaged for a pair or a former key that does not open."""
    device = DeviceKey.certified(before.device_secret, new)
    keys = [one.open(before.key) for one in before.former]
    opened = {key.public: key for key in (*keys, before.key)}
    again = [
        former_keys.make_former_key(key, new, one.replaced_at, compromised=one.compromised or reason.compromised)
        for one, key in zip(before.former, keys, strict=True)
    ]
    replaced = former_keys.make_former_key(before.key, new, now, compromised=reason.compromised)
    agents = {
        agent_id: _agent(agent_id, pairs, opened, device, now, fresh=reason.compromised)
        for agent_id, pairs in before.pairs.items()
    }
    stolen = [*former_keys.newly_compromised(before.former, again), replaced]
    return {
        "kind": _KIND,
        "version": _VERSION,
        "agents": agents,
        "certificate": to_base64(device.certificate),
        "user": user_document(new.public, [*again, replaced]),
        "settle": to_settle(stolen, reason.lost) if reason.compromised else None,
    }


def _agent(
    agent_id: str,
    pairs: list[AgentPair],
    keys: dict[UserPublic, UserKey],
    device: DeviceKey,
    now: str,
    *,
    fresh: bool,
) -> JsonObject:
    """Return all pairs of an agent for the new key; with `fresh` an additional, current one."""
    wrapped = [agent_pair.wrap_again(pair, pair.secret(keys[pair.user]), device) for pair in pairs]
    if fresh:
        wrapped.append(agent_pair.make_agent_pair(agent_id, device, now))
    return agent_document(agent_id, device.user, wrapped)


def agent_document(agent_id: str, user: UserPublic, pairs: list[AgentPair]) -> JsonObject:
    """Return the content of `agents/<id>.json`, the current pair last."""
    return {"agent_id": agent_id, "user": user.to_json(), "pairs": [pair.to_json() for pair in pairs]}


def user_document(user: UserPublic, keys: list[FormerKey]) -> JsonObject:
    """Return the content of `user.json`."""
    return {**user.to_json(), **({former_keys.FIELD: [one.to_json() for one in keys]} if keys else {})}


def to_settle(compromised: list[FormerKey], lost: bytes | None = None) -> JsonObject:
    """Return the content of `settling.json` for newly compromised keys."""
    return {
        "kind": _SETTLING_KIND,
        "version": _VERSION,
        "compromised": [one.public.key_id for one in compromised],
        "lost": None if lost is None else to_base64(lost),
        "signed": False,
    }


def roll_forward(store: KeyFiles) -> None:
    """Finish a started rotation, if there is a journal. Safe to repeat; requires the folder's lock.

    Raises KeyDamaged when the journal, or the device key that it certifies, cannot be read.
    """
    journal = store.read(JOURNAL)
    if journal is None:
        return
    user, certificate = _checked(journal)
    device = _certified(store, user, certificate)
    for agent_id, document in journal["agents"].items():
        reach_crash_point(CrashPoint.ROTATE_AGENT_WRAPPED)
        store.replace(f"{AGENTS}/{agent_id}.json", document)
    reach_crash_point(CrashPoint.ROTATE_DEVICE_CERTIFIED)
    if device is not None:  # otherwise the next capture makes one
        store.replace(DEVICE_KEY, key_file_documents.of_device_key(device))
    reach_crash_point(CrashPoint.ROTATE_KEY_REPLACED)
    if journal["settle"] is not None:
        store.replace(SETTLING, journal["settle"])
    store.replace(USER_PUBLIC, journal["user"])
    reach_crash_point(CrashPoint.ROTATE_JOURNAL_REMOVED)
    store.remove(JOURNAL)


def _checked(journal: JsonObject) -> tuple[UserPublic, bytes]:
    """Check the journal before anything is done; return the new key and the device's certificate under it."""
    unknown = KeyDamaged(f"{JOURNAL} is not a valid journal of a key rotation")
    if (journal.get("kind"), journal.get("version")) != (_KIND, _VERSION) or not journal.keys() >= _FIELDS:
        raise unknown
    agents, settle = journal["agents"], journal["settle"]
    is_whole = isinstance(agents, dict) and all(isinstance(one, dict) for one in agents.values())
    if not is_whole or any("/" in agent_id for agent_id in agents) or not isinstance(settle, dict | None):
        raise unknown
    try:
        certificate = from_base64(journal["certificate"], SIGNATURE_BYTES)
    except ValueError:
        raise unknown from None
    return key_file_documents.user_public(journal["user"], JOURNAL), certificate


def _certified(store: KeyFiles, user: UserPublic, certificate: bytes) -> DeviceKey | None:
    """Return the new device key; None where it was lost. A journal that does not fit it changes nothing."""
    known = store.read(DEVICE_KEY)
    if known is None:
        return None
    device = DeviceKey(key_file_documents.secret_in(known, DEVICE_KEY), user, certificate)
    try:
        device.check_certificate()
    except SignatureError as error:
        raise KeyDamaged(f"{JOURNAL} does not match {DEVICE_KEY}: {error.message}") from None
    return device


@dataclass(frozen=True, slots=True)
class UnsettledRotation:
    """What the vaults of a home still lack. `signed`: their history is signed under the new key."""

    compromised: frozenset[str]
    lost: bytes | None
    signed: bool


def read_unsettled(store: KeyFiles) -> UnsettledRotation | None:
    """Return the unsettled rotation; None without one. Raises KeyDamaged."""
    return store.read_checked(SETTLING, _settling)


def _settling(document: JsonObject) -> UnsettledRotation:
    try:
        lost = document["lost"]
        compromised = frozenset(document["compromised"])
        return UnsettledRotation(compromised, None if lost is None else from_base64(lost), bool(document["signed"]))
    except (KeyError, TypeError, ValueError):
        raise KeyDamaged(f"{SETTLING} was changed or damaged") from None


def note_signed(store: KeyFiles) -> None:
    """Record that the history is signed again, and stop trusting the compromised keys. Requires the folder's lock."""
    document = store.read(SETTLING)
    if document is not None:
        store.replace(SETTLING, {**document, "signed": True})


def note_settled(store: KeyFiles) -> None:
    """Record that nothing is left to do. Requires the folder's lock."""
    if store.has(SETTLING):
        store.remove(SETTLING)


def trusted_keys_of(
    user: UserPublic, keys: list[FormerKey], revoked: frozenset[bytes], open_work: UnsettledRotation | None
) -> TrustedKeys:
    """Return the keys whose signatures count. Until the history is signed again, its old signatures count too."""
    if open_work is not None and open_work.lost is not None:
        revoked = revoked | {open_work.lost} if open_work.signed else revoked - {open_work.lost}
    still_count = open_work.compromised if open_work is not None and not open_work.signed else frozenset()
    compromised = [one.public for one in keys if one.compromised and one.public.key_id not in still_count]
    safe = [one.public for one in keys if one.public not in compromised]
    return TrustedKeys(user, tuple(safe), tuple(compromised), revoked)


class RotatingFiles(KeyFiles):
    """Key files that never show a half-done rotation: after a crash, the next reader rolls it forward."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        with super().locked():
            self.roll_forward()
            yield

    def read(self, name: str) -> JsonObject | None:
        if name != JOURNAL and self.has(JOURNAL):
            with self.locked():
                pass
        return super().read(name)

    def roll_forward(self) -> None:
        """Finish a started rotation. Requires `locked`."""
        if self.has(JOURNAL):
            roll_forward(KeyFiles(self.folder, self._files, self._spares))
