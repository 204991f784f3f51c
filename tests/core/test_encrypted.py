"""Encrypted archives are read like plain ones, and never written in clear by accident."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pyrage
import pytest

from lifeboat_core.exchange import open_archive
from lifeboat_core.home.context import Context
from lifeboat_keys.age_format import age_encryption
from lifeboat_keys.home.key_rotation import RotationReason
from lifeboat_keys.pairs.user_key import UserKey
from support import preloaded
from support.adapters.openclaw_workspaces import StateFolder, make_state_dir
from support.cli.cli_client import run
from support.keys.age_files import encrypt_with_little_work
from support.preloaded import inline

PASSPHRASE = "an invented passphrase"


@pytest.fixture
def openclaw(isolated_home: Path) -> StateFolder:
    made = make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", made.workspace)
    return made


@pytest.fixture
def sealed(openclaw: StateFolder, tmp_path: Path) -> Path:
    return exported(openclaw, tmp_path / "juniper.alf.age", "--encrypt")


@pytest.fixture
def delta(openclaw: StateFolder, sealed: Path, tmp_path: Path) -> Path:
    (openclaw.workspace / "SOUL.md").write_text("# Soul\n\nYou are Juniper, and you whistle.\n")
    memory = openclaw.workspace / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Whistling\n\nOnly outdoors.\n")
    return exported(openclaw, tmp_path / "changes.alf-delta.age", "--since", "0", "--encrypt")


@pytest.fixture
def elsewhere(openclaw: StateFolder, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the following commands on a machine with another key."""
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "elsewhere"))
    Context.open().keys().ensure()
    return tmp_path / "elsewhere"


def exported(openclaw: StateFolder, target: Path, *options: str) -> Path:
    run("alf", "export", "openclaw", openclaw.workspace, "-o", target, *options)
    return target


def type_passphrase(monkeypatch: pytest.MonkeyPatch, text: str = PASSPHRASE) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text + "\n"))


def plain_of(sealed: Path) -> bytes:
    """Decrypt as another program does."""
    key = Context.open().keys().user_key()
    return bytes(
        pyrage.decrypt(sealed.read_bytes(), [pyrage.x25519.Identity.from_str(age_encryption.age_identity_of(key))])
    )


def is_sealed(file: Path) -> bool:
    return file.read_bytes().startswith(b"age-encryption.org/v1\n")


def scratch() -> list[str]:
    return os.listdir(Context.open().home.restore_folder / "tmp")


def test_an_export_is_sealed_as_a_whole_for_the_user_alone_to_read(openclaw: StateFolder, tmp_path: Path) -> None:
    target = tmp_path / "juniper.alf.age"
    report = run("alf", "export", "openclaw", openclaw.workspace, "--encrypt", "-o", target)
    assert is_sealed(target) and stat.S_IMODE(target.stat().st_mode) == 0o600
    assert report["bytes"] == target.stat().st_size
    assert report["encryption"] == {"key_id": Context.open().keys().public.key_id, "recipients": 1}
    assert os.listdir(tmp_path).count("juniper.alf.age") == 1 and not list(tmp_path.glob(".*part"))
    assert scratch() == []


def test_the_sealed_archive_is_the_plain_one(openclaw: StateFolder, sealed: Path, tmp_path: Path) -> None:
    from support.alf.archive_files import ArchiveFile

    (tmp_path / "opened.alf").write_bytes(plain_of(sealed))
    plain = exported(openclaw, tmp_path / "plain.alf")
    one, other = ArchiveFile(tmp_path / "opened.alf").bodies, ArchiveFile(plain).bodies
    made_anew = {"manifest.json", "lifeboat/keys.json"}
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name] and name not in made_anew] == []


def test_an_export_needs_no_secret_of_the_user(openclaw: StateFolder, tmp_path: Path) -> None:
    secret = Context.open().home.keys_folder / "user.key"
    secret.rename(tmp_path / "away.key")
    sealed = exported(openclaw, tmp_path / "juniper.alf.age", "--encrypt")
    (tmp_path / "away.key").rename(secret)
    assert plain_of(sealed).startswith(b"PK")


def test_it_is_read_wherever_a_plain_one_is(openclaw: StateFolder, sealed: Path, delta: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.alf.age"
    assert run("alf", "validate", sealed)["ok"]
    assert run("alf", "validate", delta)["ok"]
    assert run("alf", "show", delta)["kind"] == "delta"
    assert run("alf", "apply", sealed, delta, "-o", whole)["sequence"] == 1
    assert run("alf", "diff", sealed, whole)["entries"]
    run("alf", "import", sealed, "--delta", delta, "--to", tmp_path / "copy")
    assert (tmp_path / "copy" / "SOUL.md").read_text().endswith("you whistle.\n")
    assert scratch() == []


def test_it_is_known_by_its_content_under_any_name(sealed: Path, tmp_path: Path) -> None:
    renamed = sealed.rename(tmp_path / "attachment.bin")
    assert run("alf", "validate", renamed)["ok"]


def test_showing_says_for_whom_it_is_sealed(openclaw: StateFolder, sealed: Path, tmp_path: Path) -> None:
    assert run("alf", "show", sealed)["encryption"] == {
        "key_id": Context.open().keys().public.key_id,
        "recipients": 1,
    }
    assert run("alf", "show", exported(openclaw, tmp_path / "plain.alf"))["encryption"] is None


def test_further_keys_open_it_too(openclaw: StateFolder, tmp_path: Path) -> None:
    friend, own = pyrage.x25519.Identity.generate(), age_encryption.age_recipient_of(Context.open().keys().public)
    others = ["--recipient", str(friend.to_public()), "--recipient", own]
    target = exported(openclaw, tmp_path / "a.alf.age", "--encrypt", *others)
    assert pyrage.decrypt(target.read_bytes(), [friend]).startswith(b"PK")
    assert plain_of(target).startswith(b"PK")
    assert run("alf", "show", target)["encryption"]["recipients"] == 2


def test_a_file_from_before_a_rotation_opens_with_the_key_it_was_made_for(sealed: Path) -> None:
    keys = Context.open().keys()
    old, new = keys.user_key(), UserKey.generate()
    keys.rotate(old, new, RotationReason())
    assert keys.public == new.public
    assert run("alf", "show", sealed)["encryption"]["key_id"] == old.key_id


def test_what_is_made_of_a_sealed_file_is_sealed(sealed: Path, delta: Path, tmp_path: Path) -> None:
    applied, purged, plain = (tmp_path / name for name in ("applied.alf.age", "purged.alf.age", "plain.alf"))
    run("alf", "apply", sealed, delta, "-o", applied)
    assert is_sealed(applied)
    record = run("alf", "diff", sealed, applied)["records"][0]["id"]
    run("alf", "purge", applied, "--record", record, "-o", purged)
    assert is_sealed(purged) and run("alf", "validate", purged)["ok"]
    run("alf", "apply", sealed, delta, "-o", plain, "--plain")
    assert plain.read_bytes().startswith(b"PK")


def test_a_name_that_hides_whether_it_is_sealed_is_refused(
    openclaw: StateFolder, sealed: Path, delta: Path, tmp_path: Path
) -> None:
    for command in (
        ["alf", "export", "openclaw", openclaw.workspace, "-o", tmp_path / "b.alf", "--encrypt"],
        ["alf", "export", "openclaw", openclaw.workspace, "-o", tmp_path / "b.alf.age"],
        ["alf", "apply", sealed, delta, "-o", tmp_path / "b.alf"],
        ["alf", "apply", sealed, delta, "-o", tmp_path / "b.alf.age", "--plain"],
    ):
        assert run(*command, expect=3)["error"]["code"] == "misleading_name"
    assert not (tmp_path / "b.alf").exists() and not (tmp_path / "b.alf.age").exists()


def test_what_helps_is_spelled_as_a_shell_takes_it(openclaw: StateFolder, tmp_path: Path) -> None:
    target = tmp_path / "a name.alf"
    refused = run("alf", "export", "openclaw", openclaw.workspace, "-o", target, "--encrypt", expect=3)
    assert refused["error"]["fix"].endswith(f" --encrypt --json -o '{target}.age'")


def test_a_passphrase_takes_the_place_of_the_key(
    openclaw: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.alf.age"
    # The library stretches a passphrase for seconds; test_age.py is about that.
    monkeypatch.setattr(pyrage.passphrase, "encrypt", encrypt_with_little_work)
    type_passphrase(monkeypatch)
    exported(openclaw, target, "--encrypt", "--passphrase-stdin")
    assert pyrage.passphrase.decrypt(target.read_bytes(), PASSPHRASE).startswith(b"PK")
    assert run("alf", "show", target, expect=1)["error"]["code"] == "passphrase_needed"
    type_passphrase(monkeypatch)
    shown = run("alf", "show", target, "--passphrase-stdin")
    assert shown["encryption"] == {"key_id": None, "recipients": 0}
    type_passphrase(monkeypatch, "another passphrase")
    assert run("alf", "validate", target, "--passphrase-stdin", expect=1)["error"]["code"] == "archive_passphrase"


def test_another_key_is_refused_by_name_and_nothing_is_written(sealed: Path, elsewhere: Path, tmp_path: Path) -> None:
    error = run("alf", "import", sealed, "--to", tmp_path / "copy", expect=3)["error"]
    assert error["code"] == "not_for_your_key"
    assert str(sealed) in error["message"] and Context.open().keys().public.key_id in error["message"]
    assert not (tmp_path / "copy").exists()
    assert not (elsewhere / "vaults").exists()


def test_without_a_key_the_way_to_it_is_said_before_anything_is_written(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "fresh"))
    error = run("alf", "import", sealed, "--to", tmp_path / "copy", expect=1)["error"]
    assert error["code"] == "needs_key" and error["fix"]
    assert not (tmp_path / "copy").exists()
    assert list((tmp_path / "fresh" / "keys").iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: data[: len(data) // 2], "encrypted_cut_short"),
        (lambda data: data[:40], "encrypted_cut_short"),
        (lambda data: data[:1_000] + bytes([data[1_000] ^ 1]) + data[1_001:], "encrypted_changed"),
        (lambda data: b"not encrypted at all, whatever its name says" * 9, "not_age"),
    ],
)
def test_every_damage_is_named(openclaw: StateFolder, tmp_path: Path, damage: object, code: str) -> None:
    (openclaw.workspace / "noise.csv").write_bytes(os.urandom(90_000))
    sealed = exported(openclaw, tmp_path / "noise.alf.age", "--encrypt")
    assert sealed.stat().st_size > 90_000
    sealed.write_bytes(damage(sealed.read_bytes()))  # type: ignore[operator]
    error = run("alf", "validate", sealed, expect=1)["error"]
    assert error["code"] == code and str(sealed) in error["message"]
    run("alf", "import", sealed, "--to", tmp_path / "copy", expect=1)
    assert not (tmp_path / "copy").exists()
    assert scratch() == []


def _named_files(sealed: Path) -> set[Path]:
    """Return the files of the home after an archive was opened in it, which stores copies of key documents."""
    with open_archive(Context.open(), sealed):
        pass
    return _named_files_now()


def _named_files_now() -> set[Path]:
    return {path for path in Context.open().home.folder.rglob("*") if path.is_file()}


def test_what_is_decrypted_has_no_name(sealed: Path) -> None:
    before = _named_files(sealed)
    with open_archive(Context.open(), sealed) as archive:
        assert archive.stream.read(2) == b"PK"
        assert _named_files_now() == before
    assert scratch() == []


_READER = """
import sys, time
from pathlib import Path
from lifeboat_core.home.context import Context
from lifeboat_core.exchange import open_archive
with open_archive(Context.open(), Path(sys.argv[1])) as archive:
    print(archive.stream.read(2), flush=True)
    time.sleep(600)
"""


def test_a_reader_that_is_killed_leaves_nothing_in_clear(sealed: Path) -> None:
    before = _named_files(sealed)
    with preloaded.Popen(inline(_READER), ("-c", str(sealed)), stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"b'PK'\n"
        reader.send_signal(signal.SIGKILL)
    assert _named_files_now() == before
    assert scratch() == []
