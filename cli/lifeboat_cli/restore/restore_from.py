"""`lifeboat restore --from`: from a second copy."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_cli.terminal.session import Session, said_when_stopped
from lifeboat_daemon.control.poke import poke

if TYPE_CHECKING:
    from lifeboat_core.processes.progress import Tell
    from lifeboat_core.restore import Plan, RestoreOptions, RestoreReport

_CUT_OFF = "stopped on the way; what arrived stays, and the same command, or lifeboat agents adopt, goes on"


def restore_from(
    session: Session,
    remote: str,
    agent: str,
    target: Path | None,
    options: RestoreOptions,
    take_over: str | None,
    seen: str | None,
) -> int:
    """Restore what a remote has of an agent; with `adopt` it lives here from now on. Return the exit status."""
    from lifeboat_cli.restore.restore import carry_out
    from lifeboat_core.remotes import restoring
    from lifeboat_core.restore import run

    if options.adopt and target is not None:
        return _arrive(session, remote, agent, target, options, take_over, seen)
    with ExitStack() as stack:
        with session.output.progress(f"Fetching {agent} from {remote}") as tell:
            plan = stack.enter_context(restoring.opened_plan(session.context, remote, agent, target, options, tell))
        return carry_out(session, plan, lambda wanted, tell: run(session.context, wanted, tell), seen)


def _arrive(
    session: Session,
    remote: str,
    agent: str,
    target: Path,
    options: RestoreOptions,
    take_over: str | None,
    seen: str | None,
) -> int:
    from lifeboat_cli.restore.restore import carry_out
    from lifeboat_core.remotes import restoring

    with ExitStack() as stack:
        with session.output.progress(f"Fetching {agent} from {remote}") as tell:
            fetching = restoring.arriving(session.context, remote, agent, target, options, tell)
            plan, source, staged = stack.enter_context(fetching)

        def run(wanted: Plan, tell: Tell) -> RestoreReport:
            with said_when_stopped(session, _CUT_OFF):
                arrived = restoring.arrive(session.context, wanted, source, staged, take_over=take_over, tell=tell)
            for name, why in arrived.raised.missed.items():
                session.output.warn(f"{name} does not follow yet: {why}")
            return arrived.report

        status = carry_out(session, plan, run, seen)
    poke(session.context)
    return status
