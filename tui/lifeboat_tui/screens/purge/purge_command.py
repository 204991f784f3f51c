"""The user's choices for a purge, and the command built from them. The text to purge is not included: only the screen
holds it, between preview and purge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lifeboat_core.documents.purge_documents import Purged

REASONS = {
    "user_request": "my own decision",
    "security_incident": "a security incident",
    "gdpr_article_17": "the right to erasure (GDPR)",
    "ccpa_deletion": "a deletion under the CCPA",
}
"""Reasons recorded in the redaction."""


class PurgeSubject(StrEnum):
    """Kind of subject that is searched for."""

    TEXT = "text"
    PATTERN = "pattern"
    RECORDS = "records"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class PurgeChoices:
    """Choices for a purge. `memory`: purge each matching memory as a whole instead of the matching passage; `only`:
    exclude its earlier and later versions; `derived`: include what was derived from it; `workspace`: also cut the live
    files; `keep_print`: keep a fingerprint for captures although it could be guessed."""

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
        """True if the subject is given on standard input."""
        return self.what in (PurgeSubject.TEXT, PurgeSubject.PATTERN)


def build_purge_command(wanted: PurgeChoices, agent: str, *, dry_run: bool) -> tuple[str, ...]:
    """Return the command for the preview (`dry_run`) or for the purge."""
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
    """Return True if an option applies to this kind of subject."""
    return what is not PurgeSubject.ALL and not (option == "memory" and what is PurgeSubject.RECORDS)


def _counts(wanted: PurgeChoices, option: str) -> bool:
    return bool(getattr(wanted, option)) and is_option_applicable(wanted.what, option)


def build_confirmation_phrase(plan: Purged) -> str:
    """Return the phrase to type before the purge, the same as in a shell."""
    return f"purge {plan.agent.name if plan.is_whole else plan.versions or len(plan.labels)}"
