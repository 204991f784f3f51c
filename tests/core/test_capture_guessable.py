"""No print of a guessable value is kept, and such a value is sealed again only when its file changed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_core.capture.secret_cutter import DECISION
from support.core.protected import Protected

PIN = "492817"
STRONG = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path, config="{}\n")
    _age(made.write(".env", f"DOOR_PASSWORD={PIN}\n"))
    made.add()
    return made


def _age(file: Path, seconds: int = 60) -> None:
    """Set the time back, so that the file is not read again for being recent."""
    before = file.stat().st_mtime_ns - seconds * 1_000_000_000
    os.utime(file, ns=(before, before))


def _memory(made: Protected) -> str:
    with made.context.vault(made.agent.id) as vault:
        return json.dumps(vault.get(DECISION))


def _tried(made: Protected, value: str) -> bool:
    """Return whether the stored memory has the print of any text that an attacker can derive from a value."""
    key = bytes.fromhex(made.context.keys().fingerprint(f"prints of {made.agent.id}".encode()))
    texts = [value, f"raw/openclaw/.env\n{value}", f"artifacts/.env\n{value}"]
    prints = {hashlib.blake2b(text.encode(), key=key, digest_size=24).hexdigest() for text in texts}
    return any(mark in _memory(made) for mark in prints)


def test_a_pin_leaves_no_print(ada: Protected) -> None:
    assert PIN.encode() not in ada.body(archive_layout.CREDENTIALS)
    assert len(ada.document(archive_layout.CREDENTIALS)["credentials"]) == 1
    (credential,) = json.loads(_memory(ada))["credentials"].values()
    assert (credential["payload"], credential["value"]) == ("", "")
    assert not _tried(ada, PIN)


def test_a_value_of_high_entropy_leaves_one(ada: Protected) -> None:
    ada.write(".env", f"DOOR_TOKEN={STRONG}\n")
    ada.capture()
    assert _tried(ada, STRONG)


def test_an_unchanged_pin_makes_no_sequence(ada: Protected) -> None:
    before = ada.body(archive_layout.CREDENTIALS)
    assert not ada.capture().changed
    assert not ada.capture(full=True).changed
    assert ada.body(archive_layout.CREDENTIALS) == before


def test_another_pin_in_its_place_is_sealed(ada: Protected) -> None:
    before = ada.document(archive_layout.CREDENTIALS)["credentials"]
    _age(ada.write(".env", "DOOR_PASSWORD=492818\n"), 30)
    assert ada.capture().changed
    after = ada.document(archive_layout.CREDENTIALS)["credentials"]
    assert after[0]["id"] == before[0]["id"]
    assert after[0]["encrypted_payload"] != before[0]["encrypted_payload"]


def test_beside_a_value_that_cannot_be_guessed_the_file_tells_whether_it_changed(ada: Protected) -> None:
    text = f"DOOR_PASSWORD={PIN}\nDOOR_TOKEN={STRONG}\n"
    file = ada.write(".env", text)
    ada.capture()
    before = ada.body(archive_layout.CREDENTIALS)
    ada.write(".env", text)
    ada.capture()
    assert ada.body(archive_layout.CREDENTIALS) == before
    file.write_text(text.replace("492817", "492818"))
    ada.capture()
    assert ada.body(archive_layout.CREDENTIALS) != before


def test_prints_that_an_earlier_release_kept_are_given_up(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        kept = vault.get(DECISION)
        del kept["version"]
        for known in kept["credentials"].values():
            known |= {"value": "aa" * 24, "payload": "bb" * 24, "sealed_value": "aa" * 24}
        vault.set(DECISION, kept, kind="secrets")
    ada.capture()
    assert "aa" * 24 not in _memory(ada) and "bb" * 24 not in _memory(ada)
