"""Lookalikes of secrets are captured unchanged, counted by `status`, and named by `doctor` until they are gone."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import sqlite3
from pathlib import Path
from random import Random

import pytest

from lifeboat_adapters.secrets import secret_patterns
from lifeboat_adapters.secrets.secret_patterns import ALLOW
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_lookalikes as lookalikes
from lifeboat_core.capture import secret_cutter
from lifeboat_core.capture import secret_lookalikes as looking
from lifeboat_core.capture.secret_lookalikes import LookalikePlace
from lifeboat_core.health.status_gathering import gather_agent_status
from support.core.protected import MEMORY, Protected
from support.disguises import in_a_database

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


def _named(protected: Protected) -> list[DoctorFinding]:
    return [found for found in lookalikes.check(protected.context) if found.level is DoctorLevel.WARNING]


def _count(protected: Protected) -> int:
    return gather_agent_status(protected.context, protected.agent, protected.context.keys().status()).lookalikes


def test_the_doctor_names_file_line_and_kind_and_what_to_do(noted: Protected) -> None:
    (found,) = _named(noted)
    assert "memory/note.md" in found.result
    assert "github_token (line 3)" in found.result
    assert "revoke the secret at the service that issued it" in found.result
    assert found.fix == f"lifeboat agents cut {noted.agent.name} memory/note.md"


def test_nobody_repeats_what_looks_like_a_secret(noted: Protected) -> None:
    seen = gather_agent_status(noted.context, noted.agent, noted.context.keys().status())
    said = json.dumps(seen.to_json()) + "".join(f"{found.result}{found.fix}" for found in _named(noted))
    assert TOKEN[:8] not in said


def test_status_counts_the_places_and_stays_calm(noted: Protected) -> None:
    seen = gather_agent_status(noted.context, noted.agent, noted.context.keys().status())
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


def test_tokens_are_looked_for_in_text_artifacts_and_in_others(ada: Protected) -> None:
    ada.write("scripts/deploy.sh", f"#!/bin/sh\nexport X={TOKEN}\n")
    (ada.workspace / "picture.bin").write_bytes(b"\0\1" + TOKEN.encode())
    ada.capture()
    assert [found.result.partition(" ")[0] for found in _named(ada)] == ["picture.bin", "scripts/deploy.sh"]


def test_a_token_in_a_row_in_utf16_and_in_base64_is_named(ada: Protected, tmp_path: Path) -> None:
    in_a_database(f"the token is {TOKEN}".encode(), tmp_path / "made.db")
    ada.write("notes/skill.db", (tmp_path / "made.db").read_bytes())
    ada.write("notes/wide.txt", f"a\nthe token is {TOKEN}\n".encode("utf-16"))
    ada.write("notes/mail.txt", base64.encodebytes(f"{'words ' * 20}{TOKEN}\n".encode()))
    found = ada.capture().looks_like_secret
    assert set(found) == {"artifacts/notes/skill.db", "artifacts/notes/wide.txt", "artifacts/notes/mail.txt"}
    assert all("github_token" in said for said in found.values())


def test_what_is_not_looked_into_is_counted_and_named(ada: Protected) -> None:
    ada.write(".env", f"KEY={TOKEN}\n")
    ada.write("notes/a.png", b"\x89PNG\r\n\x1a\n" + bytes(60))
    ada.write("notes/a.zip", b"PK\x03\x04\x14\0\x09\0\x08\0" + bytes(16) + b"\x05\0\0\0a.txt" + bytes(40))
    ada.capture()
    seen = gather_agent_status(ada.context, ada.agent, ada.context.keys().status())
    assert seen.not_looked_into == 2
    assert "2 files not searched for secrets; to list them: lifeboat doctor" in seen.reasons
    said = [found.result for found in lookalikes.check(ada.context)]
    assert any("a.png was not searched for secrets: a picture" in each for each in said)
    assert any("a.zip was not searched for secrets: encrypted data" in each for each in said)
    (ada.workspace / "notes/a.png").unlink()
    ada.write("notes/a.zip", b"nothing")
    ada.capture()
    assert gather_agent_status(ada.context, ada.agent, ada.context.keys().status()).not_looked_into == 0


def test_a_search_index_with_words_of_a_known_secret_is_named(ada: Protected, tmp_path: Path) -> None:
    known = "sk-orchard_9f8e7d6c5b4a39281706f5e4d3c2b1a0"
    with contextlib.closing(sqlite3.connect(tmp_path / "made.db", isolation_level=None)) as opened:
        opened.execute("create virtual table notes using fts5(said)")
        opened.execute("insert into notes values (?)", (f"the key is {known}",))
    ada.write(".env", f"ORCHARD_KEY={known}\n")
    ada.write("notes/skill.db", (tmp_path / "made.db").read_bytes())
    ada.capture()
    assert known.encode() not in ada.body("artifacts/notes/skill.db")
    said = [found.result for found in lookalikes.check(ada.context)]
    assert any("skill.db was not searched for secrets: a database with a search index" in each for each in said)


def test_a_large_compressed_part_with_a_known_secret_is_named(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_cutter, "LARGEST_CUT", 100)
    ada.write(".env", f"KEY={TOKEN}\n")
    ada.write("notes/a.gz", gzip.compress(Random(1).randbytes(200) + TOKEN.encode()))
    ada.capture()
    said = [found.result for found in lookalikes.check(ada.context)]
    assert any("a.gz was not searched for secrets: compressed data with a known secret" in each for each in said)


def test_places_of_many_tokens_are_found_in_one_pass() -> None:
    tokens = " ".join(f"ghp_{number:036}" for number in range(2000)).encode()
    looked_at = 0

    class Counted(bytes):
        def __contains__(self, part: object) -> bool:
            nonlocal looked_at
            looked_at += 1
            return super().__contains__(part)  # type: ignore[operator]

    found = looking.find_lookalike_places(tokens, Counted(tokens))
    assert found == [LookalikePlace(1, "github_token")] and looked_at == 1


def test_some_bytes_are_searched_once_for_the_mark_of_what_is_allowed() -> None:
    searched = 0

    class Counted(bytes):
        def __contains__(self, part: object) -> bool:
            nonlocal searched
            searched += part == ALLOW
            return super().__contains__(part)  # type: ignore[operator]

    assert len(secret_patterns.find_tokens(Counted(b"\n".join(b"ghp_%036d" % number for number in range(50))))) == 50
    assert searched == 1
