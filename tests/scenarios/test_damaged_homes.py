"""Files of the home that are damaged, lost or half made: said where people look, and nothing else is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.home.context import Context
from support.cli.cli_client import run
from support.cli.commands import standing, synced
from support.core import invariants
from support.core.harbour import Harbour


def forget_logs(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@pytest.mark.parametrize("at", [0, 4096, 16384, 30000])
def test_a_damaged_cache_costs_nothing(cli: Harbour, at: int) -> None:
    file = cli.context.home.state_file(cli.agent.id)
    forget_logs(file)
    data = bytearray(file.read_bytes())
    data[at : at + 8192] = os.urandom(8192)
    file.write_bytes(data)
    (cli.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    assert synced()["sequence"] == cli.head
    assert run("search", "ada", "never")["hits"]
    assert standing()["state"] == "ok"
    invariants.always(cli.context, cli.agent, cli.trees)


def test_a_cache_that_cannot_be_written_is_made_anew(cli: Harbour) -> None:
    file = cli.context.home.state_file(cli.agent.id)
    file.chmod(stat.S_IRUSR)
    (cli.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    assert synced()["changed"]


def test_a_broken_configuration_is_said_and_the_last_good_one_holds(cli: Harbour) -> None:
    run("config", "set", "artifacts.versions", "5")
    cli.context.home.config_file.write_text("[[[broken")
    assert synced()["state"] == "ok"
    assert run("config", "get", "artifacts.versions")["value"] == 5
    assert run("status", "--check", expect=1)["problems"]
    assert run("config", "set", "artifacts.versions", "6", expect=1)["error"]["code"] == "config"
    assert cli.context.home.config_file.read_text() == "[[[broken"


def test_a_broken_file_of_an_agent_is_said_and_the_last_good_one_holds(cli: Harbour) -> None:
    cli.context.home.agent_file(cli.agent.id).write_text("name = [")
    assert synced()["state"] == "ok"
    assert standing()["state"] == "error"


def test_a_home_that_was_left_half_made_is_completed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / ".id.0123456789ab.tmp").write_bytes(b"half")
    context = Context.open({"HOME": str(tmp_path), "LIFEBOAT_HOME": str(home)})
    assert context.home.exists() and not list(home.glob(".*.tmp"))


def test_a_home_that_lost_its_id_is_still_a_home(cli: Harbour) -> None:
    (cli.context.home.folder / "id").unlink()
    assert synced()["state"] == "ok"


def test_a_lost_device_key_is_made_again(cli: Harbour) -> None:
    (cli.context.home.keys_folder / "device.key").unlink()
    (cli.workspace / "new.md").write_text("# New\n\nNever seen before.\n")
    assert synced()["changed"]
    invariants.every_kept_sequence_has_its_digest(cli.context, cli.agent)


def damage_vault(ada: Harbour) -> None:
    file = ada.context.home.vault_folder(ada.agent.id) / "vault.db"
    forget_logs(file)
    os.truncate(file, file.stat().st_size // 2)


def lose_vault(ada: Harbour) -> None:
    (ada.context.home.vault_folder(ada.agent.id) / "vault.db").unlink()


@pytest.mark.parametrize("accident", [damage_vault, lose_vault])
def test_a_vault_that_does_not_open_is_said_and_a_new_history_can_begin(
    cli: Harbour, accident: Callable[[Harbour], None]
) -> None:
    accident(cli)
    assert synced(expect=1)["fix"] == "lifeboat agents remove AGENT"
    assert standing()["state"] == "error"
    run("doctor", expect=1)
    assert run("verify", "ada", expect=1)["error"]["code"] in ("vault_damaged", "vault_missing")
    kept = Path(run("agents", "remove", "ada", "--yes")["vault"])
    assert kept.is_dir()
    assert run("agents", "add", cli.workspace)["capture"]["changed"]
    assert standing()["state"] == "ok"


def _unlink(body: Path) -> None:
    body.unlink()


def _damage(body: Path) -> None:
    body.write_bytes(b"no body any more")


@pytest.mark.parametrize("accident", [_unlink, _damage])
def test_a_damaged_body_is_found_said_and_does_not_stop_what_is_new(
    cli: Harbour, accident: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = cli.workspace / "chart.md"
    chart.write_bytes(os.urandom(400_000).hex().encode())
    bodies = cli.context.home.vault_folder(cli.agent.id) / "objects"
    before = set(bodies.iterdir())
    cli.capture()
    (body,) = set(bodies.iterdir()) - before
    accident(body)
    text = chart.read_bytes()
    chart.unlink()  # from which verify would heal it
    assert run("verify", "ada", expect=1)["mismatches"]
    assert standing()["state"] == "error"
    run("doctor", expect=1)
    chart.write_bytes(text + b"a line more\n")
    assert synced()["changed"]
    (lost,) = run("verify", "ada", expect=1)["mismatches"]
    assert lost.startswith("sequence 2:")
    assert standing()["damaged"]["first"] == lost
    assert program.run_command(["verify", "ada"]) == 1
    assert "sequence 3 (22 files) has 1 problem" in " ".join(capsys.readouterr().out.split())
    run("restore", "ada", "--to", tmp_path / "new")
    assert (tmp_path / "new" / "chart.md").read_bytes() == chart.read_bytes()
    assert run("verify", "ada", "--whole", expect=1)["mismatches"]
