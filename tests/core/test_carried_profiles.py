"""The profile that a user wrote is captured with its agent, and used on a machine that has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.errors import ProfileInvalid, UnknownRuntime
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.folder.folder_profile import parse_carried_profile, parse_profile
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, plan_restore, recover_restores, restore_agent
from lifeboat_core.state.state_documents import load_profiles
from support.adapters.profile_installs import PEBBLE, make_pebble, write_files
from support.cli.cli_client import run
from support.killing import killed_at


def _protect(home: Path) -> tuple[Path, JsonObject]:
    """Protect an agent of the user's own profile; return the file of the profile, and the agent."""
    folder = Context.open().home.folder
    workspace = make_pebble(home, profiles=folder / "profiles")
    return folder / "profiles" / "pebble.toml", run("agents", "add", workspace)


def test_an_edited_profile_is_captured_again(isolated_home: Path) -> None:
    file, added = _protect(isolated_home)
    edited = f"# of Mira\n{PEBBLE}"
    file.write_text(edited)
    run("sync")
    with Context.open().vault(added["id"]) as vault:
        assert load_profiles(vault.state()) == {"pebble": edited}
        assert load_profiles(vault.state(0)) == {"pebble": PEBBLE}
    assert not run("sync")["agents"][0]["changed"], "an unchanged profile made a sequence"


def test_a_restore_says_that_the_profile_comes_back_and_where(isolated_home: Path) -> None:
    file, added = _protect(isolated_home)
    file.unlink()
    planned = run("restore", added["id"], "--to", isolated_home / "copy", "--dry-run")
    assert not file.exists(), "a dry run wrote the profile"
    report = run("restore", added["id"], "--to", isolated_home / "copy", "--yes")
    assert file.read_text() == PEBBLE
    assert file.stat().st_mode & 0o777 == 0o600
    for said in (planned, report):
        assert any(str(file) in warning for warning in said["warnings"])
    again = run("restore", added["id"], "--to", isolated_home / "again", "--yes")
    assert not any(str(file) in warning for warning in again["warnings"])


def test_a_profile_in_the_home_is_not_replaced(isolated_home: Path) -> None:
    file, added = _protect(isolated_home)
    edited = f"# of this machine\n{PEBBLE}"
    file.write_text(edited)
    run("restore", added["id"], "--to", isolated_home / "copy", "--yes")
    assert file.read_text() == edited


def test_an_unsigned_state_brings_no_profile(isolated_home: Path, tmp_path: Path) -> None:
    _, added = _protect(isolated_home)
    other = Context.open({"HOME": str(tmp_path / "user"), "LIFEBOAT_HOME": str(tmp_path / "other")})
    with Context.open().vault(added["id"]) as vault, pytest.raises(UnknownRuntime):
        # The other home has no key, so the signature proves nothing to it.
        plan_restore(other, vault.state(), tmp_path / "there", RestoreOptions(accept_unsigned=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('home = "~/.pebble"', 'home = "/"'), "must be a path below the home directory"),
        (('home = "~/.pebble"', 'home = "~"'), "must be a path below the home directory"),
        (('home = "~/.pebble"', 'home = "~/../mira"'), "must be a path below the home directory"),
        (
            ('workspace = "data"', 'listed_in = "/etc/x.json"\nlisted_at = "x"'),
            "must be a path below the home directory",
        ),
        (('workspace = "data"', 'workspace = "../data"'), "is not a relative path below the workspace"),
        (('home_files = ["pebble.yaml"]', 'home_files = ["../.ssh/*"]'), "is not a relative path below the workspace"),
        (('folders = [".pebble"]', 'certain = ["/etc/*"]'), "is not a relative path below the workspace"),
        (
            ('[marks]\nfolders = [".pebble"]', '[marks.json]\n"../../x.json" = ["x"]'),
            "is not a relative path below the workspace",
        ),
        (('name = "pebble"', 'name = "other"'), "contains another name: 'other'"),
        (('name = "pebble"', 'nome = "pebble"'), "unknown field `nome`"),
    ],
)
def test_a_captured_profile_that_reaches_elsewhere_is_refused(change: tuple[str, str], says: str) -> None:
    assert change[0] in PEBBLE
    with pytest.raises(ProfileInvalid, match=says):
        parse_carried_profile("pebble", PEBBLE.replace(*change))


def test_no_spelling_of_a_captured_profile_leads_out_of_the_home_of_the_user(tmp_path: Path) -> None:
    text = PEBBLE.replace('home = "~/.pebble"', 'home = "~//srv/mira"')
    adapter = FolderAdapter(parse_carried_profile("pebble", text))
    assert adapter.usual_workspace(tmp_path, "ada") == tmp_path / "srv/mira/data"


def test_a_name_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(ProfileInvalid, match="is not a relative path"):
        parse_profile(PEBBLE.replace("WHO.md", "WHO\\u0000.md"), "pebble.toml")


def test_the_files_of_the_user_are_never_files_around_a_workspace(tmp_path: Path) -> None:
    text = PEBBLE.replace('home_files = ["pebble.yaml"]', 'home_files = [".bashrc", "*"]')
    adapter = FolderAdapter(parse_profile(text, "pebble.toml"))
    write_files(tmp_path, {".bashrc": "x", "data/facts.md": "x"})
    installation = adapter.locate(tmp_path / "data", {}, tmp_path)
    assert [root.folder for root in adapter.roots(installation)] == [tmp_path / "data"]


@pytest.mark.parametrize("profile", ["broken", None])
def test_a_profile_that_cannot_be_used_stops_no_restore_of_another_agent(
    isolated_home: Path, profile: str | None
) -> None:
    file, _ = _protect(isolated_home)
    write_files(isolated_home / "notes", {"SOUL.md": "# Ada\n", "MEMORY.md": "# Memory\n\nThe boat is red.\n"})
    run("agents", "add", isolated_home / "notes", "--name", "ada")
    file.unlink()
    if profile is not None:
        file.write_text(profile)
    run("restore", "ada", "--to", isolated_home / "copy")
    assert (isolated_home / "copy/MEMORY.md").exists()
    inside = isolated_home / ".pebble/data/copy"
    assert run("restore", "ada", "--to", inside, expect=3)["error"]["code"] == "target_refused"


def test_a_restore_that_was_interrupted_is_completed_without_the_profile(isolated_home: Path) -> None:
    file, added = _protect(isolated_home)
    workspace = isolated_home / ".pebble/data"
    former = (workspace / "facts.md").read_text()
    write_files(workspace, {"facts.md": "Lost.\n", "WHO.md": "Nobody.\n"})
    context = Context.open()
    agent, options = find_agent(context, added["id"]), RestoreOptions(yes=True)
    assert killed_at(lambda: restore_agent(context, agent, options), CrashPoint.RESTORE_MOVED_IN)
    file.write_text("broken")
    (said,) = recover_restores(context)
    assert "is complete now" in said
    assert (workspace / "facts.md").read_text() == former
