"""Names of files and words of a user that are no UTF-8: nothing that is said, signed or logged fails because of one."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import sys
from pathlib import Path

import pytest

from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.capture.workspace_survey import MOUNTS
from lifeboat_core.errors import UnknownAgent
from lifeboat_core.remotes.sealed.folder_files import ROOT_FILE
from lifeboat_core.remotes.sealed.folder_kind import REMOTE_KIND
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts import readable_json
from lifeboat_daemon.control import json_rpc
from lifeboat_daemon.service import event_log
from support.cli.cli_client import run
from support.core.machines import Machine
from support.failing_files import FailingFiles

ODD = os.fsdecode(b"caf\xe9")
SPELLED = "caf\\xe9"
pytestmark = pytest.mark.skipif(
    sys.platform in ("darwin", "win32"), reason="its file systems take names in UTF-8 alone"
)


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


@pytest.mark.parametrize("name", [ODD, "half \ud83d of a pair"])
def test_documents_spell_such_a_name_out_and_stay_json(name: str) -> None:
    document = {"names": [name], name: {"deep": name}, "count": 1}
    read = json.loads(readable_json.encode_pretty_json(document))
    assert read["count"] == 1
    assert all(readable_json.is_utf8(text) for text in (*read, *read["names"]))


def test_what_has_no_such_name_is_encoded_as_ever() -> None:
    assert readable_json.encode_json({"name": "café"}) == '{"name":"café"}'.encode()


def test_a_command_tells_of_such_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stdout", said)
    output = CommandOutput(as_json=True)
    output.document({"name": ODD}, lambda: None)
    assert json.loads(said.getvalue()) == {"name": SPELLED}
    said.truncate(said.seek(0))
    output.error(UnknownAgent(ODD))
    assert json.loads(said.getvalue())["error"]["message"] == SPELLED


def test_the_control_socket_tells_of_such_a_name() -> None:
    assert json.loads(json_rpc.encode_event({"name": ODD}))["params"] == {"name": SPELLED}


def test_the_log_loses_no_line_to_such_a_name() -> None:
    record = logging.LogRecord("lifeboat", logging.INFO, "", 0, "", None, None)
    record.__dict__["event"] = {"time": "2026-11-24T10:00:00Z", "level": "info", "kind": "x", "file": f"{ODD} and"}
    assert SPELLED in event_log.format_event(event_log.get_record_event(record)).replace("\\\\", "\\")


def test_a_workspace_with_such_a_path_is_refused_with_the_reason(ada: Machine, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Ada\n")
    for words in (("agents", "add", folder, "--runtime", "openclaw"), ("agents", "move", "ada", folder)):
        error = run(*words, expect=3)["error"]
        assert error["code"] == "workspace_refused"
        assert f"{SPELLED} is not valid UTF-8" in error["message"]
    assert [each["name"] for each in run("agents", "list")["agents"]] == ["ada"]


@pytest.mark.parametrize("option", ["--to", "--state-dir"])
def test_a_restore_into_such_a_path_is_refused_before_it_writes(ada: Machine, tmp_path: Path, option: str) -> None:
    beside = () if option == "--to" else ("--to", tmp_path / "plain")
    error = run("restore", "ada", *beside, option, tmp_path / ODD, "--yes", expect=3)["error"]
    assert error["code"] == "target_refused"
    assert not (tmp_path / ODD).exists()
    assert not (tmp_path / "plain").exists()


@pytest.mark.parametrize("words", [("search", "ada", ODD), ("records", "list", "ada", "--tag", ODD)])
def test_words_that_no_memory_can_hold_are_refused(ada: Machine, words: tuple[str, ...]) -> None:
    assert "is not UTF-8" in run(*words, expect=2)["error"]["message"]


def test_the_address_of_a_folder_holds_such_a_path(tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    (folder / ROOT_FILE).write_text("{}")
    url = REMOTE_KIND.check_url(f"file://{folder}")
    assert url == f"file://{tmp_path}/caf%E9"
    assert REMOTE_KIND.check_url(url) == url
    assert REMOTE_KIND.is_present(url)


def test_an_agent_has_its_copy_in_such_a_folder(ada: Machine, tmp_path: Path) -> None:
    (tmp_path / ODD).mkdir()
    run("remote", "add", "stick", f"file://{tmp_path}/caf%E9")
    run("sync", "ada")
    run("verify", "ada", "--remote", "stick")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("caf")] == [ODD]


def test_a_folder_with_such_a_name_that_cannot_be_read_is_named_in_the_status(ada: Machine) -> None:
    ada.write(f"{ODD}/note.md", "# Note\n")
    ada.capture()
    ada.files = FailingFiles(errno.EIO, lambda name, path: name == "scan" and path.endswith(ODD))
    report = ada.capture()
    assert list(report.unread) == ["raw/openclaw/caf%E9/"]
    assert "caf%E9" in str(run("status", "ada"))


def test_a_file_system_with_such_a_name_that_is_not_mounted_keeps_what_lay_in_it(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.write(f"{ODD}/note.md", "# Note\n")
    with (
        ada.context.vault(ada.agent.id) as vault,
        StateDb.open(ada.context.home.state_file(ada.agent.id), vault.id) as db,
        db.transaction(),
    ):
        db.put(MOUNTS, [f"raw/openclaw/{ODD}/"])
    ada.capture()
    report = ada.capture()
    assert "raw/openclaw/caf%E9/" in report.unread
