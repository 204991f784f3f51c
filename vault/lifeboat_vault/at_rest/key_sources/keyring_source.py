"""Key in the OS keyring: `keyring:NAME`. Each request runs in a separate process with a time limit.

The same process handles the user's key (`lifeboat_keys.stores.keyring_store`): a keyring that opens a window or loads
half a desktop does it there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys import child_processes
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_keys.stores import keyring_store
from lifeboat_keys.stores.key_environment import KeyEnvironment
from lifeboat_vault.at_rest.key_sources.local_key import KEY_BYTES, LocalKey, parse_local_key
from lifeboat_vault.errors import KeyRevoked, KeySourceRefused

SCHEME = "keyring"
SERVICE = "lifeboat endpoint"


class KeyringKind:
    """`KeySourceKind` of items in the keyring, named by their user."""

    def open(self, where: str, *, outside: Path) -> LocalKey:
        return LocalKey(f"{SCHEME}:{where}", lambda: _read(where))

    def make(self, where: str, *, outside: Path) -> None:
        """Make a key. An existing one of this name stays."""
        try:
            answer = _asked("keep", where, to_base64(os.urandom(KEY_BYTES)))
        except KeyRevoked as error:
            raise KeySourceRefused(error.message) from None
        if answer["secret"] is None or parse_local_key(answer["secret"]) is None:
            raise KeySourceRefused(f"the key could not be stored in the keyring under the name {where}")


def _read(name: str) -> bytes | None:
    secret = _asked("read", name, None)["secret"]
    if secret is None:
        return None
    key = parse_local_key(secret)
    if key is None:
        raise KeySourceRefused(f"the keyring entry {name} does not contain a key")
    return key


def _asked(what: str, name: str, secret: str | None) -> JsonObject:
    """Return the keyring's answer. Raises KeyRevoked when it gives none: locked, unavailable or too slow."""
    request = {"do": what, "service": SERVICE, "user": name, "secret": secret, "may_ask": False}
    ran = child_processes.run_child(
        keyring_store.PROGRAM,
        environment=keyring_store.session_environment(KeyEnvironment(environment=dict(os.environ))),
        input=json.dumps(request).encode(),
        seconds=keyring_store.SECONDS,
        folder=os.path.abspath(os.sep),
    )
    try:
        answer = json.loads(ran.output)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or "secret" not in answer:
        why = answer.get("error") if isinstance(answer, dict) else ran.problem or f"exit status {ran.exit_status}"
        raise KeyRevoked(f"{SCHEME}:{name}: the keyring did not respond ({why})")
    return answer


KEY_SOURCE_KIND = KeyringKind()
