"""The doctor on memories in databases, and on files that a runtime left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Installation, UnusedDataOffer
from lifeboat_adapters.zeroclaw.adapter import ZeroClaw
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_left_behind as left_behind
from lifeboat_cli.doctor import check_memories as memories
from lifeboat_core.testing.runtime_harness import Harness
from support.adapters.notebook_installs import make_notebook
from support.adapters.notebook_runtime import FACTS, Notebook, NotebookDatabases
from support.adapters.zeroclaw_made import make_zeroclaw


class LeavingDatabases(NotebookDatabases):
    def offers(self, installation: Installation) -> Iterator[UnusedDataOffer]:
        return iter(
            [UnusedDataOffer("2 jobs in jobs.db: an upgrade left them there", "lifeboat restore AGENT --with-cron")]
        )


class Leaving(Notebook):
    databases = LeavingDatabases()


@pytest.fixture
def ada(tmp_path: Path) -> Harness:
    return Harness.begin(Notebook(), make_notebook(tmp_path), tmp_path / "home")


def one(found: Iterator[DoctorFinding]) -> DoctorFinding:
    (only,) = found
    return only


def test_what_was_left_behind_is_offered_with_the_name_of_the_agent(tmp_path: Path) -> None:
    ada = Harness.begin(Leaving(), make_notebook(tmp_path), tmp_path / "home")
    found = one(left_behind.check(ada.context))
    assert (found.level, found.fix) == (DoctorLevel.WARNING, "lifeboat restore Ada --with-cron")


def test_nothing_left_behind_is_well(ada: Harness) -> None:
    assert one(left_behind.check(ada.context)).level is DoctorLevel.OK


def test_memories_that_can_be_read_are_well(ada: Harness) -> None:
    found = one(memories.check(ada.context))
    assert (found.level, found.result) == (
        DoctorLevel.OK,
        "the runtime stores the memories of the agent in rows of the database facts.db",
    )


def test_a_database_that_was_never_made_is_no_warning(ada: Harness) -> None:
    (ada.made.workspace.parent / FACTS).unlink()
    assert one(memories.check(ada.context)).level is DoctorLevel.OK


@pytest.mark.parametrize("bytes_", [b"", b"no database"])
def test_a_database_that_cannot_be_read_is_a_warning(tmp_path: Path, bytes_: bytes) -> None:
    made = make_zeroclaw(tmp_path, "0.8.3")
    claw = Harness.begin(ZeroClaw(), made, tmp_path / "home")
    (tmp_path / ".zeroclaw" / "data" / "memory" / "brain.db").write_bytes(bytes_)
    found = one(memories.check(claw.context))
    assert found.level is DoctorLevel.WARNING and "brain.db" in found.result


def test_memories_behind_a_server_that_may_not_be_asked_are_a_warning(tmp_path: Path) -> None:
    made = make_zeroclaw(tmp_path, "0.8.3")
    claw = Harness.begin(ZeroClaw(), made, tmp_path / "home")
    config = tmp_path / ".zeroclaw" / "config.toml"
    config.write_text(config.read_text().replace("sqlite.default", "postgres.default"))
    found = one(memories.check(claw.context))
    assert (found.level, found.fix) == (DoctorLevel.WARNING, "lifeboat config set remote_memory true")
