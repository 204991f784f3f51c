"""Misbehaving keyrings for the keyring process: programs for `keyring_store.PROGRAM`."""

from __future__ import annotations

import sys
from pathlib import Path

_PROGRAM = """
import json, os, pathlib, sys, time
from lifeboat_keys.stores import keyring_process

BEHAVIOUR, ITEMS = {behaviour!r}, pathlib.Path({items!r})
if os.path.isabs(BEHAVIOUR):
    BEHAVIOUR = pathlib.Path(BEHAVIOUR).read_text()

class Fake:
    def items(self):
        return json.loads(ITEMS.read_text()) if ITEMS.exists() else {{}}

    def get_password(self, service, user):
        if BEHAVIOUR == "slow":
            time.sleep(600)
        if BEHAVIOUR == "dying":
            raise FileNotFoundError("/run/user/0/bus")
        if BEHAVIOUR == "gone":
            os._exit(139)
        if BEHAVIOUR == "lying":
            return {another!r}
        if BEHAVIOUR == "garbled":
            return "not a key"
        if BEHAVIOUR == "talking":
            print("a keyring that greets")
        return self.items().get(service + " " + user)

    def set_password(self, service, user, secret):
        if BEHAVIOUR != "forgetful":
            ITEMS.write_text(json.dumps({{**self.items(), service + " " + user: secret}}))

    def delete_password(self, service, user):
        kept = {{name: item for name, item in self.items().items() if name != service + " " + user}}
        ITEMS.write_text(json.dumps(kept))

def choose():
    if BEHAVIOUR == "absent":
        raise keyring_process.NoKeyringBackend
    return keyring_process.KeyringBackend(Fake(), "Fake", lambda: BEHAVIOUR == "locked")

keyring_process.main(choose)
"""
ANOTHER = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
"""The stored form of the key that a lying keyring gives."""


def program(behaviour: str | Path, items: Path) -> tuple[str, ...]:
    """Return a keyring program that stores its items in a file: `good`, `talking`, `forgetful`, `locked`, `absent`,
    `dying`, `gone`, `slow`, `lying`, `garbled`; or the behaviour named in a file when it is asked."""
    return (sys.executable, "-c", _PROGRAM.format(behaviour=str(behaviour), items=str(items), another=ANOTHER))
