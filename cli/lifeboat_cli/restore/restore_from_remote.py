"""`lifeboat restore --from`: restore from a remote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, explain_interruption
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.processes.progress import Tell
    from lifeboat_core.restore import RestoreOptions, RestorePlan, RestoreReport

_CUT_OFF = (
    "The command was interrupted. The data that was fetched is kept. To continue, run the same command "
    "again, or lifeboat agents adopt"
)


def restore_from(
    session: CommandSession,
    remote: str,
    agent: str,
    target: Path | None,
    options: RestoreOptions,
    take_over: str | None,
    seen: str | None,
) -> int:
    """Restore an agent from a remote. With `adopt`, this machine becomes its writer. Return the exit status."""
    from lifeboat_cli.restore.restore_commands import run_restore_plan
    from lifeboat_core.remotes import remote_restore
    from lifeboat_core.restore import carry_out_plan

    if options.adopt and target is not None:
        return _arrive(session, remote, agent, target, options, take_over, seen)
    with ExitStack() as stack:
        with session.output.progress(f"Fetching {agent} from {remote}") as tell:
            plan = stack.enter_context(
                remote_restore.open_remote_plan(session.context, remote, agent, target, options, tell)
            )

        def run_copy(wanted: RestorePlan, tell: Tell) -> RestoreReport:
            report = carry_out_plan(session.context, wanted, tell)
            return replace(report, next=[*report.next, *_list_protecting_steps(session, plan, remote, report)])

        return run_restore_plan(session, plan, run_copy, seen)


def _list_protecting_steps(
    session: CommandSession, plan: RestorePlan, remote: str, report: RestoreReport
) -> Iterator[JsonObject]:
    """Yield the step that protects a restored agent, unless this machine protects it already."""
    from lifeboat_core.agents import agent as agents

    is_known = any(each.id == plan.agent_id for each in agents.list_agents(session.context))
    is_other_runtime = plan.options.runtime is not None
    if not (is_known or is_other_runtime or plan.options.path_globs):
        words = ("agents", "add", report.to, "--as", report.agent, "--from", remote)
        yield {
            "title": f"{report.name} is not protected on this machine. To protect the agent here and become its writer",
            "command": " ".join(map(quote_argument, ("lifeboat", *words))),
        }


def _arrive(
    session: CommandSession,
    remote: str,
    agent: str,
    target: Path,
    options: RestoreOptions,
    take_over: str | None,
    seen: str | None,
) -> int:
    from lifeboat_cli.restore.restore_commands import run_restore_plan
    from lifeboat_core.remotes import remote_restore

    with ExitStack() as stack:
        with session.output.progress(f"Fetching {agent} from {remote}") as tell:
            fetching = remote_restore.prepare_arrival(session.context, remote, agent, target, options, tell)
            plan, source, staged = stack.enter_context(fetching)

        def run(wanted: RestorePlan, tell: Tell) -> RestoreReport:
            with explain_interruption(session, _CUT_OFF):
                arrived = remote_restore.carry_out_arrival(
                    session.context, wanted, source, staged, take_over=take_over, tell=tell
                )
            for name, why in arrived.raised.missed.items():
                session.output.warn(f"remote {name} has not accepted this machine as the new writer yet: {why}")
            return arrived.report

        status = run_restore_plan(session, plan, run, seen)
    wake_daemon(session.context)
    return status
