"""`lifeboat endpoint purges`: waiting purges, and the decision of the endpoint's owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_cli import program
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.errors import AgentErased
from lifeboat_vault.remote.checks.remote_trial import NAME, TrialMachine
from support.cli.cli_client import run
from support.endpoint.endpoint_purges import erasing, machine_in, pushed, record_of, redaction_of


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(tmp_path / "data"))
    run("endpoint", "tenant", "add", "home")
    return tmp_path / "data"


@pytest.fixture
def machine(data: Path, tmp_path: Path) -> TrialMachine:
    with Endpoint.open(data) as endpoint:
        return pushed(endpoint.space(endpoint.control.tenant("home").id), machine_in(tmp_path))


def sent(data: Path, machine: TrialMachine, redaction: Redaction) -> str:
    """Send a purge that waits, and return its id."""
    with Endpoint.open(data) as endpoint:
        space = endpoint.space(endpoint.control.tenant("home").id)
        assert space.redact(machine.agent_id, redaction.to_json()).receipt is None
    return redaction.id


def listed() -> list[JsonObject]:
    found: list[JsonObject] = run("endpoint", "purges", "list")["purges"]
    return found


def test_what_waits_is_listed_in_ids_and_counts(data: Path, machine: TrialMachine) -> None:
    redaction = redaction_of(machine, record_of(machine, 1))
    sent(data, machine, redaction)
    [found] = listed()
    assert found.pop("applies_at") > found.pop("requested_at")
    assert found == {
        "id": redaction.id,
        "tenant": "home",
        "agent": machine.agent_id,
        "name": NAME,
        "scope": "record_purge",
        "records": 1,
        "leaves": 1,
        "reason": "user_request",
    }


def test_a_confirmed_purge_is_applied_and_its_receipt_shown(data: Path, machine: TrialMachine) -> None:
    purge = sent(data, machine, redaction_of(machine, record_of(machine, 1)))
    found = run("endpoint", "purges", "confirm", purge)
    assert (found["applied"], found["receipt"]["objects"], found["receipt"]["remaining"]) == (True, 1, 0)
    assert listed() == []


def test_a_refused_purge_waits_no_more(data: Path, machine: TrialMachine) -> None:
    purge = sent(data, machine, redaction_of(machine, record_of(machine, 1)))
    assert run("endpoint", "purges", "refuse", purge) == {"id": purge, "refused": True}
    assert listed() == []


def test_a_whole_agent_goes_with_consent_only(data: Path, machine: TrialMachine) -> None:
    purge = sent(data, machine, erasing(machine))
    assert run("endpoint", "purges", "confirm", purge, expect=3)["error"]["code"] == "consent_needed"
    run("endpoint", "purges", "confirm", purge, "--yes")
    with Endpoint.open(data) as endpoint, pytest.raises(AgentErased):
        endpoint.space(endpoint.control.tenant("home").id).agent(machine.agent_id)


def test_what_waits_nowhere_is_not_there(data: Path) -> None:
    unknown = "0198c0de-0000-7000-8000-000000000001"
    assert run("endpoint", "purges", "confirm", unknown, expect=1)["error"]["code"] == "unknown_there"


def test_people_are_told_what_waits_and_why(
    data: Path, machine: TrialMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run_command(["endpoint", "purges", "list"]) == 0
    sent(data, machine, redaction_of(machine, record_of(machine, 1)))
    assert program.run_command(["endpoint", "purges", "list"]) == 0
    told = capsys.readouterr().out
    assert "No purge is waiting." in told and "1 memory" in told and "user_request" in told
