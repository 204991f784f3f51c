"""Read the capabilities of an agent from its notes and skills, and find those that this machine lacks (ALF §3.2.6,
§6.2)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator

from lifeboat_adapters.persona import markdown_fields
from lifeboat_alf.common.json_shapes import as_object, objects_in
from lifeboat_alf.common.json_types import JsonObject

_TITLES = re.compile(r"\b(capabilities|abilities|what (i|you) can do)\b")
_REQUIRES = re.compile(r"\s*\((?:requires|needs):?\s+([^)]{1,200})\)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_BINS = re.compile(r"""["']?(?:bins|anyBins)["']?\s*:\s*(?:\[([^\]]*)\]|((?:\s*\n\s+-\s+[^\n]+)+))""")
_SYSTEMS = re.compile(r"""["']?os["']?\s*:\s*\[([^\]]*)\]""")
_SYSTEM_NAMES = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
_WORD = re.compile(r"[A-Za-z0-9][\w.+-]*")

PROGRAMS = {
    "docker": "docker",
    "podman": "podman",
    "git": "git",
    "ffmpeg": "ffmpeg",
    "curl": "curl",
    "jq": "jq",
    "node": "node",
    "node.js": "node",
    "npm": "npm",
    "python": "python3",
    "chrome": "google-chrome",
    "chromium": "chromium",
    "pandoc": "pandoc",
    "imagemagick": "magick",
    "kubectl": "kubectl",
    "kubernetes": "kubectl",
    "terraform": "terraform",
    "ssh": "ssh",
    "tmux": "tmux",
    "gh": "gh",
    "applescript": "osascript",
    "postgresql": "psql",
    "sqlite": "sqlite3",
}
"""Words in a requirement, with the program whose presence shows that it is met."""

INACTIVE = "; inactive"
"""The beginning of the remark in a note about a capability that this machine lacks (ALF §6.2)."""

Which = Callable[[str], str | None]


def capabilities_from_notes(text: str) -> list[JsonObject]:
    """Read lines like `- Docker management: builds tiles (requires: docker)` under a heading about capabilities."""
    return [_from_item(item) for item in markdown_fields.list_items(markdown_fields.text_under_headings(text, _TITLES))]


def _from_item(item: str) -> JsonObject:
    found = _REQUIRES.search(item)
    name, _, description = markdown_fields.strip_emphasis(_REQUIRES.sub("", item)).partition(":")
    needs = found[1].partition(INACTIVE)[0] if found else ""
    return _capability(name.strip(), description.strip(), needs.strip())


def capability_from_skill(folder_name: str, text: str) -> JsonObject:
    """Read a skill from the front matter of its SKILL.md: name, description, required programs and systems."""
    matter = front_matter(text)
    needs = [*_quoted_words(_BINS.findall(matter)), *_systems(matter)]
    return _capability(_field(matter, "name") or folder_name, _field(matter, "description"), ", ".join(needs))


def front_matter(text: str) -> str:
    """Return the text between the first two `---` of a file, "" without them."""
    front = _FRONT_MATTER.match(text)
    return front[1] if front else ""


def _capability(name: str, description: str, needs: str) -> JsonObject:
    found: JsonObject = {"name": name}
    if description:
        found["description"] = description
    found["portability"] = "host_dependent" if needs else "intrinsic"
    return found | ({"host_requirements": needs} if needs else {})


def _field(matter: str, name: str) -> str:
    """Return a plain, quoted or folded value that is not indented in the front matter."""
    found = re.search(rf"^{name}:[ \t]*(.*)((?:\n[ \t]+[^\n]*)*)", matter, re.MULTILINE)
    if found is None:
        return ""
    value = found[1].strip()
    if value in (">", "|", ">-", "|-", ""):
        return " ".join(found[2].split())
    return value[1:-1] if value[0] in "\"'" and value[-1] == value[0] else value


def _quoted_words(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    for inline, block in found:
        for part in inline.split(",") if inline else block.split("\n"):
            word = part.strip().removeprefix("- ").strip("\"' ")
            if word:
                yield word


def _systems(matter: str) -> list[str]:
    words = _quoted_words((inline, "") for inline in _SYSTEMS.findall(matter))
    names = [_SYSTEM_NAMES.get(word, word) for word in words]
    return [" or ".join(names)] if names else []


def deduplicate_by_name(found: Iterable[JsonObject]) -> list[JsonObject]:
    """Keep the first capability of each name."""
    by_name: dict[str, JsonObject] = {}
    for item in found:
        if item["name"]:
            by_name.setdefault(item["name"].casefold(), item)
    return list(by_name.values())


def find_missing_capabilities(identity: JsonObject, which: Which = shutil.which) -> list[JsonObject]:
    """Return host-dependent capabilities, of the agent and its sub-agents, that this machine lacks or that cannot be
    checked: [{name, host_requirements, code, reason}].

    `code` is absent or unchecked. A capability without `portability` is intrinsic.
    """
    structured = as_object(identity.get("structured"))
    helpers = objects_in(structured.get("sub_agents"))
    listed = [structured.get("capabilities"), *(helper.get("capabilities") for helper in helpers)]
    found = []
    for capability in (each for found_in in listed for each in objects_in(found_in)):
        absent = _absent(capability, which)
        if absent == []:
            continue
        needs = str(capability.get("host_requirements") or "")
        code = "unchecked" if absent is None else "absent"
        reason = (
            "the requirements name no program that could be checked"
            if absent is None
            else f"missing programs: {', '.join(absent)}"
        )
        found.append({"name": capability.get("name"), "host_requirements": needs, "code": code, "reason": reason})
    return found


def inactive_note(capability: JsonObject, which: Which = shutil.which) -> str:
    """Return the remark for a rendered note that tells the agent not to use a capability, "" for one that this machine
    has."""
    return f"{INACTIVE} on this machine" if _absent(capability, which) else ""


def _absent(capability: JsonObject, which: Which) -> list[str] | None:
    """Return the programs that this machine lacks for a capability, None when the requirements name no program."""
    if capability.get("portability") != "host_dependent":
        return []
    programs = programs_in(str(capability.get("host_requirements") or ""))
    return [program for program in programs if which(program) is None] if programs else None


def programs_in(needs: str) -> list[str]:
    """Return the programs that a requirement names: words of the table, and plain lists of words as in skills."""
    parts = [part.strip() for part in needs.split(",")]
    if all(_WORD.fullmatch(part) and part.lower() == part for part in parts):
        return list(dict.fromkeys(PROGRAMS.get(part, part) for part in parts))
    words = (word.lower() for word in _WORD.findall(needs))
    return list(dict.fromkeys(PROGRAMS[word] for word in words if word in PROGRAMS))
