"""The doctor on remotes: invalid files, tokens that others can read, and what the vaults know of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_permissions as permissions
from lifeboat_cli.doctor import check_remotes as remotes
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from support.core.protected import Protected

HOME = RemoteConfig("home", "https://boat.example.com", id="0a")


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    remote_registry.save_remote(made.context, HOME)
    remote_registry.save_token(made.context, "home", "lb_abcdefgh_secret")
    return made


def note(ada: Protected, **facts: Any) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, HOME.id, name=HOME.name, **facts)


def only(context: Context) -> DoctorFinding:
    (found,) = remotes.check(context)
    return found


def test_without_second_copies_there_is_nothing_to_say(tmp_path: Path) -> None:
    made = Protected(tmp_path)
    made.add()
    assert list(remotes.check(made.context)) == []


def test_a_file_that_cannot_be_used_is_named(ada: Protected) -> None:
    remote_registry.locate_remote_file(ada.context, "home").write_text("url =")
    found = only(ada.context)
    assert found.level is DoctorLevel.ERROR and found.subject == "home" and "home.toml" in found.result


def test_a_token_that_others_can_read_is_named(ada: Protected) -> None:
    path = remote_registry.locate_token_file(ada.context, "home")
    path.chmod(0o644)
    found = next(one for one in permissions.check(ada.context) if one.subject == str(path))
    assert found.level is DoctorLevel.ERROR and found.fix is not None and found.fix.startswith("chmod 600")


def test_a_token_that_is_not_there_is_named(ada: Protected) -> None:
    remote_registry.save_token(ada.context, "home", None)
    first, *_ = remotes.check(ada.context)
    assert first.level is DoctorLevel.ERROR and first.fix == "lifeboat remote token home --token-stdin"


def test_an_agent_that_was_never_sent_is_named(ada: Protected) -> None:
    found = only(ada.context)
    assert found.level is DoctorLevel.WARNING and found.fix is not None and found.fix.startswith("lifeboat sync")


@pytest.mark.parametrize(
    ("facts", "level", "fix"),
    [
        ({"state": "fenced", "message": "the agent moved to laptop-2"}, DoctorLevel.ERROR, "lifeboat agents adopt"),
        ({"state": "held", "message": "a removal waits"}, DoctorLevel.WARNING, "lifeboat agents accept"),
        ({"state": "error", "message": "token is missing"}, DoctorLevel.ERROR, "lifeboat doctor --remote home"),
        ({"state": "error", "code": "remote_denied"}, DoctorLevel.ERROR, "lifeboat remote token home"),
        ({"state": "error", "code": "remote_forgot"}, DoctorLevel.ERROR, "lifeboat remote remove home"),
        ({"state": "waiting", "tries": 9}, DoctorLevel.WARNING, "lifeboat doctor --remote home"),
        ({"state": "waiting", "tries": 1}, DoctorLevel.OK, None),
        ({"state": "ok", "number": 0}, DoctorLevel.OK, None),
    ],
)
def test_what_the_last_try_came_to_is_told(
    ada: Protected, facts: dict[str, Any], level: DoctorLevel, fix: str | None
) -> None:
    note(ada, **facts)
    found = only(ada.context)
    assert found.level is level and (found.fix or "").startswith(fix or "")


def test_an_optional_one_that_is_away_worries_nobody(ada: Protected) -> None:
    remote_registry.save_remote(ada.context, RemoteConfig("home", HOME.url, id=HOME.id, optional=True))
    note(ada, state="waiting", tries=90)
    assert only(ada.context).level is DoctorLevel.OK


def test_how_long_ago_it_was_read_back_is_told(ada: Protected) -> None:
    note(ada, state="ok", number=0, verified_number=0, verified_at=ada.context.now())
    ada.clock.advance(hours=5)
    assert only(ada.context).result == "the data on this remote was verified up to sequence 0, 5 hours ago"
