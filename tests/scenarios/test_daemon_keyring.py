"""The user's key in a keyring that misbehaves, under a daemon: captures need no key, and nothing waits for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.manage_remotes import RemoteAccess, add_remote
from lifeboat_keys.stores import key_environment
from lifeboat_keys.stores import keyring_store as keyring_store
from lifeboat_keys.stores.store_kinds import StoreKind
from support.core.harbour import Harbour, harbour
from support.core.invariants import always
from support.core.webdav_machines import TOKEN, shorten_waits
from support.core.webdav_servers import PASSWORD, small_server
from support.daemon.serving import Daemon, Keyring
from support.waiting import until


class Kept:
    """Ada, whose user's key lies in a keyring."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keyring = Keyring(folder / "items", folder / "behaviour", seconds=0.7)
        self.keyring.becomes("good")
        monkeypatch.setattr(key_environment, "is_in_temporary_folder", lambda _: False)
        monkeypatch.setattr(keyring_store, "PROGRAM", keyring_store.PROGRAM)
        monkeypatch.setattr(keyring_store, "child_processes", keyring_store.child_processes)
        self.keyring.apply()
        self.ada: Harbour = harbour(folder)
        assert self.ada.context.keys().store is StoreKind.KEYRING
        manage_agents.write_setting(self.ada.context, self.ada.agent, "capture.quiet", "0s")

    def change(self, text: str) -> None:
        with (self.ada.workspace / "MEMORY.md").open("a") as memory:
            memory.write(f"\n- {text}\n")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    return Kept(tmp_path, monkeypatch)


def test_captures_are_made_while_a_keyring_does_not_answer(kept: Kept) -> None:
    kept.keyring.becomes("slow")
    kept.keyring.seconds = 3600.0
    daemon = Daemon(kept.ada.context, keyring=kept.keyring)
    try:
        daemon.start()
        kept.change("Written while the keyring hangs.")
        assert "has not answered" in daemon.ask("status")["key"]["note"]
        until(lambda: kept.ada.head == 1, "the change to be captured")
        (job,) = [job for job in daemon.ask("jobs")["jobs"] if job["operation"] == "key"]
        assert job["state"] == "running"
    finally:
        daemon.kill()
    kept.keyring.becomes("good")
    always(kept.ada.context, kept.ada.agent, kept.ada.trees)


def test_a_keyring_that_misbehaves_is_said_and_is_found_again_once_it_answers(kept: Kept) -> None:
    kept.keyring.becomes("locked")
    daemon = Daemon(kept.ada.context, keyring=kept.keyring, tick=0.1)
    try:
        daemon.start()
        for behaviour, words in (("locked", "locked"), ("gone", "without an answer")):
            kept.keyring.becomes(behaviour)
            until(lambda words=words: words in reasons(daemon, "needs_key"), f"{behaviour} to be said")
        kept.keyring.becomes("slow")
        until(lambda: "did not answer" in reasons(daemon, "needs_key"), "the silence to be said")
        kept.change("Written without a key.")
        until(lambda: kept.ada.head == 1, "the change to be captured")
        kept.keyring.becomes("good")
        until(lambda: daemon.agent()["state"] == "ok", "the key to be found again")
        assert daemon.ask("status")["key"]["state"] == "ok"
    finally:
        daemon.kill()
    always(kept.ada.context, kept.ada.agent, kept.ada.trees)


def test_credentials_of_a_remote_move_into_the_keyring_and_a_worker_reads_them(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = kept.ada.context
    shorten_waits(monkeypatch)
    with small_server() as server:
        add_remote(context, "cloud", RemoteAccess(server.url(), token=TOKEN), sealed=True)
        remote_registry.save_token(context, "cloud", TOKEN)  # as an older release kept it
        daemon = Daemon(context, keyring=kept.keyring, tick=0.1)
        try:
            daemon.start()
            token = remote_registry.locate_token_file(context, "cloud")
            until(lambda: PASSWORD not in token.read_text(), "the credentials to move into the keyring")
            kept.change("Written after that.")
            until(lambda: any("/000000000001-" in path for path in server.contents()), "the change to be pushed")
        finally:
            daemon.kill()
    assert remote_registry.load_token(context, "cloud") == TOKEN


def reasons(daemon: Daemon, state: str) -> str:
    """Why an agent is in a state, "" while it is in another one."""
    agent = daemon.agent()
    return " ".join(agent["reasons"]) if agent["state"] == state else ""
