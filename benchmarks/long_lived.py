"""An agent with many memories and a long history in a local vault, on an endpoint and in a sealed folder, with git
beside it. Two of its memories are to be purged; their files have changed often since they were written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks import endpoints, measure, prose, rivals, subject, workspaces
from benchmarks.endpoints import Endpoint
from benchmarks.scale import Scale

from lifeboat_core.health.agent_status import OK
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.manage_remotes import RemoteAccess
from lifeboat_endpoint.endpoint import Endpoint as Opened
from lifeboat_endpoint.tenancy.callers import PURGE

ENDPOINT, FOLDER = "bench", "stick"
SECRETS = ("ZX-4471-9930-A", "QK-2210-7185-B")
"""Texts that each stand in one memory. The first is purged by the memory's id, the second by its text."""
_OFTEN = 10
"""Number of sequences between changes of a file with a secret."""


@dataclass
class LongLived:
    """The agent, its remotes, and the seconds of its last captures and replications."""

    subject: subject.Subject
    made: workspaces.Made
    remotes: list[RemoteConfig]
    endpoint: Endpoint
    commit: rivals.Change | None
    random: Random = field(default_factory=lambda: Random(8))
    captures: list[float] = field(default_factory=list)

    def change(self, number: int) -> Path:
        """Add a line to one of the notes."""
        often = self.made.notes[number // _OFTEN % len(SECRETS)]
        note = often if number % _OFTEN == 0 else self.random.choice(self.made.notes)
        with note.open("a") as stream:
            stream.write(f"\n- {prose.sentence(self.random)}\n")
        return note

    def capture(self, number: int) -> None:
        """Capture one more sequence, on every remote and in git too."""
        self.change(number)
        self.captures.append(measure.seconds(self.subject.capture))
        for config in self.remotes:
            self.replicate(config)
        if self.commit is not None:
            self.commit(number)

    def replicate(self, config: RemoteConfig) -> None:
        outcome = replicate_agent(self.subject.context, self.subject.agent, config)
        if outcome.state != OK:
            raise SystemExit(f"not replicated: {outcome}")

    def record_of(self, secret: str) -> str:
        """Return the id of the memory that contains a text."""
        with self.subject.context.vault(self.subject.agent.id) as vault:
            return next(one.id for one in vault.state().records() if secret.encode() in one.line)

    def owner_token(self) -> str:
        """Return the second token of the endpoint, with which a purge is not pending."""
        with Opened.open(self.endpoint.data) as opened:
            tenant = opened.control.tenants()[0]
            return opened.control.add_token(tenant.id, "owner", [PURGE])[1]


@contextmanager
def long_lived(folder: Path, scale: Scale) -> Iterator[LongLived]:
    """Create the agent with all its sequences, and run its endpoint until the end of the block."""
    made = workspaces.many_records(folder / "workspace", records=scale.records - 2, files=scale.records // 25)
    for note, secret in zip(made.notes, SECRETS, strict=False):
        note.write_text(note.read_text() + f"\n## Documents\n\nThe number of the passport is {secret}.\n")
    with endpoints.endpoint(folder, 1) as there:
        protected = subject.protect(made.folder, folder / "home")
        commit = rivals.git_committer(made.folder, folder / "git", synced=False)
        agent = LongLived(protected, made, _remotes(protected, there, folder / "stick"), there, commit)
        for number in range(scale.sequences - 1):
            agent.capture(number)
        yield agent


def _remotes(ours: subject.Subject, there: Endpoint, folder: Path) -> list[RemoteConfig]:
    folder.mkdir()
    endpoint, _ = manage_remotes.add_remote(
        ours.context, ENDPOINT, RemoteAccess(there.url, pin=there.pin, token=there.token)
    )
    stick, _ = manage_remotes.add_remote(ours.context, FOLDER, RemoteAccess(folder.as_uri()), sealed=True)
    return [endpoint, stick]
