"""The running command with more options, as an error names it as its fix."""

from __future__ import annotations

from collections.abc import Sequence

import click

from lifeboat_core.texts.human_text import quote_argument

_WORDS = "lifeboat.words"


def remember_command(context: click.Context, words: Sequence[str]) -> None:
    """Store the words of the command line for `write_command_again`."""
    context.meta[_WORDS] = tuple(words)


def write_command_again(*options: str) -> str:
    """Return the running command with these options, each an option or its value, in place of those it had."""
    had = list[str](click.get_current_context().meta.get(_WORDS, ()))
    end = had.index("--") if "--" in had else len(had)
    kept, after = _without(had[:end], options), had[end:]
    return " ".join(map(quote_argument, ("lifeboat", *kept, *options, *after)))


def _without(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Remove options that are given again, with their values."""
    kept: list[str] = []
    skips_value = False
    for word in words:
        name = word.partition("=")[0]
        if skips_value:
            skips_value = False
        elif name.startswith("-") and name in options:
            at = options.index(name) + 1
            skips_value = "=" not in word and at < len(options) and not options[at].startswith("-")
        else:
            kept.append(word)
    return kept
