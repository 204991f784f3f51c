from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.openclaw import ADAPTER
from lifeboat_adapters.openclaw.restore import openclaw_next_steps
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import openclaw_workspaces as workspaces

DB = "raw/openclaw-home/db/"
PROGRAM = Path("/invented/bin/openclaw")


def test_this_machine_is_asked_by_default() -> None:
    needs = {"portability": "host_dependent", "host_requirements": "no-such-program-anywhere"}
    absent = {"structured": {"capabilities": [{"name": "thing", **needs}]}}
    assert ADAPTER.placement.missing_on_host({}) == []
    assert ADAPTER.placement.missing_on_host(absent) != []


def bare(tmp_path: Path) -> Installation:
    return Installation("openclaw", tmp_path / "ws", "main", "Ada")


def with_rows(*, jobs: tuple[Any, ...] = workspaces.JOBS, heartbeat: bool = True) -> MemoryState:
    state = MemoryState()
    rows = [{"job_id": job["id"], "name": job["name"], "job_json": json.dumps(job), "enabled": 1} for job in jobs]
    if heartbeat:
        rows.append({"job_id": "job-heartbeat", "name": "Heartbeat", "payload_kind": "heartbeat", "job_json": "{}"})
        scratch = {"job_id": "job-heartbeat", "content": "- look\n"}
        state.put(DB + "state/cron_job_scratch.jsonl", json.dumps(scratch).encode() + b"\n")
    state.put(DB + "state/cron_jobs.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    intents = [{"id": "i-1", "description": "Ask", "trigger_keywords": '["a","b"]', "status": "armed"}]
    intents.append({"id": "i-2", "description": "Done", "trigger_keywords": "[]", "status": "done"})
    return state.put(DB + "agent/standing_intents.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in intents))


def commands(steps: list[NextStep]) -> list[str]:
    return [" ".join(step.command) for step in steps]


def test_a_workspace_alone_is_registered_without_touching_its_identity(tmp_path: Path) -> None:
    register, reindex = ADAPTER.placement.next_steps(bare(tmp_path), MemoryState())
    assert register.command[:4] == ("openclaw", "config", "set", "agents.entries.main")
    assert json.loads(register.command[4]) == {"workspace": str(tmp_path / "ws")}
    assert register.command[5:] == ("--strict-json", "--expect-current-absent")
    assert reindex.command == ("openclaw", "memory", "index", "--force", "--agent", "main")
    assert not register.automatic and not reindex.automatic


def test_the_re_index_runs_by_itself_where_the_program_and_the_installation_are(tmp_path: Path) -> None:
    installed = Installation("openclaw", tmp_path, "rover", "R", state_dir=tmp_path / "state", program=PROGRAM)
    (reindex,) = ADAPTER.placement.next_steps(installed, MemoryState())
    assert reindex.automatic
    assert reindex.command[0] == str(PROGRAM)
    assert reindex.environment == {"OPENCLAW_STATE_DIR": str(tmp_path / "state")}


def test_jobs_intentions_and_the_heartbeat_come_back_by_commands_that_are_only_listed(tmp_path: Path) -> None:
    steps = ADAPTER.placement.next_steps(bare(tmp_path), with_rows())
    assert commands(steps)[2:4] == [
        "openclaw cron add --agent main --name Tide table --cron 0 18 * * 0 --tz Europe/Stockholm --session isolated"
        " --message Send the tide table to Mira. --declaration-key lifeboat:job-tides",
        "openclaw cron add --agent main --name Source check --cron 0 6 * * 1 --tz Europe/Stockholm --session isolated"
        " --message Check the sources of last week. --declaration-key lifeboat:job-sources",
    ]
    assert steps[4].command[-1].endswith("- look\n")
    assert steps[5].command[-1] == "Create a standing intent: Ask\nTrigger keywords: a, b"
    assert len(steps) == 6
    assert not any(step.automatic for step in steps)


def test_what_the_installation_has_is_not_listed_again(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    installed = ADAPTER.locate(made.workspace, {}, tmp_path)
    jobs = (*workspaces.JOBS[:1], workspaces.cron_job("job-new", "main", "New", "0 1 * * *", "Work."))
    steps = ADAPTER.placement.next_steps(installed, with_rows(jobs=jobs))
    assert [step.title for step in steps] == [
        "Rebuild OpenClaw's search index",
        "Schedule the job New",
        "Restore the standing intent: Ask",
    ]


OF_OPENCLAW = (
    {"declaration_key": "heartbeat:main", "payload_kind": "heartbeat"},
    {"declaration_key": "skill-collection-review:main"},
    {"declaration_key": "memory-core:memory-dreaming-promotion", "description": "[managed-by=memory-core] Promote"},
    {"description": "[managed-by=another-plugin] Tidy up"},
)


@pytest.mark.parametrize("row", OF_OPENCLAW)
def test_jobs_that_openclaw_makes_itself_are_not_offered(tmp_path: Path, row: dict[str, Any]) -> None:
    own = workspaces.cron_job("job-x", "main", "Of the program", "0 3 * * *", "Work.")
    state = MemoryState()
    found = {"job_id": "job-x", "name": "Of the program", "job_json": json.dumps(own), "enabled": 1, **row}
    state.put(DB + "state/cron_jobs.jsonl", json.dumps(found).encode() + b"\n")
    assert [step.title for step in ADAPTER.placement.next_steps(bare(tmp_path), state)][2:] == []


def test_a_job_that_was_scheduled_again_is_not_listed_again(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    with closing(sqlite3.connect(made.state_database)) as connection, connection:
        connection.execute(
            "UPDATE cron_jobs SET job_id = 'other', declaration_key = 'lifeboat:job-tides' WHERE job_id = 'job-tides'"
        )
    steps = ADAPTER.placement.next_steps(
        ADAPTER.locate(made.workspace, {}, tmp_path), with_rows(jobs=workspaces.JOBS[:1])
    )
    assert "Schedule the job Tide table" not in [step.title for step in steps]


def test_scheduling_waits_for_the_gateway_and_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gateway:
        port = gateway.getsockname()[1]
        (tmp_path / "openclaw.json").write_text(json.dumps({"gateway": {"mode": "local", "port": port}}))
        installed = Installation(
            "openclaw", tmp_path / "ws", "main", "Ada", state_dir=tmp_path, config=tmp_path / "openclaw.json"
        )
        assert {step.waits for step in ADAPTER.placement.next_steps(installed, with_rows())} == {""}
    waiting = {
        step.title
        for step in ADAPTER.placement.next_steps(installed, with_rows())
        if "openclaw gateway run" in step.waits
    }
    assert waiting == {"Schedule the job Tide table", "Schedule the job Source check"}


def test_a_database_that_cannot_be_read_makes_no_command_disappear(tmp_path: Path) -> None:
    made = workspaces.make_state_dir(tmp_path / ".openclaw")
    made.state_database.write_bytes(b"damaged" * 1000)
    steps = ADAPTER.placement.next_steps(ADAPTER.locate(made.workspace, {}, tmp_path), with_rows())
    assert "Schedule the job Tide table" in [step.title for step in steps]


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ({"kind": "every", "everyMs": 1_800_000}, ["--every", "30m"]),
        ({"kind": "every", "everyMs": 90_000}, ["--every", "90s"]),
        ({"kind": "at", "at": "2026-12-01T08:00:00Z"}, ["--at", "2026-12-01T08:00:00Z"]),
        ({"kind": "at", "atMs": 1_796_112_000_000}, ["--at", "2026-12-01T08:00:00Z"]),
    ],
)
def test_every_kind_of_schedule_is_spelled_as_options(schedule: dict[str, Any], words: list[str]) -> None:
    job = {"schedule": schedule, "sessionTarget": "main", "payload": {"kind": "systemEvent", "text": "tick"}}
    found = openclaw_next_steps.cron_words({"job_id": "j", "job_json": json.dumps(job), "enabled": 0}, "main")
    expected = ["--agent", "main", "--name", "j", *words, "--session", "main", "--system-event", "tick", "--disabled"]
    assert found == [*expected, "--declaration-key", "lifeboat:j"]


def test_delivery_and_a_key_of_its_own_are_kept() -> None:
    job = {
        "schedule": {"expr": "0 1 * * *"},
        "payload": {"message": "go", "model": "example/small"},
        "delivery": {"mode": "announce", "channel": "telegram", "to": "1"},
    }
    words = openclaw_next_steps.cron_words(
        {"job_id": "j", "job_json": json.dumps(job), "declaration_key": "own"}, "main"
    )
    assert words[6:] == [
        *("--session", "isolated", "--message", "go", "--model", "example/small"),
        *("--announce", "--channel", "telegram", "--to", "1", "--declaration-key", "own"),
    ]


@pytest.mark.parametrize("job_json", ["{", "[]", "{}", None, '{"schedule": {"expr": "* * * * *"}}'])
def test_a_job_that_options_cannot_express_is_left_out(job_json: str | None) -> None:
    assert openclaw_next_steps.cron_words({"job_id": "j", "job_json": job_json}, "main") == []
