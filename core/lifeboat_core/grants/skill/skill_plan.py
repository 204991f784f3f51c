"""Plan the skill file in an agent's workspace: `agents hook` writes it for an agent with a grant, and removes it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

NAME = "lifeboat/SKILL.md"
MARK = b"<!-- Written by `lifeboat agents hook`, which also removes it. -->"


class SkillPlan(NamedTuple):
    """What to write, and what to remove: the file, then its folder."""

    write: Mapping[Path, bytes]
    remove: tuple[Path, ...]


def read_skill() -> bytes:
    """Return the text of the skill."""
    return (files(__package__) / "SKILL.md").read_bytes()


def plan_skill(folder: Path, present: bytes | None, *, wanted: bool) -> SkillPlan:
    """Decide about the skill below `folder`, the folder of skills. `present` are the bytes of the file, None for none.

    A file that Lifeboat did not write stays.
    """
    path = folder / NAME
    is_ours = present is not None and MARK in present
    if wanted and (present is None or is_ours) and present != read_skill():
        return SkillPlan({path: read_skill()}, ())
    if not wanted and is_ours:
        return SkillPlan({}, (path, path.parent))
    return SkillPlan({}, ())
