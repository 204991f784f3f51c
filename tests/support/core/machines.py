"""Machines of one user for tests: each with its own home, all with the same key, and second copies between them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import agent_adoption, remote_registry, remote_restore
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState, load_acknowledged
from lifeboat_core.remotes.agent_adoption import AdoptionResult
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_core.restore import RestoreOptions
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_keys.pairs.user_key import UserKey
from support.core.protected import Protected


class Machine(Protected):
    """A machine with an OpenClaw workspace in `folder`, captured and replicated on demand."""

    def learn_words_of(self, other: Machine) -> None:
        """Type the 24 words of another machine's key."""
        key = UserKey.from_words(other.context.keys().user_key().words())
        self.context.keys().install(key)
        self.context.keys().ensure()

    def add_remote(self, name: str, url: str, *, token: str | None = None, pin: str = "", sealed: bool = False) -> None:
        context = self.context
        config = RemoteConfig(name, url, pin=pin, sealed=sealed, added_at=context.now())
        if token is not None:
            remote_registry.save_token(context, name, token)
        with contextlib.closing(open_remote(context, config)) as remote:
            remote_registry.save_remote(context, replace(config, id=remote.about().id))

    def remote(self, name: str = "home") -> RemoteConfig:
        return remote_registry.find_remote(self.context, name)

    def push(self, name: str = "home") -> ReplicationOutcome:
        """Bring a second copy up to date, as a worker does."""
        return replicate_agent(self.context, self.known_agent, self.remote(name))

    def capture_and_push(self, name: str = "home") -> ReplicationOutcome:
        self.capture()
        return self.push(name)

    def acknowledged(self, name: str = "home") -> AcknowledgedState:
        with self.context.vault(self.agent.id) as vault:
            return load_acknowledged(vault)[self.remote(name).id]

    @property
    def known_agent(self) -> Agent:
        return manage_agents.load_agent(self.context, self.agent.id)

    def adopt(
        self, name: str | None = None, *, take_over: str | None = None, accept_unsigned: bool = False
    ) -> AdoptionResult:
        prepared = agent_adoption.prepare_adoption(
            self.context, self.known_agent, name, accept_unsigned=accept_unsigned, tell=tell_nobody
        )
        with prepared as adoption:
            return agent_adoption.adopt_agent(self.context, adoption, take_over=take_over)

    def restore_from(self, text: str, to: Path, name: str = "home", **options: object) -> RestoreReport:
        """A copy of what the remote has, in another folder. Changes nobody's role."""
        from lifeboat_core.restore import carry_out_plan

        chosen = RestoreOptions(**options)  # type: ignore[arg-type]
        with remote_restore.open_remote_plan(self.context, name, text, to, chosen) as plan:
            return carry_out_plan(self.context, plan)

    def bring_back(
        self, text: str, to: Path, name: str = "home", *, take_over: str | None = None, **options: object
    ) -> RestoreReport:
        """The agent lives here from now on."""
        chosen = RestoreOptions(adopt=True, **options)  # type: ignore[arg-type]
        arriving = remote_restore.prepare_arrival(self.context, name, text, to, chosen, tell_nobody)
        with arriving as (plan, source, staged):
            report = remote_restore.carry_out_arrival(self.context, plan, source, staged, take_over=take_over).report
        self.agent = manage_agents.load_agent(self.context, report.agent)
        self.workspace = to
        return report

    def entries_at(self, number: int | None = None) -> dict[str, bytes]:
        """Every entry of a kept state with its bytes, and every record line."""
        with self.context.vault(self.agent.id) as vault:
            return contents(vault.state(number))


def contents(state: State) -> dict[str, bytes]:
    """Everything that a state holds, by path or record id."""
    found = {entry.path: state.body(entry.path) for entry in state.entries()}
    return found | {record.id: record.line for record in state.records()}


def there(context: Context, config: RemoteConfig, agent_id: str, number: int | None = None) -> dict[str, bytes]:
    """Everything that a remote gives as a state."""
    from lifeboat_core.remotes import pulling

    with (
        contextlib.closing(open_remote(context, config)) as remote,
        pulling.open_remote_state(remote, agent_id, number) as state,
    ):
        return contents(state)
