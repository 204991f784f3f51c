"""What a purge is to destroy, as a person chose it, and the words of the command that does it. The text itself is not
part of it: that is held by nobody but the screen, between the preview and the purge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lifeboat_core.documents.purge_documents import Purged

REASONS = {
    "user_request": "my own wish",
    "security_incident": "a security incident",
    "gdpr_article_17": "the right to erasure (GDPR)",
    "ccpa_deletion": "a deletion under the CCPA",
}
"""Why, for the record."""


class PurgeSubject(StrEnum):
    """What is looked for."""

    TEXT = "text"
    PATTERN = "pattern"
    RECORDS = "records"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class PurgeChoices:
    """`memory`: every memory that holds it, not the passage alone; `only`: not what a memory was or became; `derived`:
    what came of it too; `workspace`: the live files too; `keep_print`: captures know it again though it can be
    guessed."""

    what: PurgeSubject = PurgeSubject.TEXT
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
        return self.what in (PurgeSubject.TEXT, PurgeSubject.PATTERN)


def build_purge_command(wanted: PurgeChoices, agent: str, *, dry_run: bool) -> tuple[str, ...]:
    """The command: one that shows what would go, or one that destroys it."""
    said = ["purge", agent, "--dry-run" if dry_run else "--yes"]
    if wanted.what is PurgeSubject.RECORDS:
        said += [word for record in wanted.records for word in ("--record", record)]
    else:
        said.append(
            {PurgeSubject.TEXT: "--text-stdin", PurgeSubject.PATTERN: "--pattern-stdin", PurgeSubject.ALL: "--all"}[
                wanted.what
            ]
        )
    options = ("memory", "only", "derived", "workspace", "keep_print")
    said += [f"--{name.replace('_', '-')}" for name in options if _counts(wanted, name)]
    if wanted.reason != "user_request":
        said += ["--reason", wanted.reason]
    return tuple(said)


def is_option_applicable(what: PurgeSubject, option: str) -> bool:
    """Whether an option means something for what is looked for."""
    return what is not PurgeSubject.ALL and not (option == "memory" and what is PurgeSubject.RECORDS)


def _counts(wanted: PurgeChoices, option: str) -> bool:
    return bool(getattr(wanted, option)) and is_option_applicable(wanted.what, option)


def build_confirmation_phrase(plan: Purged) -> str:
    """What has to be typed before it is done: the same as in a shell."""
    return f"purge {plan.agent.name if plan.is_whole else plan.versions}"
