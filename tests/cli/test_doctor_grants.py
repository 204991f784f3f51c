"""`lifeboat doctor` names a grant that cannot be used: it has expired, or the library is missing."""

from __future__ import annotations

import pytest

from lifeboat_cli.doctor import DoctorFinding, check_grants
from lifeboat_core.grants import agent_grant
from support.core.protected import Protected


def findings(ada: Protected) -> list[tuple[str, str | None]]:
    found: list[DoctorFinding] = list(check_grants.check(ada.context))
    return [(str(one.level), one.fix) for one in found]


def test_without_a_grant_nothing_is_checked(ada: Protected) -> None:
    assert findings(ada) == []


def test_a_grant_in_force_is_fine(ada: Protected) -> None:
    agent_grant.give_grant(ada.context, ada.agent)
    assert findings(ada) == [("ok", None)]


def test_an_expired_grant_is_named(ada: Protected) -> None:
    agent_grant.give_grant(ada.context, ada.agent, seconds=60)
    ada.clock.advance(minutes=2)
    assert findings(ada) == [("warning", "lifeboat agents grant ada")]


def test_a_missing_library_is_named_with_the_command_that_installs_it(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_grant.give_grant(ada.context, ada.agent)
    monkeypatch.setattr(check_grants, "LIBRARY", "no_such_library")
    ((level, fix),) = findings(ada)
    assert level == "warning" and fix is not None and "mcp" in fix
