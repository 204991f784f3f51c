"""`lifeboat keys rotate` as people and scripts use it: the user has the new words before the new key takes effect."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli import program
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.verify import samples_and_drills
from lifeboat_keys.errors import KeysError, NoKey, OtherKey
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind
from support.cli.cli_client import run
from support.core.protected import MEMORY, Protected

pytestmark = pytest.mark.usefixtures("lightest_wrapping")
CONFIG = '{ gateway: { auth: { mode: "token", token: "0123456789abcdef0123456789abcdef" } } }\n'
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals on Windows")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Protected:
    """Make an agent with one credential, in the home that commands use."""
    made = Protected(tmp_path / "ada", config=CONFIG)
    made.add()
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, made.context.environment[name])
    return made


def _all_goes_on(home: Protected) -> None:
    home.write("MEMORY.md", f"{MEMORY}\n## Rain\n\nLikes the sound of rain.\n")
    home.capture()
    assert samples_and_drills.drill_vault(home.context, home.agent, whole=True).mismatches == []
    (home.state_dir / "openclaw.json").unlink()
    restore_agent(home.context, home.agent, RestoreOptions(with_credentials=True, reindex=False, yes=True))
    assert (home.state_dir / "openclaw.json").read_text() == CONFIG


def test_the_command_writes_the_new_words_and_the_report(home: Protected, tmp_path: Path) -> None:
    old = home.context.keys().public.key_id
    words = tmp_path / "words"
    report = run("keys", "rotate", "--words-to", words, "--no-prove", "--yes")
    new = UserKey.from_words(words.read_text())
    assert (report["key_id"], report["former"], report["words_to"]) == (new.key_id, old, str(words))
    assert report["agents"] == [{"id": home.agent.id, "name": home.agent.name}]
    assert words.stat().st_mode & 0o777 == 0o600
    assert not set(new.words()) <= set(str(report).split())
    status = run("keys", "status")
    assert (status["key_id"], status["state"], status["proven_at"]) == (new.key_id, "ok", None)
    _all_goes_on(home)


def test_new_words_are_not_written_to_standard_output(home: Protected) -> None:
    before = home.context.keys().public
    error = run("keys", "rotate", "--words-to", "-", "--no-prove", "--yes", expect=2)["error"]
    assert error["code"] == "usage" and home.context.keys().public == before


@pytest.mark.parametrize("option", [(), ("--compromised",)], ids=["safe", "stolen"])
def test_a_restore_after_the_command_puts_the_secrets_back(
    home: Protected, tmp_path: Path, option: tuple[str, ...]
) -> None:
    run("keys", "rotate", *option, "--words-to", tmp_path / "words", "--no-prove", "--yes")
    _all_goes_on(home)


def test_the_words_alone_bring_the_key_back_after_a_rotation(home: Protected, tmp_path: Path) -> None:
    run("keys", "rotate", "--words-to", tmp_path / "words", "--no-prove", "--yes")
    keys = home.context.home.keys_folder
    for file in (keys / "user.key", *(keys / "users").iterdir()):
        file.unlink()
    assert run("keys", "status")["state"] == "needs_key"
    run("keys", "recover", "--words-from", tmp_path / "words")
    _all_goes_on(home)


def test_another_machine_takes_the_new_key_from_its_words(
    home: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = home.context.keys().user_key()
    run("keys", "rotate", "--words-to", tmp_path / "words", "--no-prove", "--yes")
    home.write("SOUL.md", "# Soul\n\nBe brave.\n")
    run("alf", "export", "openclaw", home.workspace, "-o", tmp_path / "ada.alf")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "second"))
    Context.open().keys().install(old)
    refused = run("alf", "import", tmp_path / "ada.alf", "--to", tmp_path / "copy", expect=3)["error"]
    assert refused["code"] == "signed_by_another"
    report = run("keys", "rotate", "--words-from", tmp_path / "words", "--yes")
    assert report["key_id"] == home.context.keys().public.key_id and report["words_to"] is None
    run("alf", "import", tmp_path / "ada.alf", "--to", tmp_path / "copy", "--with-credentials")


# Refused before the first write -------------------------------------------------------------------------------------


def test_nothing_happens_when_the_words_would_reach_nobody(home: Protected, tmp_path: Path) -> None:
    before = home.context.keys().public
    (tmp_path / "taken").write_text("mine\n")
    asked = ("keys", "rotate")
    assert run(*asked, "--yes", expect=3)["error"]["code"] == "nobody_to_ask"
    assert run(*asked, "--words-to", tmp_path / "words", expect=3)["error"]["code"] == "consent_needed"
    assert run(*asked, "--words-to", tmp_path / "taken", "--yes", expect=3)["error"]["code"] == "file_exists"
    assert home.context.keys().public == before and not (tmp_path / "words").exists()


def _refused(tmp_path: Path, *options: str, expect: int = 3) -> str:
    error = run("keys", "rotate", *options, "--words-to", tmp_path / "words", "--yes", expect=expect)["error"]
    assert not (tmp_path / "words").exists()
    return str(error["code"])


def test_a_key_that_is_away_is_refused(home: Protected, tmp_path: Path) -> None:
    (home.context.home.keys_folder / "user.key").unlink()
    assert _refused(tmp_path) == NoKey.code


def test_a_key_of_somebody_else_is_refused(home: Protected, tmp_path: Path) -> None:
    HomeKeys(tmp_path / "other").ensure()
    (tmp_path / "other" / "user.key").replace(home.context.home.keys_folder / "user.key")
    assert _refused(tmp_path) == OtherKey.code


def test_a_locked_key_is_refused(home: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "a boat under the bridge")
    Context.open().keys().move(StoreKind.PASSPHRASE)
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE")
    assert _refused(tmp_path) == "key_locked"


def test_a_file_that_holds_one_key_is_refused(home: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_bytes((home.context.home.keys_folder / "user.key").read_bytes())
    file.chmod(0o600)
    monkeypatch.setenv("LIFEBOAT_KEY_FILE", str(file))
    assert _refused(tmp_path) == KeysError.STORE_READ_ONLY.code


def test_an_unknown_machine_is_refused(home: Protected, tmp_path: Path) -> None:
    assert _refused(tmp_path, "--lost", "phone", expect=1) == KeysError.UNKNOWN_MACHINE.code


def test_the_key_that_is_in_force_is_not_taken_again(home: Protected, tmp_path: Path) -> None:
    (tmp_path / "own").write_text(" ".join(home.context.keys().user_key().words()))
    error = run("keys", "rotate", "--words-from", tmp_path / "own", "--yes", expect=3)["error"]
    assert error["code"] == "key_exists"


# Other stores, names, and a terminal --------------------------------------------------------------------------------


def test_a_key_behind_a_passphrase_is_replaced_by_one_behind_it(
    home: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "a boat under the bridge")
    Context.open().keys().move(StoreKind.PASSPHRASE)
    report = run("keys", "rotate", "--compromised", "--words-to", tmp_path / "words", "--no-prove", "--yes")
    keys = Context.open().keys()
    assert (keys.store, keys.status().state, keys.user_key().key_id) == (
        StoreKind.PASSPHRASE,
        KeyState.OK,
        report["key_id"],
    )
    assert keys.settling() is None


def test_a_machine_is_given_another_name(home: Protected) -> None:
    own = home.context.keys().device.public.hex()[:16]
    assert run("keys", "rename-machine", own, "workbench") == {"id": own, "name": "workbench"}
    assert [one["name"] for one in run("keys", "status")["machines"]] == ["workbench"]


@needs_terminal
def test_on_a_terminal_the_words_are_shown_and_proven_before_the_key_is_replaced(home: Protected) -> None:
    from support.terminal import Terminal

    before = home.context.keys().public
    with Terminal("keys", "rotate", "--compromised") as terminal:
        terminal.wait_for("Replace the key")
        terminal.type("y")
        words = [word for _, word in re.findall(r"(\d+)\. ([a-z]+)", terminal.until("Press Enter"))]
        assert home.context.keys().public == before
        terminal.type("")
        for _ in range(3):
            place = int(terminal.wait_for(r"Word (\d+): ")[1])
            assert home.context.keys().public == before
            terminal.type(words[place - 1])
        assert terminal.ended() == 0
    assert home.context.keys().user_key().words() == words
    assert run("keys", "status")["proven_at"] is not None
    assert "Ask the services to issue" in terminal.left and "gateway" in terminal.left
    assert not re.search(r"24\. [a-z]+", terminal.left)


@needs_terminal
def test_whoever_stops_while_the_words_are_shown_keeps_the_old_key(home: Protected) -> None:
    from support.terminal import Terminal

    before = home.context.keys().public
    with Terminal("keys", "rotate", "--yes") as terminal:
        terminal.wait_for("Press Enter")
        assert terminal.interrupted() == 130
    assert "your key was not replaced" in terminal.left
    assert home.context.keys().public == before and home.context.keys().former == []


@pytest.mark.parametrize(
    ("times", "said"),
    [(1, "your key was replaced, so use the recovery words"), (9, "keep the recovery words of both keys")],
)
def test_when_it_stops_after_the_decision_the_user_is_told_which_words_count(
    home: Protected,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    times: int,
    said: str,
) -> None:
    left = [CrashPoint.ROTATE_KEY_REPLACED] * times

    def refuse(step: CrashPoint) -> None:
        if step in left:
            left.remove(step)
            raise KeysError("user.json could not be written: No space left on device")

    monkeypatch.setattr(crash_points, "hook", refuse)
    words = tmp_path / "words"
    assert program.run_command(["keys", "rotate", "--words-to", str(words), "--no-prove", "--yes"]) == 1
    assert said in capsys.readouterr().err
    monkeypatch.setattr(crash_points, "hook", None)
    assert run("keys", "status")["key_id"] == UserKey.from_words(words.read_text()).key_id
    _all_goes_on(home)
