"""`lifeboat doctor --bundle`: enough for support, and no user data."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.processes.installed_release import read_release
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.settings.settings_table import SETTINGS
from lifeboat_daemon.service.event_log import open_log
from support.adapters.openclaw_workspaces import StateFolder, make_state_dir
from support.cli.cli_client import run
from support.daemon.serving import settled

NAME = "Juniper-of-Mira"
NOTE = "memory/divorce-of-mira.md"


@pytest.fixture
def openclaw(isolated_home: Path) -> StateFolder:
    made = make_state_dir(isolated_home / ".openclaw")
    (made.workspace / NOTE).write_text("# Private\n\nNobody's business.\n")
    run("agents", "add", made.workspace, "--name", NAME)
    run("config", "set", "scan.interval", "10m")
    return made


def bundle(folder: Path, name: str = "report.zip") -> dict[str, Any]:
    path = folder / name
    run("doctor", "--bundle", path)
    with zipfile.ZipFile(path) as archive:
        return {each: json.loads(archive.read(each)) for each in archive.namelist()}


def test_it_tells_versions_settings_findings_status_and_sizes(openclaw: StateFolder, tmp_path: Path) -> None:
    found = bundle(tmp_path)
    assert found["versions.json"]["libraries"]["pynacl"]
    cadence = next(each for each in found["settings.json"]["for_all"] if each["name"] == "scan.interval")
    assert cadence == {"name": "scan.interval", "source": "config.toml", "value": 600}
    assert {"vaults", "agents", "key"} <= {each["check"] for each in found["findings.json"]["findings"]}
    assert found["status.json"]["agents"]["agent-1"]["sequence"] == 0
    sizes = found["sizes.json"]["agents"]["agent-1"]
    assert sizes["records"] > 10 and sizes["credentials"] > 0 and sizes["vault_bytes"] > 0
    assert {each["folder"] for each in found["home.json"]["files"]} >= {".", "vault", "keys"}


def test_a_report_that_is_there_is_not_replaced_and_no_option_says_so(openclaw: StateFolder, tmp_path: Path) -> None:
    bundle(tmp_path)
    error = run("doctor", "--bundle", tmp_path / "report.zip", expect=3)["error"]
    assert (error["code"], error["fix"]) == ("file_exists", "choose another name")


def test_second_copies_are_told_by_number_and_without_addresses(openclaw: StateFolder, tmp_path: Path) -> None:
    context = Context.open()
    remote_registry.save_remote(
        context, RemoteConfig("boat-of-Mira", "https://mira.example.com", id="0a", pin="b" * 64, optional=True)
    )
    remote_registry.save_token(context, "boat-of-Mira", "lb_abcdefgh_secret")
    found = bundle(tmp_path)
    one = found["remotes.json"]["remote-1"]
    assert (one["kind"], one["optional"], one["pinned"], one["has_token"]) == ("https", True, True, True)
    assert one["agents"]["agent-1"]["state"] == "waiting"
    text = json.dumps(found)
    assert not any(word in text for word in ("Mira", "mira.example", "lb_abcdefgh", "b" * 64))


def test_reasons_are_told_by_their_kind(openclaw: StateFolder, tmp_path: Path) -> None:
    openclaw.config.write_text("{ half a configuration of Mira: '")
    run("sync", expect=1)
    status = bundle(tmp_path)["status.json"]
    agent = status["agents"]["agent-1"]
    assert agent["pending_kinds"] == {"unparsable": 1} and agent["reasons"]["pending"] == 1


def test_nothing_in_it_is_a_name_a_path_or_an_id(openclaw: StateFolder, tmp_path: Path, isolated_home: Path) -> None:
    openclaw.config.write_text("{ half a configuration of Mira: '")
    (openclaw.workspace / NOTE).write_bytes(b"x" * 100)
    run("sync", expect=1)
    agent = run("agents", "list")["agents"][0]
    key = run("status")["key"]["id"]
    text = json.dumps(bundle(tmp_path))
    private = ("Mira", "mira", "Juniper", "divorce", str(isolated_home), str(tmp_path), ".md")
    for word in (*private, agent["id"], key, "openclaw.json", "workspace"):
        assert word not in text, word


def test_texts_that_somebody_wrote_are_not_told(openclaw: StateFolder, tmp_path: Path) -> None:
    run("config", "set", "memory.granularity", "monthly")
    settings = {each["name"]: each for each in bundle(tmp_path)["settings.json"]["for_all"]}
    assert settings["memory.granularity"]["value"] == "(set, not shown)"
    assert settings.keys() == SETTINGS.keys()


def test_a_bundle_says_what_it_holds_and_is_for_its_owner_alone(openclaw: StateFolder, tmp_path: Path) -> None:
    path = tmp_path / "report.zip"
    said = run("doctor", "--bundle", path)
    assert said["path"] == str(path) and said["bytes"] == path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        assert [each["name"] for each in said["parts"]] == archive.namelist()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_not_replaced(openclaw: StateFolder, tmp_path: Path) -> None:
    path = tmp_path / "report.zip"
    path.write_text("mine")
    assert run("doctor", "--bundle", path, expect=3)["error"]["code"] == "file_exists"
    assert path.read_text() == "mine" and list(tmp_path.glob(".*")) == []


def test_a_damaged_home_has_a_bundle_too(openclaw: StateFolder, tmp_path: Path, isolated_home: Path) -> None:
    """A user with a damaged home needs support most."""
    (isolated_home / "lifeboat" / "config.toml").write_text("cadence = 'secret of Mira")
    for path in (isolated_home / "lifeboat" / "vault").rglob("*.db"):
        path.write_bytes(b"damaged" * 100)
    found = bundle(tmp_path)
    assert found["settings.json"]["file_understood"] is False
    assert found["sizes.json"]["agents"]["agent-1"]["error"]
    assert "Mira" not in json.dumps(found)


# The service ----------------------------------------------------------------------------------------------------


def test_it_counts_what_the_service_logged_and_repeats_none_of_it(openclaw: StateFolder, tmp_path: Path) -> None:
    home = Context.open().home
    with open_log(home, foreground=False) as log:
        log.event("captured", sequence=1)
        log.event("captured", sequence=2)
        log.event("capture_failed", level="error", code="disk_full")
    with (home.logs_folder / "daemon.log").open("a") as file:
        file.write('{"level": "info", "kind": "Mira wrote this line"}\nand this one\n')
    service = bundle(tmp_path)["service.json"]
    assert service["events"] == {"error": {"capture_failed": 1}, "info": {"<str>": 1, "captured": 2}}
    assert (service["running"], service["release"], service["ticks"]) == (False, None, None)
    assert service["unit"]["installed"] is False and "path" not in service["unit"]


def test_it_tells_what_a_daemon_watches_by_number(openclaw: StateFolder, tmp_path: Path) -> None:
    with settled(Context.open()):
        found = bundle(tmp_path)
    service = found["service.json"]
    assert service["running"] and service["release"] == read_release() and service["problem"] is None
    watched = service["watched"]["agent-1"]
    assert watched["cadence"] == "after_interaction" and watched["folders"] > 0 and watched["failures"] == 0
    assert "Mira" not in json.dumps(service) and str(tmp_path) not in json.dumps(service)


def test_a_home_without_agents_has_a_bundle(tmp_path: Path) -> None:
    Context.open()
    assert bundle(tmp_path)["status.json"]["agents"] == {}
