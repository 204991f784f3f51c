"""`records undo`: the former text of one memory returns into the live file, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.testing.sample_installation import SampleInstallation, tree_of
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import RecordError, UnknownRecord
from lifeboat_core.home.context import Context
from lifeboat_core.memories import edit_records, memory_undo
from lifeboat_core.memories.file_memories import MemorySpan
from lifeboat_core.memories.memory_undo import MemoryUndoReport, undo_record
from lifeboat_core.memories.memory_undo_plan import CapturedNote, locate_in_live
from support.adapters.profile_installs import INSTALLS, REMEMBERED
from support.alf.raising import raises_code
from support.core.agent_edits import changed_memories, undo_each_edit
from support.core.busy_agent import FilesOfBusyAgent
from support.core.protected import MEMORY, Protected
from support.core.purged_here import purge
from support.core.zeroclaw_protected import ProtectedClaw

KEY = "sk-example-orchard-not-a-real-key"
CONFIG = f'{{ models: {{ providers: {{ orchard: {{ apiKey: "{KEY}" }} }} }} }}\n'
WHITE = MEMORY.replace("green", "white")


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    return made


def undo(ada: Any, record_id: str, at: str | None = None, **options: bool) -> MemoryUndoReport:
    return undo_record(ada.context, ada.agent, record_id, at, **options)


def id_of(ada: Any, words: str) -> str:
    return next(str(one["id"]) for text, one in ada.memories().items() if words in text)


@pytest.mark.parametrize("seed", range(2))
def test_each_of_fifty_edits_can_be_undone_byte_for_byte(tmp_path: Path, seed: int) -> None:
    assert undo_each_edit(tmp_path, seed, 25) >= 15


def test_an_undo_takes_a_safety_sequence_and_makes_a_sequence_that_says_what_it_is(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE, mode=0o640)
    ada.capture()
    report = undo(ada, id_of(ada, "white tea"))
    assert ada.read("MEMORY.md") == MEMORY
    assert (ada.workspace / "MEMORY.md").stat().st_mode & 0o777 == 0o640
    assert (report.safety, report.captured, report.plan.sequence) == (1, 2, 0)
    with ada.context.vault(ada.agent.id) as vault:
        assert [row.kind for row in vault.sequences()] == ["capture", "capture", "undo"]
        assert [pin.reason for pin in vault.sequence(1).pins] == ["safety"]


def test_an_undo_can_be_undone(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    undo(ada, id_of(ada, "white tea"))
    undo(ada, id_of(ada, "green tea"))
    assert ada.read("MEMORY.md") == WHITE


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    before = ada.tree()
    said = undo(ada, id_of(ada, "white tea"), dry_run=True).to_json()
    assert ada.tree() == before and len(ada.records()) == len(ada.records(1))
    assert (said["operation"], said["safety"], said["captured"]) == ("replace", None, None)
    assert "white tea" in said["before"] and "green tea" in said["after"]


def test_other_changes_since_the_last_capture_stay(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    memory = id_of(ada, "white tea")
    ada.write("MEMORY.md", WHITE.replace("red boat", "blue boat") + "\n## Lamp\n\nMended.\n")
    undo(ada, memory)
    assert ada.read("MEMORY.md") == MEMORY.replace("red boat", "blue boat") + "\n## Lamp\n\nMended.\n"


def test_a_memory_that_changed_since_the_last_capture_is_left_alone(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    memory = id_of(ada, "white tea")
    changed = WHITE.replace("white tea", "white tea and milk")
    ada.write("MEMORY.md", changed)
    with raises_code(RecordError.MEMORY_CHANGED) as failed:
        undo(ada, memory)
    assert ada.read("MEMORY.md") == changed
    assert failed.value.fix == f"lifeboat records show {ada.agent.name} {memory}"


def test_a_memory_that_was_removed_since_the_last_capture_is_left_alone(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    memory = id_of(ada, "white tea")
    (ada.workspace / "MEMORY.md").unlink()
    with raises_code(RecordError.MEMORY_CHANGED):
        undo(ada, memory)
    assert not (ada.workspace / "MEMORY.md").exists()


def test_a_file_that_changes_while_the_undo_runs_is_left_alone(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    capture = memory_undo.capture_for_safety

    def capture_and_write(context: Context, agent: Agent) -> int | None:
        number = capture(context, agent)
        ada.write("MEMORY.md", "# Other\n")
        return number

    monkeypatch.setattr(memory_undo, "capture_for_safety", capture_and_write)
    with raises_code(RecordError.MEMORY_CHANGED):
        undo(ada, id_of(ada, "white tea"))
    assert ada.read("MEMORY.md") == "# Other\n"


@pytest.mark.parametrize("operation", ["replace", "insert"])
def test_a_file_that_changes_while_its_new_version_is_written_is_left_alone(tmp_path: Path, operation: str) -> None:
    files = FilesOfBusyAgent()
    ada = Protected(tmp_path, files=files)
    ada.add()
    memory = id_of(ada, "green tea")
    if operation == "replace":
        ada.write("MEMORY.md", WHITE)
    else:
        (ada.workspace / "MEMORY.md").unlink()
    ada.capture()
    files.changed = ada.workspace / "MEMORY.md"
    with raises_code(RecordError.MEMORY_CHANGED):
        undo(ada, memory, "0")
    assert ada.read("MEMORY.md") == FilesOfBusyAgent.TEXT
    assert not list(ada.workspace.glob(".MEMORY.md.*"))


@pytest.mark.parametrize("link", ["MEMORY.md", "memory/tea.md", "memory"])
def test_no_link_is_followed(ada: Protected, tmp_path: Path, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = link if link.endswith(".md") else f"{link}/tea.md"
    ada.write(name, "## Tea\n\nGreen.\n")
    ada.capture()
    ada.write(name, "## Tea\n\nWhite.\n")
    ada.capture()
    capture, outside = memory_undo.capture_for_safety, tmp_path / "outside"

    def capture_and_link(context: Context, agent: Agent) -> int | None:
        number = capture(context, agent)
        (ada.workspace / link).rename(outside)
        (ada.workspace / link).symlink_to(outside)
        return number

    monkeypatch.setattr(memory_undo, "capture_for_safety", capture_and_link)
    with raises_code(RecordError.MEMORY_CHANGED):
        undo(ada, id_of(ada, "White."))
    target = outside if outside.is_file() else outside / "tea.md"
    assert target.read_text() == "## Tea\n\nWhite.\n"


def test_a_removed_file_is_written_again_with_its_mode(ada: Protected) -> None:
    ada.write("memory/deep/tea.md", "## Tea\n\nGreen.\n", mode=0o600)
    ada.capture()
    before = ada.tree()
    memory = id_of(ada, "Green.")
    (ada.workspace / "memory/deep/tea.md").unlink()
    (ada.workspace / "memory/deep").rmdir()
    ada.capture()
    report = undo(ada, memory)
    assert ada.tree() == before and report.plan.operation == "insert"
    assert (ada.workspace / "memory/deep/tea.md").stat().st_mode & 0o777 == 0o600


def test_a_new_file_is_removed_with_its_only_memory(ada: Protected) -> None:
    before = ada.tree()
    ada.write("memory-notes.txt", "kept\n")
    ada.write("memory/tea.md", "## Tea\n\nGreen.\n")
    ada.capture()
    undo(ada, id_of(ada, "Green."))
    assert not (ada.workspace / "memory/tea.md").exists()
    assert ada.tree().keys() - before.keys() == {"memory-notes.txt", "memory"}


def test_a_text_without_a_line_end_does_not_join_the_memory_behind_it(ada: Protected) -> None:
    before = "# Notes\n\n## Tea\n\nGreen."
    ada.write("MEMORY.md", before)
    ada.capture()
    tea = id_of(ada, "Green.")
    ada.write("MEMORY.md", "# Notes\n\n## Insurance\n\nOf the ship, paid in May.\n")
    ada.capture()
    undo(ada, tea)
    assert ada.read("MEMORY.md") == before + "\n## Insurance\n\nOf the ship, paid in May.\n"
    undo(ada, id_of(ada, "Insurance"))
    assert ada.read("MEMORY.md") == before


def test_a_text_that_would_swallow_another_memory_is_refused(ada: Protected) -> None:
    ada.write("MEMORY.md", "# Notes\n\n## Code\n\n```\nopen\n")
    ada.capture()
    ada.write("MEMORY.md", "# Notes\n\n## Code\n\nopen\n\n## Insurance\n\nOf the ship.\n")
    ada.capture()
    with raises_code(RecordError.NOT_IN_FILE, match="would join another memory"):
        undo(ada, id_of(ada, "## Code"))
    assert "Insurance" in ada.read("MEMORY.md")


def test_the_text_of_any_kept_sequence_can_return(ada: Protected) -> None:
    for colour in ("white", "black"):
        ada.write("MEMORY.md", MEMORY.replace("green", colour))
        ada.capture()
    undo(ada, id_of(ada, "black tea"), at="0")
    assert ada.read("MEMORY.md") == MEMORY
    with raises_code(RecordError.NO_EARLIER_TEXT):
        undo(ada, id_of(ada, "green tea"), at="0")


def test_a_memory_without_an_earlier_text_is_refused(ada: Protected) -> None:
    with raises_code(RecordError.NO_EARLIER_TEXT):
        undo(ada, id_of(ada, "green tea"))
    with raises_code(UnknownRecord):
        undo(ada, "nothing")


def test_a_forgotten_memory_names_the_command_that_shows_it_again(ada: Protected) -> None:
    memory = id_of(ada, "green tea")
    edit_records.forget_records(ada.context, ada.agent, [memory])
    with raises_code(RecordError.NO_EARLIER_TEXT) as failed:
        undo(ada, memory)
    assert failed.value.fix == f"lifeboat records restore {ada.agent.name} {memory}"


def test_a_purged_memory_never_returns(ada: Protected) -> None:
    memory = id_of(ada, "green tea")
    ada.write("MEMORY.md", MEMORY.replace("## Tea\n\nLikes green tea in the morning.\n\n", ""))
    ada.capture()
    purge(ada, memory)
    with raises_code(UnknownRecord.PURGED):
        undo(ada, memory)
    assert "green tea" not in ada.read("MEMORY.md")


def test_secrets_around_the_memory_stay_in_the_live_file(tmp_path: Path) -> None:
    ada = Protected(tmp_path, config=CONFIG)
    note = f"## Key\n\nIt is {KEY}.\n\n## Tea\n\nGreen.\n\n## Again\n\nStill {KEY}.\n"
    ada.write("MEMORY.md", note)
    ada.add()
    ada.write("MEMORY.md", note.replace("Green", "White"))
    ada.capture()
    assert KEY.encode() not in ada.body("raw/openclaw/MEMORY.md")
    undo(ada, id_of(ada, "White."))
    assert ada.read("MEMORY.md") == note


def test_a_secret_that_an_agent_wrote_into_a_memory_can_be_taken_out_but_not_put_back(tmp_path: Path) -> None:
    ada = Protected(tmp_path, config=CONFIG)
    ada.add()
    with_key = MEMORY.replace("green tea", f"green tea, key {KEY}")
    ada.write("MEMORY.md", with_key)
    ada.capture()
    undo(ada, id_of(ada, "credential:"))
    assert ada.read("MEMORY.md") == MEMORY
    with raises_code(RecordError.HOLDS_SECRET) as failed:
        undo(ada, id_of(ada, "green tea"))
    assert failed.value.fix == f"lifeboat restore {ada.agent.name} --at 1 --path MEMORY.md"
    assert ada.read("MEMORY.md") == MEMORY


def test_a_memory_in_a_database_is_refused_by_name(tmp_path: Path) -> None:
    claw = ProtectedClaw(tmp_path)
    claw.install.remember("tea", "Likes green tea", created_at="2026-11-10T08:00:00+00:00")
    claw.add()
    claw.install.execute("update memories set content = ? where key = ?", "Likes white tea", "tea")
    claw.capture()
    with raises_code(RecordError.NOT_IN_FILE, match="zeroclaw stores the memory") as failed:
        undo(claw, id_of(claw, "white tea"))
    assert failed.value.fix == f"lifeboat restore {claw.agent.name} --at 0 --dry-run"


# Other runtimes -----------------------------------------------------------------------------------------------------


class ProtectedSample:
    """A small installation of a runtime, protected."""

    def __init__(self, folder: Path, runtime: str) -> None:
        self.sample: SampleInstallation = INSTALLS[runtime](folder / "user")
        around = {**self.sample.environment, "LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user")}
        self.context = Context.open({**around, "PATH": "/usr/bin:/bin"})
        self.agent, _ = manage_agents.protect_workspace(self.context, self.sample.workspace, runtime=runtime)

    def capture(self) -> None:
        capture_agent(self.context, self.agent)

    def memories(self) -> dict[str, Any]:
        with self.context.vault(self.agent.id) as vault:
            return {one.record["content"]: one.record for one in visible_records(vault.state())}


@pytest.mark.parametrize("runtime", INSTALLS)
def test_a_new_memory_of_every_runtime_with_notes_is_taken_out_again(tmp_path: Path, runtime: str) -> None:
    made = ProtectedSample(tmp_path, runtime)
    before = tree_of(made.sample.workspace)
    name, form = REMEMBERED[runtime]
    file = made.sample.workspace / name
    is_new_file = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(form.format("Bought a brass lamp."))
    made.capture()
    undo(made, id_of(made, "brass lamp"))
    now = tree_of(made.sample.workspace)
    assert file.exists() is not is_new_file
    assert {path: data for path, data in now.items() if data is not None} == {
        path: data for path, data in before.items() if data is not None
    }


@pytest.mark.parametrize("runtime", INSTALLS)
def test_a_changed_memory_of_every_runtime_with_notes_gets_its_text_back(tmp_path: Path, runtime: str) -> None:
    made = ProtectedSample(tmp_path, runtime)
    file = made.sample.workspace / REMEMBERED[runtime][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(REMEMBERED[runtime][1].format("Bought a brass lamp."))
    made.capture()
    before = tree_of(made.sample.workspace)
    file.write_text(file.read_text().replace("brass", "silver"))
    made.capture()
    undo(made, id_of(made, "silver lamp"))
    assert tree_of(made.sample.workspace) == before


# Places of the live file -----------------------------------------------------------------------------------------


def _note(body: bytes, *credentials: str) -> CapturedNote:
    cuts = []
    for one in credentials:
        cuts.append({"offset": body.index(b"{{lifeboat:credential:" + one.encode()), "credential_id": one})
    return CapturedNote("raw/x/n.md", body, (MemorySpan("a", 0, len(body), ""),), tuple(cuts), {})


def test_a_place_behind_a_secret_moves_with_its_length() -> None:
    note = _note(b"key {{lifeboat:credential:c1}} end\ntea\n", "c1")
    start = note.body.index(b"tea")
    assert locate_in_live(note, b"key SECRET end\ntea\n", start, start + 4) == (15, 19)


@pytest.mark.parametrize("live", [b"key SECRET end\ncoffee\n", b"SECRET end\ntea\n", b"key  end\ntea", b""])
def test_another_version_of_the_live_file_has_no_place(live: bytes) -> None:
    note = _note(b"key {{lifeboat:credential:c1}} end\ntea\n", "c1")
    assert locate_in_live(note, live, 0, 4) is None


def test_a_place_that_could_be_another_one_is_not_used() -> None:
    note = _note(b"{{lifeboat:credential:c1}}-{{lifeboat:credential:c2}}\ntea\n", "c1", "c2")
    assert locate_in_live(note, b"one-two\ntea\n", len(note.body) - 4, len(note.body)) == (8, 12)
    assert locate_in_live(note, b"one-two-three\ntea\n", len(note.body) - 4, len(note.body)) is None


def test_the_helper_of_these_tests_lists_each_changed_memory_once(ada: Protected) -> None:
    ada.write("MEMORY.md", WHITE)
    ada.capture()
    assert changed_memories(ada) == [id_of(ada, "white tea")]
