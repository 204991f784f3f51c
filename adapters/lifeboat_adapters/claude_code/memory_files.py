"""Memory files of Claude Code: one fact in a file, with front matter, and a line in the index of the project."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.folder import profile_memories
from lifeboat_alf.common.json_types import JsonObject

INDEX = "MEMORY.md"
_TYPES = {"preference": "user", "procedural": "feedback"}
_OTHER = "project"
_LONGEST = 120
_PLAIN = re.compile(r"[^\W\d_][\w ,.()/'-]*")
_LINE_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\s]+")


def split_memory(section: MemorySection, project: str) -> MemorySection:
    """Return a memory file as a section: the memory is the text below the front matter."""
    body = section.content[len(front_matter_of(section.content)) :].rstrip("\r\n")
    memory = body if body.strip() else section.content
    return MemorySection(section.content, fields=section.fields | {"category": project}, memory=memory)


def front_matter_of(text: str) -> str:
    """Return the front matter of a memory file with the blank line below it, "" without one."""
    end = profile_memories.find_front_matter_end(text)
    return text[:end] + text[end : end + len(text[end:]) - len(text[end:].lstrip("\r\n"))]


def write_memory(name: str, memory: str, record: JsonObject | None, before: str) -> str:
    """Return the text of a memory file as the program writes it. `before` is the front matter to keep, if any."""
    if not memory.strip():
        return ""
    memory = memory if memory.endswith("\n") else f"{memory}\n"
    if before:
        return memory if memory.startswith(before.rstrip()) else before + memory
    kind = _TYPES.get(str((record or {}).get("memory_type")), _OTHER)
    matter = {"name": name.rpartition("/")[2].removesuffix(".md"), "description": describe_memory(memory)}
    lines = [f"{key}: {_scalar(value)}" for key, value in matter.items()]
    made = ["---", *lines, "metadata: ", "  node_type: memory", f"  type: {kind}", "---", "", ""]
    return "\n".join(made) + memory


def describe_memory(memory: str) -> str:
    """Return the first line of a memory, shortened, without marks of Markdown."""
    line = next((line for line in memory.splitlines() if line.strip(" \t#>*-")), "")
    words = _LINE_BREAKS.sub(" ", line).strip(" #>*-")
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"


def add_index_lines(text: str, files: Sequence[tuple[str, str]]) -> str:
    """Return the index of a project with one line more for each file that it does not name. `files` are names and
    memories."""
    added = [_index_line(name, memory) for name, memory in files if f"]({name})" not in text]
    if not added:
        return text
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{chr(10).join(added)}\n"


def _index_line(name: str, memory: str) -> str:
    described = describe_memory(memory)
    title = " ".join(described.split()[:6]).translate(str.maketrans("", "", "[]")) or name
    return f"- [{title}]({name}) — {described}"


def _scalar(value: str) -> str:
    """Return a text as YAML on one line: plain where that is the same text."""
    if _PLAIN.fullmatch(value) and value == value.strip() and _loaded(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _loaded(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None
