"""The commands of the key as scripts use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_core.home.context import Context
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores import keyring_store
from support import preloaded
from support.adapters.openclaw_workspaces import make_state_dir, make_workspace
from support.cli.cli_client import run
from support.keys import keyring_fakes
from support.patience import patience

pytestmark = pytest.mark.usefixtures("lightest_wrapping")
OTHER = UserKey(bytes(range(32)))


@pytest.fixture
def words_file(tmp_path: Path) -> Path:
    """Make a new key in this home and return the file of its words."""
    run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    return tmp_path / "words"


def _other_words(folder: Path) -> Path:
    file = folder / "other"
    file.write_text(" ".join(OTHER.words()))
    return file


def _key_files(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "lifeboat" / "keys").glob("*.*"))


# init -----------------------------------------------------------------------------------------------------------


def test_the_words_of_a_new_key_go_to_a_private_file(words_file: Path) -> None:
    assert stat.S_IMODE(words_file.stat().st_mode) == 0o600
    assert UserKey.from_words(words_file.read_text()).public == Context.open().keys().public


def test_init_says_key_and_store(tmp_path: Path) -> None:
    made = run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    again = run("keys", "init", "--words-to", tmp_path / "again", "--no-prove")
    assert (made["key_id"], made["store"], made["made"]) == (again["key_id"], "file", True)
    assert again["made"] is False
    assert (tmp_path / "again").read_text() == (tmp_path / "words").read_text()


def test_where_nobody_would_see_the_words_no_key_is_made(isolated_home: Path) -> None:
    error = run("keys", "init", "--no-prove", expect=3)["error"]
    assert error["code"] == "nobody_to_ask" and "--words-to" in error["fix"]
    assert _key_files(isolated_home) == []


@pytest.mark.parametrize("behaviour", ["locked", "absent"])
@pytest.mark.parametrize("has_key", [False, True])
def test_a_keyring_that_cannot_take_the_key_says_what_helps_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, has_key: bool
) -> None:
    if has_key:
        run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program(behaviour, tmp_path / "items"))
    error = run("keys", "init", "--store", "keyring", "--words-to", tmp_path / "again", expect=1)["error"]
    assert (
        error["fix"]
        == "unlock the keyring of your desktop and run the command again, or use another store: lifeboat keys init "
        "--store passphrase"
    )


def test_a_key_is_not_unlocked_for_no_time(words_file: Path) -> None:
    assert run("keys", "unlock", "--for", "0s", expect=2)["error"]["code"] == "usage"


def test_words_never_mix_with_json(isolated_home: Path) -> None:
    assert run("keys", "init", "--words-to", "-", expect=2)["error"]["code"] == "usage"
    assert _key_files(isolated_home) == []


def test_words_to_standard_output_are_all_that_is_there() -> None:
    done = preloaded.run(["keys", "init", "--words-to", "-"], capture_output=True, text=True, timeout=patience())
    assert UserKey.from_words(done.stdout).key_id in done.stderr


def test_a_file_that_is_there_is_not_replaced_and_no_key_is_made(isolated_home: Path, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Ada")
    assert run("keys", "init", "--words-to", tmp_path / "letter", expect=3)["error"]["code"] == "file_exists"
    assert (tmp_path / "letter").read_text() == "Dear Ada"
    assert _key_files(isolated_home) == []


def test_words_that_were_proven_are_not_shown_again(words_file: Path, tmp_path: Path) -> None:
    run("keys", "prove", "--words-from", words_file)
    again = tmp_path / "again"
    assert run("keys", "init", "--words-to", again, expect=3)["error"]["code"] == "key_exists"
    assert not again.exists()
    assert run("keys", "init")["proven_at"] is not None


# prove ----------------------------------------------------------------------------------------------------------


def test_a_proof_is_remembered(words_file: Path) -> None:
    assert run("keys", "status")["proven_at"] is None
    proven = run("keys", "prove", "--words-from", words_file)["proven_at"]
    assert proven is not None and run("keys", "status")["proven_at"] == proven


def test_words_prove_a_key_that_is_away(words_file: Path, isolated_home: Path) -> None:
    (isolated_home / "lifeboat" / "keys" / "user.key").unlink()
    assert run("keys", "status")["state"] == "needs_key"
    assert run("keys", "prove", "--words-from", words_file)["proven_at"] is not None


def test_the_words_of_another_key_prove_nothing(words_file: Path, tmp_path: Path) -> None:
    error = run("keys", "prove", "--words-from", _other_words(tmp_path), expect=3)["error"]
    own = run("keys", "status")
    assert own["key_id"] in error["message"] and OTHER.key_id in error["message"]
    assert own["proven_at"] is None


def test_a_misspelt_word_is_named_by_its_number_only(words_file: Path, tmp_path: Path) -> None:
    words = words_file.read_text().split()
    words[6] = "hunterxx"
    (tmp_path / "typo").write_text(" ".join(words))
    done = preloaded.run(
        ["keys", "prove", "--words-from", tmp_path / "typo"], capture_output=True, text=True, timeout=patience()
    )
    assert done.returncode == 1 and "(positions): 7" in done.stderr
    said = set(re.findall(r"\w+", done.stdout + done.stderr))
    assert "hunterxx" not in said and len(said & set(words)) <= 4, "only words that any message has"


# recover --------------------------------------------------------------------------------------------------------


def _new_machine(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
    folder.mkdir(mode=0o700)


def test_a_new_machine_takes_the_key_from_its_words(
    words_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Context.open().keys()
    _new_machine(monkeypatch, tmp_path / "new")
    found = run("keys", "recover", "--words-from", words_file)
    after = Context.open().keys()
    assert found["key_id"] == before.public.key_id and found["was_here"] is False
    assert after.user_key().public == before.public
    assert after.device.public != before.device.public and after.device.user == before.public
    assert run("keys", "status")["proven_at"] is not None


@pytest.mark.parametrize("option", ["--kit", "--words-from"])
def test_a_new_machine_takes_the_key_from_its_kit(
    option: str, words_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_id = run("keys", "export-kit", "-o", tmp_path / "kit.txt")["key_id"]
    _new_machine(monkeypatch, tmp_path / "new")
    assert run("keys", "recover", option, tmp_path / "kit.txt")["key_id"] == key_id


def test_words_may_come_through_a_pipe(words_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _new_machine(monkeypatch, tmp_path / "new")
    with words_file.open("rb") as stream:
        done = preloaded.run(
            ["keys", "recover", "--words-from", "-", "--json"], stdin=stream, capture_output=True, timeout=patience()
        )
    assert json.loads(done.stdout)["key_id"] == UserKey.from_words(words_file.read_text()).key_id


def test_a_lost_secret_comes_back_into_its_own_home(words_file: Path, isolated_home: Path) -> None:
    (isolated_home / "lifeboat" / "keys" / "user.key").unlink()
    assert run("keys", "recover", "--words-from", words_file)["was_here"] is False
    assert run("keys", "status")["state"] == "ok"
    assert run("keys", "recover", "--words-from", words_file)["was_here"] is True


def test_another_key_is_refused_before_anything_is_written(
    words_file: Path, isolated_home: Path, tmp_path: Path
) -> None:
    make_workspace(tmp_path / "workspace")
    run("agents", "add", tmp_path / "workspace", "--name", "ada")
    folder = isolated_home / "lifeboat" / "keys"
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    error = run("keys", "recover", "--words-from", _other_words(tmp_path), expect=3)["error"]
    assert error["code"] == "key_exists"
    own = run("keys", "status")["key_id"]
    for said in (own, OTHER.key_id, "sequence 0 of ada", "never seen on this machine"):
        assert said in error["message"]
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


def test_words_of_no_key_make_no_key(isolated_home: Path, tmp_path: Path) -> None:
    words = OTHER.words()
    words[0], words[1] = words[1], words[0]
    (tmp_path / "swapped").write_text(" ".join(words))
    assert run("keys", "recover", "--words-from", tmp_path / "swapped", expect=1)["error"]["code"] == "bad_words"
    (tmp_path / "letter").write_text("Dear Ada")
    assert run("keys", "recover", "--kit", tmp_path / "letter", expect=1)["error"]["code"] == "not_a_kit"
    assert _key_files(isolated_home) == []


def test_where_nobody_can_be_asked_recover_names_the_option() -> None:
    assert "--words-from" in run("keys", "recover", expect=3)["error"]["fix"]
    assert "--words-from" in _message_without_terminal("keys", "prove")


def _message_without_terminal(*arguments: str) -> str:
    run("keys", "init", "--words-to", Path(os.environ["HOME"], "words"), "--no-prove")
    return str(run(*arguments, expect=3)["error"]["fix"])


# Paper ----------------------------------------------------------------------------------------------------------


def test_a_kit_is_private_and_never_replaced_unasked(words_file: Path, tmp_path: Path) -> None:
    kit = tmp_path / "kit.txt"
    said = run("keys", "export-kit", "-o", kit)
    assert said["path"] == str(kit) and said["key_id"] in kit.read_text()
    assert stat.S_IMODE(kit.stat().st_mode) == 0o600
    assert run("keys", "export-kit", "-o", kit, expect=3)["error"]["code"] == "file_exists"
    run("keys", "export-kit", "-o", kit, "--force")
    assert run("keys", "export-kit", "-o", "-", expect=2)["error"]["code"] == "usage"


# Status elsewhere -----------------------------------------------------------------------------------------------


def _status() -> JsonObject:
    return run("status")["key"]


def test_a_key_that_an_agent_brought_wants_its_words_written_down(tmp_path: Path) -> None:
    make_workspace(tmp_path / "workspace")
    done = preloaded.run(["agents", "add", tmp_path / "workspace"], capture_output=True, text=True, timeout=patience())
    assert "lifeboat keys init" in done.stdout
    assert _status()["proven_at"] is None
    assert "you never proved that you have the recovery words" in json.dumps(run("doctor"))
    run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")
    run("keys", "prove", "--words-from", tmp_path / "words")
    assert _status()["proven_at"] is not None
    assert "never proved" not in json.dumps(run("doctor"))


def test_status_tells_which_pair_belongs_to_which_agent(isolated_home: Path) -> None:
    run("agents", "add", make_state_dir(isolated_home / ".openclaw").workspace)
    found = run("keys", "status")
    assert [one["name"] for one in found["agents"]] == ["Juniper"]
    assert re.fullmatch("[0-9a-f]{16}", found["agents"][0]["pair"])
    assert [one["here"] for one in found["machines"]] == [True]
    assert found["former"] == []


def test_an_archive_of_another_key_is_refused_with_both_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_workspace(tmp_path / "workspace")
    run("agents", "add", tmp_path / "workspace", "--name", "ada")
    run("alf", "export", "openclaw", tmp_path / "workspace", "-o", tmp_path / "ada.alf")
    theirs = run("keys", "status")["key_id"]
    _new_machine(monkeypatch, tmp_path / "new")
    own = run("keys", "init", "--words-to", tmp_path / "words", "--no-prove")["key_id"]
    target = tmp_path / "imported"
    error = run("alf", "import", tmp_path / "ada.alf", "--to", target, "--with-credentials", expect=3)["error"]
    assert error["code"] == "signed_by_another"
    for said in (own, theirs, "in use on this machine", "in ada.alf, sequence 0"):
        assert said in error["message"]
    assert not target.exists()


def test_a_vault_of_another_key_is_refused_with_both_keys(isolated_home: Path, tmp_path: Path) -> None:
    make_workspace(tmp_path / "workspace")
    run("agents", "add", tmp_path / "workspace", "--name", "ada")
    theirs = run("keys", "status")["key_id"]
    shutil.rmtree(isolated_home / "lifeboat" / "keys")
    shutil.rmtree(isolated_home / "lifeboat" / "state" / "keys")
    own = run("keys", "recover", "--words-from", _other_words(tmp_path))["key_id"]
    error = run("restore", "ada", "--to", tmp_path / "back", "--with-credentials", expect=3)["error"]
    for said in (own, theirs, "signed sequence 0 of ada", "in use on this machine"):
        assert said in error["message"]
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("encrypt", [[], ["--encrypt"]], ids=["plain", "encrypted"])
def test_a_home_without_a_key_is_told_to_recover_it_and_gets_none(
    encrypt: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / ("ada.alf.age" if encrypt else "ada.alf")
    run("keys", "init", "--words-to", tmp_path / "words")
    make_workspace(tmp_path / "workspace")
    run("agents", "add", tmp_path / "workspace", "--name", "ada")
    run("alf", "export", "openclaw", tmp_path / "workspace", "-o", archive, *encrypt)
    _new_machine(monkeypatch, tmp_path / "new")
    source = ("alf", "import", archive, "--to", tmp_path / "imported")
    assert run(*source, expect=1)["error"]["fix"] == "lifeboat keys recover"
    assert run("keys", "status")["key_id"] is None and not (tmp_path / "imported").exists()
    run("keys", "recover", "--words-from", tmp_path / "words")
    run(*source)


# Locks ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a key behind a passphrase from the environment. A process that keeps it unlocked is ended afterwards."""
    passphrase = tmp_path / "passphrase"
    passphrase.touch(0o600)
    passphrase.write_text("a boat under the bridge\n")
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE_FILE", str(passphrase))
    assert run("keys", "init", "--words-to", tmp_path / "words")["store"] == "passphrase"
    yield
    run("keys", "lock")


@pytest.mark.skipif(sys.platform == "win32", reason="no process holds keys open on Windows")
def test_a_key_is_open_for_a_time_and_then_locked(wrapped: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("keys", "unlock", "--for", "8h")["state"] == "ok"
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE_FILE")
    assert run("keys", "status")["state"] == "ok"
    assert run("keys", "lock")["state"] == "needs_key"
    assert run("keys", "unlock", expect=3)["error"]["code"] == "nobody_to_ask"


def test_a_time_that_is_none_is_not_understood(wrapped: None) -> None:
    assert run("keys", "unlock", "--for", "a while", expect=2)["error"]["code"] == "usage"


def test_a_wrong_passphrase_opens_nothing(wrapped: None, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("a boat on the bridge\n")
    error = run("keys", "export-kit", "-o", tmp_path / "kit", expect=1)["error"]
    assert error["code"] == "key_passphrase" and not (tmp_path / "kit").exists()


def test_with_the_words_a_passphrase_that_was_forgotten_is_replaced(wrapped: None, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("a boat on the bridge\n")
    assert run("keys", "status")["state"] == "needs_key"
    run("keys", "recover", "--words-from", tmp_path / "words")
    found = run("keys", "status")
    assert (found["store"], found["state"]) == ("passphrase", "ok")


def test_a_key_moves_into_the_store_that_is_named(
    words_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_id = run("keys", "status")["key_id"]
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "a boat under the bridge")
    moved = run("keys", "init", "--store", "passphrase")
    assert (moved["key_id"], moved["store"], moved["made"]) == (key_id, "passphrase", False)
    assert run("keys", "export-kit", "-o", tmp_path / "kit")["key_id"] == key_id


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")
def test_keys_that_others_can_read_are_not_told_to_be_none(
    words_file: Path, isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (isolated_home / "lifeboat" / "keys").chmod(0o755)
    assert program.run_command(["keys", "status"]) == 0
    said = capsys.readouterr().out
    assert "other users can access it" in said and "no key yet" not in said
