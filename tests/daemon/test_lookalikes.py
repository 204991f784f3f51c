"""What merely looks like a secret: kept as it is, counted by status, named by the doctor, until it is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lifeboat_daemon.doctor import Finding, Level, lookalikes
from lifeboat_daemon.status import of_agent
from support.daemon.protected import MEMORY, Protected

TOKEN = "ghp_000000000000000000000000000000000000"
NOTE = "raw/openclaw/memory/note.md"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    protected = Protected(tmp_path)
    protected.write("MEMORY.md", MEMORY)
    protected.add()
    protected.capture()
    return protected


@pytest.fixture
def noted(ada: Protected) -> Protected:
    ada.write("memory/note.md", f"# Note\n\nOnce it was {TOKEN} there.\n")
    ada.capture()
    return ada


def _named(protected: Protected) -> list[Finding]:
    return [found for found in lookalikes.check(protected.context) if found.level is Level.WARNING]


def _count(protected: Protected) -> int:
    return of_agent(protected.context, protected.agent, protected.context.keys().status()).lookalikes


def test_the_doctor_names_file_line_and_kind_and_what_to_do(noted: Protected) -> None:
    (found,) = _named(noted)
    assert "memory/note.md" in found.result
    assert "github_token (line 3)" in found.result
    assert found.fix is not None
    assert "revoke" in found.fix


def test_nobody_repeats_what_looks_like_a_secret(noted: Protected) -> None:
    seen = of_agent(noted.context, noted.agent, noted.context.keys().status())
    said = json.dumps(seen.to_json()) + "".join(f"{found.result}{found.fix}" for found in _named(noted))
    assert TOKEN[:8] not in said


def test_status_counts_the_places_and_stays_calm(noted: Protected) -> None:
    seen = of_agent(noted.context, noted.agent, noted.context.keys().status())
    assert (seen.lookalikes, seen.state) == (1, "ok")
    assert any("lifeboat doctor" in reason for reason in seen.reasons)


def test_it_is_still_named_after_a_capture_that_read_other_files_only(noted: Protected) -> None:
    noted.write("memory/other.md", "# Other\n\nNothing here.\n")
    noted.capture()
    assert len(_named(noted)) == 1


def test_a_file_that_says_the_same_is_not_named_by_every_sync(noted: Protected) -> None:
    assert noted.capture().looks_like_secret == {}
    assert len(_named(noted)) == 1


def test_it_is_found_again_when_the_caches_are_lost(noted: Protected) -> None:
    noted.context.home.state_file(noted.agent.id).unlink()
    noted.capture()
    assert len(_named(noted)) == 1


def test_it_is_named_no_more_when_the_file_changed(noted: Protected) -> None:
    noted.write("memory/note.md", "# Note\n\nOnce it was here.\n")
    noted.capture()
    assert (_named(noted), _count(noted)) == ([], 0)


def test_it_is_named_no_more_when_the_file_went(noted: Protected) -> None:
    (noted.workspace / "memory/note.md").unlink()
    noted.capture()
    assert _named(noted) == []


def test_it_is_named_no_more_when_the_line_says_that_it_is_none(noted: Protected) -> None:
    noted.write("memory/note.md", f"# Note\n\nOnce it was {TOKEN} there. <!-- lifeboat:allow -->\n")
    noted.capture()
    assert _named(noted) == []


def test_what_is_known_and_cut_is_no_lookalike(noted: Protected) -> None:
    noted.write(".env", f"GITHUB_TOKEN={TOKEN}\n")
    noted.capture()
    assert TOKEN.encode() not in noted.body(NOTE)
    assert _named(noted) == []


def test_text_artifacts_are_looked_at_and_others_are_not(ada: Protected) -> None:
    ada.write("scripts/deploy.sh", f"#!/bin/sh\nexport X={TOKEN}\n")
    (ada.workspace / "picture.bin").write_bytes(b"\0\1" + TOKEN.encode())
    ada.capture()
    assert [found.result.partition(" ")[0] for found in _named(ada)] == ["scripts/deploy.sh"]
