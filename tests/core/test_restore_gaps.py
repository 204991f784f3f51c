"""Files whose credentials cannot be restored are written with a gap, which no capture takes for an edit."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_alf.states.entry_metas import CUTS
from lifeboat_core.agents import withheld_items
from lifeboat_core.health import status_gathering
from lifeboat_core.purge import purge_run
from lifeboat_core.restore import RestoreOptions, open_plan, restore_agent
from lifeboat_core.restore import carry_out_plan as run_plan
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_keys.errors import NoKey
from lifeboat_keys.home.home_keys import HomeKeys
from support.cli.cli_client import run
from support.core.protected import Protected
from support.core.purged import request

KEY = "sk-ant-api03-fake0123456789abcdefghijklmnopqrstuvwxyz0123456789"
OTHER = "sk-ant-api03-fake9876543210zyxwvutsrqponmlkjihgfedcba9876543210"
MEMORY = f"# Memory\n\n## Keys\n\nI used {KEY} today, and {KEY} before.\n\n## Love\n\nBen likes tulips.\n"
DOTENV = f"ANTHROPIC_API_KEY={KEY}\nEDITOR=nano\n"


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Protected:
    made = Protected(tmp_path)
    made.write("MEMORY.md", MEMORY)
    made.write(".env", DOTENV, mode=0o600)
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


@pytest.fixture
def locked(ada: Protected) -> Iterator[pytest.MonkeyPatch]:
    """Make the key unavailable until `undo`."""
    with pytest.MonkeyPatch.context() as patch:

        def no_key(self: HomeKeys) -> None:
            raise NoKey("it is elsewhere")

        patch.setattr(HomeKeys, "user_key", no_key)
        yield patch


def restored(ada: Protected, **options: bool) -> RestoreReport:
    return restore_agent(ada.context, ada.agent, RestoreOptions(yes=True, reindex=False, **options))


def lost_and_restored(ada: Protected) -> RestoreReport:
    shutil.rmtree(ada.workspace)
    return restored(ada)


def text(ada: Protected, name: str) -> str:
    return (ada.workspace / name).read_text()


def head_cuts(ada: Protected, path: str) -> int:
    with ada.context.vault(ada.agent.id) as vault:
        entry = vault.state().entry(f"raw/openclaw/{path}")
        assert entry is not None
        return len(entry.meta.get(CUTS, []))


def gaps(ada: Protected) -> set[str]:
    with ada.context.vault(ada.agent.id) as vault:
        return set(withheld_items.load_gap_paths(vault))


def test_in_its_own_place_a_file_has_its_credentials_again_without_asking(ada: Protected) -> None:
    report = lost_and_restored(ada)
    assert (text(ada, "MEMORY.md"), text(ada, ".env")) == (MEMORY, DOTENV)
    assert (report.lacking, report.credentials) == ([], {"injected": 2, "skipped": 0})
    assert ada.capture().outcome == "unchanged"


def test_without_the_key_it_comes_back_with_a_visible_gap(ada: Protected, locked: pytest.MonkeyPatch) -> None:
    report = lost_and_restored(ada)
    assert sorted(report.lacking) == [".env", "MEMORY.md"]
    assert "Ben likes tulips." in text(ada, "MEMORY.md") and KEY not in text(ada, "MEMORY.md")
    assert text(ada, "MEMORY.md").count("{{lifeboat:credential:") == 2
    assert text(ada, ".env").endswith("EDITOR=nano\n")


def test_the_command_ends_with_1_and_status_says_which_files_lack_what(
    ada: Protected, locked: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(ada.workspace)
    assert run("restore", "ada", "--yes", "--no-reindex", expect=1)["lacking"] == [".env", "MEMORY.md"]
    agent = run("status")["agents"][0]
    assert agent["state"] == status_gathering.NEEDS_KEY
    words = "a restore wrote .env, MEMORY.md without credentials; to add them: lifeboat restore ada --with-credentials"
    assert words in agent["reasons"]
    run("status", "--check", expect=1)


def test_a_capture_takes_no_gap_for_an_edit(ada: Protected, locked: pytest.MonkeyPatch) -> None:
    report = lost_and_restored(ada)
    assert report.captured == 0
    assert ada.capture(full=True).outcome == "unchanged"
    assert gaps(ada) == {"raw/openclaw/.env", "raw/openclaw/MEMORY.md"}
    locked.undo()
    restored(ada, with_credentials=True)
    assert (text(ada, "MEMORY.md"), text(ada, ".env")) == (MEMORY, DOTENV)
    ada.capture()
    assert gaps(ada) == set()
    assert status_gathering.gather_agent_status(ada.context, ada.agent, ada.context.keys().status()).state == "ok"


def test_what_is_edited_around_a_gap_is_captured_and_gets_the_credentials_back(
    ada: Protected, locked: pytest.MonkeyPatch
) -> None:
    lost_and_restored(ada)
    edited = text(ada, "MEMORY.md").replace("tulips", "red tulips")
    ada.write("MEMORY.md", f"Above.\n{edited}\n## Work\n\nReview on Monday.\n")
    ada.write(".env", f"A=1\n{text(ada, '.env')}", mode=0o600)
    assert ada.capture().outcome == "captured"
    assert (head_cuts(ada, "MEMORY.md"), head_cuts(ada, ".env")) == (2, 1)
    assert ada.capture(full=True).outcome == "unchanged"
    locked.undo()
    restored(ada, with_credentials=True)
    wanted = MEMORY.replace("tulips", "red tulips")
    assert text(ada, "MEMORY.md") == f"Above.\n{wanted}\n## Work\n\nReview on Monday.\n"
    assert text(ada, ".env") == f"A=1\n{DOTENV}"


def test_a_new_credential_typed_into_a_gap_takes_the_place_of_the_old_one(
    ada: Protected, locked: pytest.MonkeyPatch
) -> None:
    lost_and_restored(ada)
    ada.write(".env", DOTENV.replace(KEY, OTHER), mode=0o600)
    ada.capture()
    assert gaps(ada) == {"raw/openclaw/MEMORY.md"}
    locked.undo()
    shutil.rmtree(ada.workspace)
    restored(ada)
    assert (text(ada, ".env"), text(ada, "MEMORY.md")) == (DOTENV.replace(KEY, OTHER), MEMORY)


def test_a_file_that_is_deleted_with_its_gap_is_deleted(ada: Protected, locked: pytest.MonkeyPatch) -> None:
    lost_and_restored(ada)
    (ada.workspace / ".env").unlink()
    ada.capture()
    assert gaps(ada) == {"raw/openclaw/MEMORY.md"}


def test_a_placeholder_in_a_file_that_no_restore_wrote_stays_the_text_it_is(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        body = vault.state().body("raw/openclaw/.env").decode()
    ada.write("notes/plan.md", body)
    ada.write(".env", f"{body}B=1\n", mode=0o600)
    ada.capture()
    shutil.rmtree(ada.workspace)
    restored(ada)
    assert (text(ada, "notes/plan.md"), text(ada, ".env")) == (body, f"{body}B=1\n")


def test_a_file_with_its_credentials_is_not_replaced_by_one_with_a_gap(
    ada: Protected, locked: pytest.MonkeyPatch
) -> None:
    ada.write(".env", DOTENV + "B=1\n", mode=0o600)
    ada.capture()
    report = restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))
    assert ".env" in report.lacking and text(ada, ".env") == DOTENV + "B=1\n"


def test_a_copy_elsewhere_has_gaps_unless_credentials_are_asked_for(ada: Protected, tmp_path: Path) -> None:
    report = restored_to(ada, tmp_path / "copy")
    assert sorted(report.lacking) == [".env", "MEMORY.md"]
    assert KEY not in (tmp_path / "copy" / "MEMORY.md").read_text()
    assert gaps(ada) == set()
    whole = restored_to(ada, tmp_path / "whole", with_credentials=True)
    assert (whole.lacking, (tmp_path / "whole" / "MEMORY.md").read_text()) == ([], MEMORY)


def restored_to(ada: Protected, folder: Path, **options: bool) -> RestoreReport:
    with open_plan(ada.context, ada.agent, folder, RestoreOptions(reindex=False, **options)) as plan:
        return run_plan(ada.context, plan)


def test_a_purge_of_what_stands_beside_a_gap_leaves_the_gap(ada: Protected, locked: pytest.MonkeyPatch) -> None:
    lost_and_restored(ada)
    chosen = request(text="Ben likes tulips.")
    found, _ = purge_run.preview_purge(ada.context, ada.agent, chosen)
    purge_run.purge_content(ada.context, ada.agent, chosen, found, {})
    ada.write("MEMORY.md", f"{text(ada, 'MEMORY.md')}\nLater.\n")
    ada.capture()
    assert head_cuts(ada, "MEMORY.md") == 2
    locked.undo()
    restored(ada, with_credentials=True)
    assert f"I used {KEY} today, and {KEY} before." in text(ada, "MEMORY.md")


def test_status_names_a_file_that_was_not_written_for_want_of_its_credentials(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        withheld_items.note_withheld(
            vault, ["raw/openclaw-home/openclaw.json", "raw/openclaw-home/db/auth/order.jsonl#1"]
        )
    found = status_gathering.gather_agent_status(ada.context, ada.agent, ada.context.keys().status())
    words = "a restore wrote openclaw.json without credentials; to add them: lifeboat restore ada --with-credentials"
    assert (found.state, words in found.reasons) == (status_gathering.NEEDS_KEY, True)
    assert not any("order.jsonl" in reason for reason in found.reasons)


def test_a_database_that_sqlite_reads_in_spite_of_its_gap_is_not_called_damaged(ada: Protected, tmp_path: Path) -> None:
    as_long_as_its_placeholder = "sk-ant-api03-" + "k3Jq9ZtVw2Xn7Bd4" * 2 + "5hR8mPa1cYe6LgU"
    ada.write(".env", f"ANTHROPIC_API_KEY={as_long_as_its_placeholder}\n", mode=0o600)
    with closing(sqlite3.connect(ada.workspace / "orders.db")) as connection, connection:
        connection.execute("create table orders(what text)")
        connection.execute("insert into orders values(?)", (f"I used {as_long_as_its_placeholder} today",))
    ada.capture()
    elsewhere = restore_agent(ada.context, ada.agent, RestoreOptions(to=tmp_path / "elsewhere", reindex=False))
    (said,) = [each for each in elsewhere.warnings if each.startswith("orders.db")]
    assert said.endswith("to restore them, use --with-credentials") and "orders.db" in elsewhere.lacking
    with closing(sqlite3.connect(tmp_path / "elsewhere" / "orders.db")) as connection:
        ((what,),) = connection.execute("select what from orders")
    assert what.startswith("I used {{lifeboat:credential:")


def test_a_database_with_a_gap_is_named_as_one_that_cannot_be_read(ada: Protected, tmp_path: Path) -> None:
    database = ada.workspace / "orders.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create table orders(what text)")
        connection.executemany(
            "insert into orders values(?)", [(f"I used {KEY} today, {number}",) for number in "0123"]
        )
    ada.capture()
    before = database.read_bytes()
    elsewhere = restore_agent(ada.context, ada.agent, RestoreOptions(to=tmp_path / "elsewhere", reindex=False))
    (said,) = [each for each in elsewhere.warnings if each.startswith("orders.db")]
    assert said.endswith(
        "to restore them, use --with-credentials; until the gap is filled, SQLite reports this database as damaged"
    )
    assert "orders.db" in elsewhere.lacking
    lost_and_restored(ada)
    assert database.read_bytes() == before
