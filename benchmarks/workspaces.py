"""Deterministic OpenClaw workspaces of a given size: the same arguments give the same bytes and file times.

many_files(folder)      2,000 files, about 20 MB: notes, daily logs, skills, scripts, tables

many_records(folder)    50,000 memories in about 2,000 files
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks import prose

LAST_DAY = date(2026, 6, 30)
SEED = 20260630


@dataclass(frozen=True)
class Made:
    """A created workspace. `notes` are the files under `memory/`, newest day last."""

    folder: Path
    files: int
    size: int
    notes: list[Path]


def many_files(folder: Path, *, files: int = 2000, size: int = 20_000_000, seed: int = SEED) -> Made:
    """Create `files` files of together about `size` bytes; two thirds are notes."""
    random = Random(seed)
    average = size // files
    writer = _Writer(folder)
    _write_persona(writer, random)
    notes = files * 2 // 3
    for index in range(notes):
        writer.note(_note_path(random, index), _note(random, index, sections=6, length=average // 6))
    while writer.files < files:
        path, text = _artifact(random, writer.files, average)
        writer.write(path, text)
    return writer.made()


def many_records(folder: Path, *, records: int = 50_000, files: int = 2000, seed: int = SEED) -> Made:
    """Create about `records` sections of about 300 bytes, spread evenly over `files` notes."""
    random = Random(seed)
    writer = _Writer(folder)
    _write_persona(writer, random)
    for index in range(files):
        sections = records * (index + 1) // files - records * index // files
        writer.note(_note_path(random, index), _note(random, index, sections=sections, length=280))
    return writer.made()


class _Writer:
    """Writes files with times that depend only on their order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = 0
        self.size = 0
        self.notes: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(data)
        moment = datetime.combine(LAST_DAY - timedelta(days=self.files % 365), datetime.min.time(), UTC).timestamp()
        os.utime(path, (moment, moment))
        self.files += 1
        self.size += len(data)
        return path

    def note(self, name: str, text: str) -> None:
        self.notes.append(self.write(name, text))

    def made(self) -> Made:
        return Made(self.folder, self.files, self.size, sorted(self.notes))


def _note_path(random: Random, index: int) -> str:
    """Return the path of a note. Three of four notes are daily logs, going back day by day; the others are in folders
    by topic."""
    if index % 4:
        day = LAST_DAY - timedelta(days=index)
        return f"memory/{day.isoformat()}.md"
    return f"memory/{('projects', 'people', 'places')[index % 3]}/{prose.slug(random)}-{index}.md"


def _note(random: Random, index: int, *, sections: int, length: int) -> str:
    day = LAST_DAY - timedelta(days=index)
    parts = [f"# {day.isoformat()}\n"]
    for number in range(sections):
        body = prose.bullets(random, max(1, length // 100)) if number % 2 else prose.paragraph(random, length - 30)
        parts.append(f"## {prose.heading(random)}\n\n{body}\n")
    return "\n".join(parts)


def _artifact(random: Random, index: int, length: int) -> tuple[str, str]:
    name = f"{prose.slug(random)}-{index}"
    if index % 3 == 0:
        return f"data/{name}.csv", _table(random, length)
    if index % 3 == 1:
        return f"scripts/{name}.py", _script(random, length)
    return f"drafts/{name}.md", f"# {prose.heading(random)}\n\n{prose.paragraph(random, length)}\n"


def _table(random: Random, length: int) -> str:
    rows = ["date,place,item,amount"]
    while sum(map(len, rows)) < length:
        day = LAST_DAY - timedelta(days=random.randint(0, 700))
        rows.append(f"{day},{random.choice(prose.PLACES)},{random.choice(prose.NOUNS)},{random.randint(100, 99999)}")
    return "\n".join(rows) + "\n"


def _script(random: Random, length: int) -> str:
    lines = [f'"""{prose.sentence(random)}"""', ""]
    while sum(map(len, lines)) < length:
        verb, noun = random.choice(prose.VERBS), random.choice(prose.NOUNS)
        lines += [
            f"def {verb}_{noun}_{random.randint(1, 9999)}({noun}):",
            f"    # {prose.sentence(random)}",
            f"    return {noun}",
            "",
        ]
    return "\n".join(lines)


def _write_persona(writer: _Writer, random: Random) -> None:
    writer.write("SOUL.md", f"# SOUL\n\nYou are Nova.\n\n{prose.paragraph(random, 1500)}\n")
    writer.write("IDENTITY.md", "# IDENTITY\n\n- Name: Nova\n- Creature: assistant\n- Vibe: calm\n- Emoji: 🛟\n")
    writer.write(
        "USER.md", f"# USER\n\n- Name: Alex Example\n- Timezone: Europe/Lisbon\n\n{prose.bullets(random, 12)}\n"
    )
    writer.write("AGENTS.md", f"# AGENTS\n\n## Every session\n\n{prose.bullets(random, 30)}\n")
    memory = "\n".join(f"## {prose.heading(random)}\n\n{prose.bullets(random, 6)}\n" for _ in range(14))
    writer.write("MEMORY.md", f"# MEMORY\n\n{memory}")
    writer.write("skills/weather/SKILL.md", f"---\nname: weather\n---\n\n{prose.paragraph(random, 900)}\n")
