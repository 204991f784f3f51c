"""Remember the machines that a home has met, where it last saw each key, and which machines were
reported as lost.

    devices.json   {"devices": [{"public": base64, "name", "first_seen", "last_seen", "revoked_at": time or null}],
                    "keys": {key id: {"where": text, "seen_at": time}}}
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_keys.errors import KeyDamaged, KeysError
from lifeboat_keys.home.key_files import KeyFiles
from lifeboat_keys.pairs import device_key
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.strict_base64 import device_id, from_base64, to_base64
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import PUBLIC_BYTES

DEVICES = "devices.json"
FIELD = "device"
"""Field in an archive's keys: the machine that made it, `{"name", "testimony"}`."""

_CONTEXT = "machine"
_LEAST_OF_AN_ID = 4


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """A machine. `public` is its device key; `revoked_at` is when it was reported as lost, else None."""

    public: bytes
    name: str
    first_seen: str
    last_seen: str
    revoked_at: str | None = None

    @property
    def id(self) -> str:
        return device_id(self.public)

    def to_json(self) -> JsonObject:
        return {**asdict(self), "public": to_base64(self.public)}


def host_name() -> str:
    """Return the host name of this machine."""
    return platform.node() or "this machine"


def find_machine(devices: list[KnownDevice], machine: str) -> KnownDevice:
    """Return the machine with a name or a unique id prefix. Raises KeysError.UNKNOWN_MACHINE, which lists the known
    ones."""
    by_name = [one for one in devices if one.name.casefold() == machine.casefold()]
    by_id = [one for one in devices if len(machine) >= _LEAST_OF_AN_ID and one.id.startswith(machine.lower())]
    found = by_name or by_id
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{one.name} ({one.id})" for one in found or devices) or "none"
    if found:
        raise KeysError.UNKNOWN_MACHINE(
            f"several machines are called {machine!r}; give the id of one of them: {listed}"
        )
    raise KeysError.UNKNOWN_MACHINE(f"no machine is called {machine!r}; this home knows: {listed}")


def introduce_machine(device: DeviceKey, name: str) -> JsonObject:
    """Return the signed introduction of the machine that makes an archive. It has no time, so that equal states make
    equal archives."""
    return {"name": name, "testimony": device.testify(_CONTEXT, {"name": name})}


def take_in_machines(
    machines: DeviceRegistry, document: JsonObject, testimonies: list[JsonObject], trusted: TrustedKeys, now: str
) -> None:
    """Remember the machine that made an archive, if its introduction is valid, and the machines that made the agent's
    pairs.

    `document` is the archive's keys document; `testimonies` are those of its pairs, already checked.
    """
    said = document.get(FIELD)
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        return
    try:
        device_key.check_testimony(said.get("testimony"), _CONTEXT, {"name": said["name"]}, trusted)
    except SignatureError:
        return
    machines.meet(_device_of(said["testimony"]), said["name"], now)
    for testimony in testimonies:
        machines.meet(_device_of(testimony), None, now)


def _device_of(testimony: JsonObject) -> bytes:
    return from_base64(testimony["device"], PUBLIC_BYTES)


class DeviceRegistry:
    """Registry of machines in one key folder."""

    def __init__(self, store: KeyFiles) -> None:
        self._store = store

    def all(self) -> list[KnownDevice]:
        """Return every known machine in the order of first contact. Raises KeyDamaged."""
        return [_device(one) for one in self._read()["devices"]]

    def revoked(self) -> frozenset[bytes]:
        """Return the public keys of machines that were reported as lost."""
        return frozenset(one.public for one in self.all() if one.revoked_at is not None)

    def meet(self, public: bytes, name: str | None, time: str) -> None:
        """Record that a machine was seen. A given name replaces the known one; an unknown machine without a name is
        called by its id."""

        def met(known: KnownDevice | None) -> KnownDevice:
            if known is None:
                return KnownDevice(public, name or device_id(public), time, time)
            own_name = name if name and known.name == known.id else known.name
            return replace(
                known,
                name=own_name,
                first_seen=min(known.first_seen, time),
                last_seen=max(known.last_seen, time),
            )

        self._change(public, met)

    def rename(self, device: KnownDevice, name: str) -> None:
        self._change(device.public, lambda known: replace(known or device, name=name))

    def revoke(self, public: bytes, time: str) -> None:
        """Stop accepting new signatures of a machine."""
        unnamed = KnownDevice(public, device_id(public), time, time)
        self._change(public, lambda known: replace(known or unnamed, revoked_at=time))

    def key_met(self, key_id: str, where: str, time: str) -> None:
        """Record where a key was seen (text for people, such as "in an archive of Ada, sequence 12")."""
        with self._store.locked():
            document = self._read()
            self._write({**document, "keys": {**document["keys"], key_id: {"where": where, "seen_at": time}}})

    def last_seen(self, key_id: str) -> tuple[str, str] | None:
        """Return where (text) and when a key was last seen; None when it never was."""
        found = self._read()["keys"].get(key_id)
        return None if found is None else (str(found["where"]), str(found["seen_at"]))

    def _change(self, public: bytes, change: Callable[[KnownDevice | None], KnownDevice]) -> None:
        with self._store.locked():
            known = {one.public: one for one in self.all()}
            known[public] = change(known.get(public))
            self._write({**self._read(), "devices": [one.to_json() for one in known.values()]})

    def _read(self) -> JsonObject:
        return self._store.read_checked(DEVICES, _checked) or {"devices": [], "keys": {}}

    def _write(self, document: JsonObject) -> None:
        if document != self._store.read(DEVICES):
            self._store.replace(DEVICES, document)


def _checked(document: JsonObject) -> JsonObject:
    """Check the shape of the document. Raises KeyDamaged."""
    whole = {"devices": [], "keys": {}, **document}
    try:
        if not isinstance(whole["keys"], dict):
            raise TypeError("keys")
        for one in whole["devices"]:
            _device(one)
    except (KeyError, TypeError, ValueError):
        raise KeyDamaged(f"the file {DEVICES} was changed or damaged") from None
    return whole


def _device(document: JsonObject) -> KnownDevice:
    return KnownDevice(**{**document, "public": from_base64(document["public"], PUBLIC_BYTES)})
