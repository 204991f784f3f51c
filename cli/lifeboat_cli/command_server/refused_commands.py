"""Refuse commands that never end by themselves or need a terminal: a program would wait for them forever."""

from __future__ import annotations

from collections.abc import Sequence

_NEVER = (("tui",), ("demo",), ("completion",), ("daemon", "run"), ("endpoint", "serve"))
_FOR_EVER = frozenset({"--follow", "--watch"})


def refusal_reason_of(words: Sequence[str]) -> str | None:
    """Return why a command is not run here, or None if it is."""
    named = [word for word in words if not word.startswith("-")]
    for command in _NEVER:
        if tuple(named[: len(command)]) == command:
            return f"lifeboat {' '.join(command)} is for a terminal"
    if named[:1] == ["setup"] and "--json" not in words:
        return "lifeboat setup asks questions; with --json it does not"
    found = _FOR_EVER.intersection(_options(words))
    return f"with {min(found)} a command never ends" if found else None


def _options(words: Sequence[str]) -> Sequence[str]:
    """Return the words before the end of the options."""
    return words[: words.index("--")] if "--" in words else words
