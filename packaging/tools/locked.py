"""What requirements.lock holds, and which part of it the program needs when it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from facts import ROOT

_PROJECT = "agent-lifeboat (pyproject.toml)"
_NOT_RUN = {"pip": "only the command `sqlite-utils install` uses it"}
"""Locked because a dependency asks for them, and never loaded by Lifeboat: {name: why}."""


@dataclass(frozen=True, slots=True)
class Locked:
    """One distribution: its marker (PEP 508, or empty), the SHA-256 of each of its files, and who asks for it."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]


def read(path: Path = ROOT / "requirements.lock") -> list[Locked]:
    """Every distribution of a lock file."""
    parts = re.split(r"\n(?=[a-z0-9])", "\n" + path.read_text(encoding="utf-8"))
    return [_distribution(part) for part in parts if re.match(r"[a-z0-9]", part)]


def _distribution(text: str) -> Locked:
    head = text.split("\\\n", 1)[0]
    requirement, _, marker = head.partition(" ; ")
    name, _, version = requirement.strip().partition("==")
    via = re.findall(r"^    #   (?:via )?(\S.*)$|^    # via (\S.*)$", text, flags=re.MULTILINE)
    return Locked(
        name=name,
        version=version,
        marker=marker.strip(),
        hashes=tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", text)),
        via=tuple(more or one for more, one in via),
    )


def needed(path: Path = ROOT / "requirements.lock") -> list[Locked]:
    """What the program needs when it runs: without the tools that build it."""
    known = {each.name: each for each in read(path)}
    return [each for name, each in sorted(known.items()) if name not in _NOT_RUN and _runs(each, known, frozenset())]


def _runs(each: Locked, known: dict[str, Locked], seen: frozenset[str]) -> bool:
    """Whether the project itself asks for a distribution, or another one that runs."""
    if _PROJECT in each.via:
        return True
    seen |= {each.name}
    askers = [known[name] for name in each.via if name in known and name not in seen | _NOT_RUN.keys()]
    return any(_runs(asker, known, seen) for asker in askers)


def text(requirements: list[Locked]) -> str:
    """The same as a file for `pip install --require-hashes`."""
    lines = []
    for each in requirements:
        marker = f" ; {each.marker}" if each.marker else ""
        hashes = "".join(f" \\\n    --hash=sha256:{value}" for value in each.hashes)
        lines.append(f"{each.name}=={each.version}{marker}{hashes}\n")
    return "".join(lines)
