"""The OS keyring, in a separate process: `python -m lifeboat_keys.stores.keyring_process`.

One JSON request on standard input, one JSON answer on standard output, nothing else. What a keyring does to its process
(it waits for a window, loads desktop libraries, or crashes with the bus) cannot affect the caller.

    {"do": "read" | "keep" | "remove", "service", "user", "secret", "may_ask": bool}
    {"backend": title, "secret": text or null, "kept": bool}  or  {"error": "locked" | "away", "detail": class name}
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys import hardening

LOCKED, AWAY = "locked", "away"


@dataclass(frozen=True, slots=True)
class KeyringBackend:
    """A secure backend of `keyring`. `is_locked` never prompts the user."""

    keyring: Any
    title: str
    is_locked: Callable[[], bool]


class NoKeyringBackend(Exception):
    """No known keyring is available."""


def main(choose: Callable[[], KeyringBackend] | None = None) -> None:
    """Answer one request. `choose` selects the backend."""
    hardening.disable_core_dumps()
    # Redirect prints of a backend, so that they do not corrupt the answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    request = json.load(sys.stdin)
    try:
        answer = _answer(request, (choose or choose_backend)())
    except Exception as error:
        # Backends raise any error of their bus or system, and its text may contain a secret.
        answer = {"error": LOCKED if _says_locked(error) else AWAY, "detail": type(error).__name__}
    json.dump(answer, answers)
    answers.flush()


def choose_backend() -> KeyringBackend:
    """Return the best usable backend of the known ones. Configuration files and variables of `keyring` are ignored,
    because they may name a backend that stores plain text."""
    found = []
    for place, title, is_locked in _KNOWN:
        module, name = place.rsplit(".", 1)
        try:
            kind = getattr(importlib.import_module(module), name)
            found.append((float(kind.priority), place, title, kind, is_locked))
        except Exception:  # a backend of another system raises various errors
            continue
    if not found:
        raise NoKeyringBackend
    _, place, title, kind, is_locked = max(found, key=lambda each: each[0])
    keyring = kind()
    if place == _WINDOWS:
        keyring.persist = "local machine"  # the default roams with the profile to other machines
    return KeyringBackend(keyring, title, lambda: is_locked(keyring))


def _answer(request: JsonObject, backend: KeyringBackend) -> JsonObject:
    if not request.get("may_ask") and backend.is_locked():
        return {"error": LOCKED, "detail": backend.title}
    answer: JsonObject = {"backend": backend.title, "secret": None, "kept": False}
    service, user = request["service"], request["user"]
    answer["secret"] = backend.keyring.get_password(service, user)
    if request["do"] == "keep" and answer["secret"] is None:
        backend.keyring.set_password(service, user, request["secret"])
        answer["secret"], answer["kept"] = backend.keyring.get_password(service, user), True
    if request["do"] == "remove" and answer["secret"] is not None:
        backend.keyring.delete_password(service, user)
        answer["secret"] = backend.keyring.get_password(service, user)
    return answer


def _says_locked(error: Exception) -> bool:
    return type(error).__name__ in ("KeyringLocked", "LockedException", "PromptDismissedException")


def _secret_service_is_locked(keyring: Any) -> bool:
    import secretstorage

    with closing(secretstorage.dbus_init()) as bus:
        try:
            return bool(secretstorage.Collection(bus).is_locked())
        except secretstorage.ItemNotFoundException:
            return True  # there is no collection yet, and creating one prompts for a password


def _kwallet_is_locked(keyring: Any) -> bool:
    import dbus

    wallet = dbus.SessionBus().get_object(keyring.bus_name, keyring.object_path)
    options = {"dbus_interface": "org.kde.KWallet"}
    return not wallet.isOpen(wallet.networkWallet(**options), signature="s", **options)


def _never_locked(keyring: Any) -> bool:
    return False


_WINDOWS = "keyring.backends.Windows.WinVaultKeyring"
_KNOWN: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("keyring.backends.SecretService.Keyring", "Secret Service", _secret_service_is_locked),
    ("keyring.backends.kwallet.DBusKeyring", "KWallet", _kwallet_is_locked),
    ("keyring.backends.macOS.Keyring", "macOS Keychain", _never_locked),
    (_WINDOWS, "Windows Credential Manager", _never_locked),
)


if __name__ == "__main__":
    main()
