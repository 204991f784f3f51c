"""What a purge is to destroy, as a person chose it, and the words of the command that does it. The text itself is not
part of it: that is held by nobody but the screen, between the preview and the purge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lifeboat_tui.documents.purge import Purged

REASONS = {
    "user_request": "my own wish",
    "security_incident": "a security incident",
    "gdpr_article_17": "the right to erasure (GDPR)",
    "ccpa_deletion": "a deletion under the CCPA",
}
"""Why, for the record."""


class What(StrEnum):
    """What is looked for."""

    TEXT = "text"
    PATTERN = "pattern"
    RECORDS = "records"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`memory`: every memory that holds it, not the passage alone; `only`: not what a memory was or became; `derived`:
    what came of it too; `workspace`: the live files too; `keep_print`: captures know it again though it can be
    guessed."""

    what: What = What.TEXT
    records: tuple[str, ...] = ()
    memory: bool = False
    only: bool = False
    derived: bool = False
    workspace: bool = False
    keep_print: bool = False
    reason: str = "user_request"

    @property
    def needs_text(self) -> bool:
        """Whether something is given on standard input."""
        return self.what in (What.TEXT, What.PATTERN)


def words(wanted: Wanted, agent: str, *, dry_run: bool) -> tuple[str, ...]:
    """The command: one that shows what would go, or one that destroys it."""
    said = ["purge", agent, "--dry-run" if dry_run else "--yes"]
    if wanted.what is What.RECORDS:
        said += [word for record in wanted.records for word in ("--record", record)]
    else:
        said.append({What.TEXT: "--text-stdin", What.PATTERN: "--pattern-stdin", What.ALL: "--all"}[wanted.what])
    options = ("memory", "only", "derived", "workspace", "keep_print")
    said += [f"--{name.replace('_', '-')}" for name in options if _counts(wanted, name)]
    if wanted.reason != "user_request":
        said += ["--reason", wanted.reason]
    return tuple(said)


def goes_with(what: What, option: str) -> bool:
    """Whether an option means something for what is looked for."""
    return what is not What.ALL and not (option == "memory" and what is What.RECORDS)


def _counts(wanted: Wanted, option: str) -> bool:
    return bool(getattr(wanted, option)) and goes_with(wanted.what, option)


def phrase(plan: Purged) -> str:
    """What has to be typed before it is done: the same as in a shell."""
    return f"purge {plan.agent.name if plan.is_whole else plan.versions}"
