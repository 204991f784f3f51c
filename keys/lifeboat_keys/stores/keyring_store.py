"""Store in the OS keyring. Each request runs in a separate process, so that the keyring cannot block this one, and a
session bus that appears later is found by the next request."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_keys import child_processes
from lifeboat_keys.errors import KeyDamaged, KeyringLocked, KeysError, NoKey, OtherKey
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery.bip39_words import SECRET_BYTES
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_keys.stores.store_kinds import StoreKind

SERVICE = "lifeboat"
# The current directory, which may be an agent's, must not shadow the module `keyring`: hence -P, and another folder for
# the case that PYTHONPATH names the current one.
PROGRAM = (sys.executable, "-P", "-m", "lifeboat_keys.stores.keyring_process")
_NEUTRAL_FOLDER = os.path.abspath(os.sep)
SECONDS = 10.0
"""Time limit of a request without a prompt."""
SECONDS_WITH_PERSON = 180.0
"""Time limit of a request that may open a window."""
_BUS = "DBUS_SESSION_BUS_ADDRESS"
_PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEMP", "TMP", "PYTHONPATH", "PYTHONHOME"}
    | {"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DESKTOP_SESSION", "KDE_FULL_SESSION", _BUS}
    | {"SYSTEMROOT", "USERPROFILE", "USERNAME", "USERDOMAIN", "APPDATA", "LOCALAPPDATA"}
)
_PASSED_ON_BEGINNINGS = ("LC_", "XDG_")


class KeyringStore:
    """Keyring items of `lifeboat`, named `<home id>/<key id>`. `may_ask`: whether the keyring may prompt the user for
    its password. `backend` is the name of the keyring in use, "" until it has answered."""

    kind = StoreKind.KEYRING

    def __init__(self, around: KeyEnvironment, *, may_ask: bool = False) -> None:
        self._around = around
        self._may_ask = may_ask
        self.backend = ""

    @property
    def description(self) -> str:
        return f"in the OS keyring ({self.backend})" if self.backend else "in the OS keyring"

    def problem(self) -> LifeboatError | None:
        try:
            self.ask({"do": "read", **self.item("no key")})
        except KeysError as error:
            return error
        return None

    def find(self) -> UserKey | None:
        return None

    def read(self, key_id: str) -> UserKey:
        secret = self.ask({"do": "read", **self.item(key_id)})["secret"]
        if secret is None:
            raise NoKey(f"the OS keyring does not contain the key {key_id} of this home", fix="lifeboat keys recover")
        key = _key(secret)
        if key.key_id != key_id:
            raise OtherKey(f"the OS keyring contains the key {key.key_id}, but this home uses the key {key_id}")
        return key

    def keep(self, key: UserKey) -> None:
        answer = self.ask({"do": "keep", **self.item(key.key_id), "secret": to_base64(key.secret)})
        if answer["secret"] == to_base64(key.secret):
            return
        if not answer["kept"]:
            message = (
                "the OS keyring already contains another value under the name of the key "
                f"{key.key_id}; Lifeboat did not replace that value"
            )
            raise KeysError.EXISTS(message, fix="lifeboat keys recover --store passphrase")
        if answer["secret"] is None:
            raise NoKey.KEYRING_AWAY("the OS keyring accepted the key, but did not store it")
        found = _key(answer["secret"]).key_id
        raise OtherKey(f"after the key {key.key_id} was stored, the OS keyring returned the key {found}")

    def item(self, name: str) -> JsonObject:
        """Return the part of a request that names an item of this home. Raises NoKey.KEYRING_AWAY."""
        if self._around.home_id is None:
            raise NoKey.KEYRING_AWAY(
                "Lifeboat needs the id of the home to store its key in the OS keyring, but this home has no id"
            )
        return {"service": SERVICE, "user": f"{self._around.home_id}/{name}"}

    def ask(self, request: JsonObject) -> JsonObject:
        """Return the answer of the process (see `keyring_process`). Raises NoKey and subclasses."""
        seconds = SECONDS_WITH_PERSON if self._may_ask else SECONDS
        ran = child_processes.run_child(
            PROGRAM,
            environment=session_environment(self._around),
            input=json.dumps({**request, "may_ask": self._may_ask}).encode(),
            seconds=seconds,
            folder=_NEUTRAL_FOLDER,
        )
        if ran.timed_out:
            raise NoKey.KEYRING_SLOW(f"the OS keyring did not answer for {seconds:.0f} seconds")
        answer = _answer(ran)
        if answer.get("error") == "locked":
            raise self._locked()
        if "error" in answer:
            raise NoKey.KEYRING_AWAY(f"this session has no usable OS keyring ({answer.get('detail')})")
        self.backend = str(answer["backend"])
        return answer

    def _locked(self) -> KeyringLocked:
        if self._may_ask:
            return KeyringLocked(
                "the OS keyring could not be unlocked on this machine", fix="lifeboat keys recover --store passphrase"
            )
        return KeyringLocked("unlock the OS keyring first")


def session_environment(around: KeyEnvironment) -> dict[str, str]:
    """Return the environment variables that lead to the user's session and its bus, even for a service without them."""
    chosen = {name: value for name, value in around.environment.items() if _is_passed_on(name)}
    if not chosen.get(_BUS) and around.runtime_folder is not None and _is_socket(around.runtime_folder / "bus"):
        chosen[_BUS] = f"unix:path={around.runtime_folder / 'bus'}"
    return chosen


def _is_passed_on(name: str) -> bool:
    return name in _PASSED_ON or name.startswith(_PASSED_ON_BEGINNINGS)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _answer(ran: child_processes.ChildResult) -> JsonObject:
    try:
        answer = json.loads(ran.output)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not ("error" in answer or {"backend", "secret", "kept"} <= answer.keys()):
        exit_text = ran.problem or f"status {ran.exit_status}"
        raise NoKey.KEYRING_AWAY(f"the process that reads the OS keyring ended without an answer ({exit_text})")
    return answer


def _key(secret: Any) -> UserKey:
    try:
        return UserKey(from_base64(secret, SECRET_BYTES))
    except ValueError:
        raise KeyDamaged("the OS keyring returned something other than a key") from None
