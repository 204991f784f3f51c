"""The doctor names credentials that are useless without a missing key."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_runtime_keys as runtime_keys
from support.core.zeroclaw_protected import ProtectedClaw

KEY = "5a" * 32
TOKEN = "an-invented-bot-token-0002"


@pytest.fixture
def ada(tmp_path: Path) -> ProtectedClaw:
    """Make an agent with an encrypted token and without its key."""
    made = ProtectedClaw(tmp_path)
    with (made.install.home / "config.toml").open("a") as file:
        sealed = secret_encryption.encrypt_secret(TOKEN, bytes.fromhex(KEY))
        file.write(f'\n[channels.telegram.default]\nbot_token = "{sealed}"\n')
    (made.install.home / ".secret_key").unlink()
    made.age(made.install.home)
    made.add()
    return made


def findings(ada: ProtectedClaw) -> list[DoctorFinding]:
    return list(runtime_keys.check(ada.context))


def test_what_needs_the_key_is_named_with_what_helps(ada: ProtectedClaw) -> None:
    (found,) = findings(ada)
    assert found.level is DoctorLevel.WARNING and "telegram" in found.result
    assert found.fix is not None and "lifeboat sync" in found.fix


def test_once_the_key_is_back_the_next_capture_opens_them(ada: ProtectedClaw) -> None:
    (ada.install.home / ".secret_key").write_text(KEY)
    ada.capture()
    assert [found.level for found in findings(ada)] == [DoctorLevel.OK]


def test_a_capture_without_the_key_still_finds_nothing_new(ada: ProtectedClaw) -> None:
    assert not ada.capture().changed


def test_a_key_that_is_none_is_named(ada: ProtectedClaw) -> None:
    (ada.install.home / ".secret_key").write_text("damaged")
    assert "64 hexadecimal digits" in findings(ada)[0].result
