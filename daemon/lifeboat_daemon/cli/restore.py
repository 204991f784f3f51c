"""`lifeboat restore`, `undo`, `verify`: bring an agent back, take that back, prove that it would work."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from lifeboat_daemon import agent as agents
from lifeboat_daemon.cli.output import Output
from lifeboat_daemon.cli.session import Session, session_command


@click.command()
@click.argument("agent")
@click.option("--to", "target", type=click.Path(file_okay=False, path_type=Path), help="Another folder; else in place.")
@click.option("--at", metavar="SEQ|TIME", help="A sequence, or a time (the last sequence until then).")
@click.option("--runtime", help="Write for this runtime instead of the agent's own.")
@click.option("--path", "paths", metavar="GLOB", multiple=True, help="Only these files; may be given often.")
@click.option("--with-credentials", is_flag=True, help="Put secrets back where they were cut out.")
@click.option("--adopt", is_flag=True, help="With --to: the agent lives there from now on.")
@click.option("--finish", is_flag=True, help="Run the runtime's own further steps too.")
@click.option("--no-reindex", is_flag=True, help="Leave the runtime's search index alone.")
@click.option("--accept-unsigned", is_flag=True, help="Restore a state that nobody signed.")
@click.option("--dry-run", is_flag=True, help="Show the plan with its differences; write nothing.")
@click.option("--yes", is_flag=True, help="Write into a folder that is not empty without asking.")
@session_command
def restore(session: Session, /, agent: str, target: Path | None, at: str | None, **flags: Any) -> None:
    """Bring an agent back: as it is now or as it was, in place or into another folder."""
    from lifeboat_daemon.restore import RestoreOptions, opened_plan, run

    found = agents.find(session.context, agent)
    reindex = not flags.pop("no_reindex")
    options = RestoreOptions(at=at, path_globs=tuple(flags.pop("paths")), reindex=reindex, **flags)
    with opened_plan(session.context, found, target, options) as plan:
        if options.dry_run:
            session.output.document(plan.to_json(), lambda: _print_plan(session.output, plan))
            return
        if not plan.is_fresh and not options.yes and _may_ask(session):
            _print_plan(session.output, plan)
            click.confirm("Write this?", abort=True, err=True)
            plan = dataclasses.replace(plan, options=dataclasses.replace(options, yes=True))
        with session.output.progress(f"Restoring {found.name}"):
            report = run(session.context, plan).to_json()
    session.output.document(report, lambda: print_report(session.output, report))


def _may_ask(session: Session) -> bool:
    return not session.output.as_json and sys.stdin.isatty()


def _print_plan(output: Output, plan: Any) -> None:
    from lifeboat_daemon.restore import plan_lines

    for line in plan_lines(plan):
        output.line(line)


def print_report(output: Output, report: dict[str, Any]) -> None:
    """What a restore did, for people."""
    files = report["files"]
    output.line(f"Sequence {report['sequence']} is in {report['to']}.", style="bold")
    output.line(", ".join(f"{count} {word}" for word, count in files.items() if count) or "nothing to write")
    output.line(f"{report['records']['restored']} memories; {report['credentials']['injected']} credentials put back.")
    for warning in report["warnings"]:
        output.warn(warning)
    for missing in report.get("capabilities_missing", []):
        output.warn(f"this machine lacks what {missing['name']} needs: {missing.get('host_requirements', '')}")
    for step in report.get("next", []):
        output.line(f"Next: {step['title']}: {step['command']}")
    if report.get("undo"):
        output.line(f"lifeboat undo {report['name']} takes it back.")


@click.command()
@click.argument("agent", required=False)
@click.option("--force", is_flag=True, help="Also when files changed since the restore.")
@session_command
def undo(session: Session, agent: str | None, force: bool) -> None:
    """Take the last restore of the last seven days back."""
    from lifeboat_daemon.restore import undo as take_back

    found = agents.find(session.context, agent) if agent else None
    report = take_back(session.context, found, force=force).to_json()
    session.output.document(report, lambda: print_report(session.output, report))


@click.command()
@click.argument("agent")
@click.option("--at", type=int, metavar="SEQ", help="This sequence instead of the newest.")
@click.option("--whole", is_flag=True, help="Every kept sequence, not only the one that is tried out.")
@session_command
def verify(session: Session, agent: str, at: int | None, whole: bool) -> int:
    """A restore drill: write the agent to a folder of its own, compare every byte, throw it away."""
    from lifeboat_daemon import verification

    found = agents.find(session.context, agent)
    with session.output.progress(f"Verifying {found.name}"):
        report = verification.drill(session.context, found, at, whole=whole).to_json()

    def text() -> None:
        for mismatch in report["mismatches"]:
            session.output.line(mismatch)
        verdict = "does not hold" if report["mismatches"] else "holds"
        session.output.line(
            f"{found.name}: sequence {report['sequence']} {verdict}, {report['files']} files", style="bold"
        )

    session.output.document(report, text)
    return 1 if report["mismatches"] else 0
