"""Random edits as agents make them to their notes, one memory at a time, and the undo of each."""

from __future__ import annotations

import random
import re
from pathlib import Path

from lifeboat_core.capture.capture_report import CAPTURED
from lifeboat_core.memories.memory_undo import undo_record
from support.core.protected import Protected

NOTES = ("MEMORY.md", "USER.md", "memory/preferences.md", "memory/2026-11-10.md", "memory/2025-03-04.md")
_WORDS = ("tea", "boat", "lamp", "harbour", "ink", "plotter", "snow", "morning", "insurance", "café", "Grüße", "日本")
_SECTION = re.compile(r"(?m)^(?=## )")


class AgentEdits:
    """Edits the notes of a workspace. Each edit is one of those that a user takes back: a section is added, changed,
    rewritten or removed, or a note is created or removed."""

    def __init__(self, ada: Protected, seed: int) -> None:
        self._ada, self._chance, self._count = ada, random.Random(seed), 0
        for name in NOTES:
            ada.write(name, "# Notes\n\n" + "".join(self._section() for _ in range(4)))

    def edit(self) -> str:
        """Make one edit and return what it was."""
        kind = self._chance.choice(
            ("append", "insert", "remove", "word", "line", "heading", "rewrite", "end", "create", "drop")
        )
        # A changed blank line in a finished quarter is no change of a memory.
        path = self._chance.choice(NOTES[:4] if kind == "end" else NOTES)
        file = self._ada.workspace / path
        if kind == "create" or not file.exists():
            path = self._chance.choice((path, f"memory/note-{self._number()}.md")) if not file.exists() else path
            path = path if not (self._ada.workspace / path).exists() else f"memory/note-{self._number()}.md"
            self._ada.write(path, self._section())
        elif kind == "drop":
            self._drop_a_created_note()
        else:
            self._change(file, path, kind)
        return f"{kind} in {path}"

    def _drop_a_created_note(self) -> None:
        """Remove a note that has one memory."""
        created = sorted((self._ada.workspace / "memory").glob("note-*.md"))
        if created:
            self._chance.choice(created).unlink()

    def _change(self, file: Path, path: str, kind: str) -> None:
        head, *sections = _SECTION.split(file.read_bytes().decode())
        at = self._chance.randrange(len(sections)) if sections else 0
        if kind in ("append", "insert") or not sections:
            place = len(sections) if kind == "append" else at
            sections.insert(place, self._section())
        elif kind == "remove":
            del sections[at]
        elif kind == "rewrite":
            sections[at] = self._section()
        elif kind == "end":
            sections[-1] = sections[-1].rstrip("\n") if sections[-1].endswith("\n") else sections[-1] + "\n"
        else:
            sections[at] = self._reworded(sections[at], kind)
        self._ada.write(path, (head + "".join(sections)).encode(), mode=self._chance.choice((0o644, 0o600)))

    def _reworded(self, section: str, kind: str) -> str:
        first, *lines = section.split("\n")
        if kind == "heading":
            return "\n".join([f"## {self._phrase(2)}", *lines])
        at = self._chance.randint(1, max(1, len(lines) - 1))
        new = [f"- {self._phrase(4)}"] if kind == "line" else [f"{self._phrase(5)}\r"]
        lines[at : at + (kind == "word")] = new
        return "\n".join([first, *lines])

    def _section(self) -> str:
        body = "".join(f"{self._phrase(6)}.\n" for _ in range(self._chance.randint(1, 4)))
        return f"## {self._phrase(2)}\n\n{body}{self._chance.choice(('', chr(10)))}"

    def _phrase(self, length: int) -> str:
        return " ".join([*self._chance.choices(_WORDS, k=length), str(self._number())])

    def _number(self) -> int:
        self._count += 1
        return self._count


def undo_each_edit(folder: Path, seed: int, edits: int) -> int:
    """Make edits one after the other. Undo each memory that an edit changed, and check that every file is byte for byte
    what it was. Return how many memories were undone."""
    ada = Protected(folder)
    agent = AgentEdits(ada, seed)
    ada.add()
    undone = 0
    for number in range(edits):
        before = ada.tree()
        kind = agent.edit()
        after = {path: (ada.workspace / path).read_bytes() for path, item in ada.tree().items() if item[0] == "file"}
        removed = before.keys() - ada.tree().keys()
        changed = changed_memories(ada) if ada.capture().outcome == CAPTURED else []
        for record_id in changed:
            if ada.tree() != before:  # an undo takes blank lines back that belong to the memory before
                undo_record(ada.context, ada.agent, record_id)
                undone += 1
        assert ada.tree() == before, f"seed {seed}, edit {number}: {kind}"
        if number % 2:
            continue
        for path, data in after.items():  # the agent makes the edit again, so that the notes change over time
            if ada.tree().get(path, (None, None))[1] != data:
                ada.write(path, data)
        for path in removed:
            (ada.workspace / path).unlink(missing_ok=True)
        ada.capture()
    return undone


def changed_memories(ada: Protected) -> list[str]:
    """Return the ids of the memories that the newest sequence changed, one id for each chain."""
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
        assert head is not None and head.base is not None
        lines = [change.record for change in vault.changes(head.base, head.number).records]
    superseded = {record["supersedes"] for record in ada.records() if record.get("supersedes")}
    return [record.id for record in lines if record.id not in superseded]
