"""`lifeboat restore`, `undo`, `verify`: bring an agent back, take that back, prove that it would work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lifeboat_cli.history import receipts
from lifeboat_cli.keys import passphrases
from lifeboat_cli.restore import quarantine_view, restore_from
from lifeboat_cli.terminal.examples import examples
from lifeboat_cli.terminal.naming import AGENT, MOMENT, REMOTE, RUNTIME
from lifeboat_cli.terminal.output import Output
from lifeboat_cli.terminal.session import Session, examining_command, may_ask, session_command
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.texts.words import argument, count_text
from lifeboat_daemon.control.poke import poke

if TYPE_CHECKING:
    from lifeboat_core.processes.progress import Tell
    from lifeboat_core.restore import Plan, RestoreReport


def row_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which optional rows of the runtime's databases come along."""
    cron = click.option("--with-cron", is_flag=True, help="Put scheduled jobs back: on two machines they run twice.")
    sessions = click.option("--with-sessions", is_flag=True, help="Put the transcripts of sessions back.")
    return cron(sessions(command))


def seen_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which unsigned state was looked at, for scripts."""
    said = "With --accept-unsigned: the code of the state that was shown, instead of an answer on a terminal."
    return click.option("--seen", metavar="CODE", help=said)(command)


@click.command(
    short_help="Bring an agent back, as it is or as it was.",
    epilog=examples(
        "lifeboat restore Juniper --dry-run",
        "lifeboat restore Juniper --at 3 --path MEMORY.md",
        "lifeboat restore Juniper --at 2026-11-20T18:00 --to ~/juniper-as-it-was",
        "lifeboat restore Juniper --with-credentials",
        "lifeboat restore Juniper --to ~/.openclaw/workspace --state-dir ~/.openclaw --with-credentials",
        "lifeboat restore Juniper --runtime zeroclaw --to ~/.zeroclaw/agents/juniper/workspace --adopt",
        "lifeboat restore Juniper --from home-server --to ~/.openclaw/workspace --with-credentials --adopt",
    ),
)
@click.argument("agent", type=AGENT)
@click.option("--to", "target", type=click.Path(file_okay=False, path_type=Path), help="Another folder; else in place.")
@click.option("--at", type=MOMENT, metavar="SEQ|TIME", help="A sequence, or a time (the last sequence until then).")
@click.option("--from", "remote", type=REMOTE, metavar="REMOTE", help="Not from this machine, but from a second copy.")
@click.option("--runtime", type=RUNTIME, help="Write for this runtime instead of the agent's own.")
@click.option("--path", "paths", metavar="GLOB", multiple=True, help="Only these files; may be given often.")
@click.option("--with-credentials", is_flag=True, help="Put all secrets back; else those of files in place only.")
@click.option("--state-dir", type=click.Path(file_okay=False, path_type=Path), help="The runtime's own folder.")
@row_options
@click.option("--adopt", is_flag=True, help="With --to: the agent lives there from now on.")
@click.option("--take-over", metavar="MACHINE", help="With --from and --adopt: from this machine, which wrote lately.")
@click.option("--finish", is_flag=True, help="Run the runtime's own further steps too.")
@click.option("--no-reindex", is_flag=True, help="Leave the runtime's search index alone.")
@click.option("--accept-unsigned", is_flag=True, help="Restore a state that nobody signed, once you have seen it.")
@seen_option
@click.option("--dry-run", is_flag=True, help="Show the plan with its differences; write nothing.")
@click.option("--yes", is_flag=True, help="Write into a folder that is not empty without asking.")
@session_command
def restore(session: Session, /, agent: str, target: Path | None, at: str | None, **flags: Any) -> int:
    """Bring an agent back: as it is now or as it was, in place or into another folder.

    With --from it comes from a second copy, also on a machine that never had it; nobody else's role changes, unless
    --adopt says that the agent lives here from now on. `--from aside` is a history that gave way on this machine.
    Exit 1 when something could not be restored because the copy of it is damaged (the rest is restored), or when
    another program moved a restored file away meanwhile.
    """
    from lifeboat_adapters.memory_stores import RowChoice
    from lifeboat_core.restore import RestoreOptions, opened_plan, run

    if flags["adopt"] and target is None:
        raise click.UsageError("--adopt needs --to: the folder in which the agent lives from now on")
    remote, take_over, seen = flags.pop("remote"), flags.pop("take_over"), flags.pop("seen")
    if seen is not None and not flags["accept_unsigned"]:
        raise click.UsageError("--seen goes with --accept-unsigned")
    if take_over is not None and not (remote and flags["adopt"]):
        raise click.UsageError("--take-over goes with --from and --adopt")
    if flags["with_credentials"]:
        session = passphrases.unlocked(session)
    globs, reindex = tuple(flags.pop("paths")), not flags.pop("no_reindex")
    rows = RowChoice(flags.pop("with_cron"), flags.pop("with_sessions"))
    options = RestoreOptions(at=at, path_globs=globs, reindex=reindex, rows=rows, **flags)
    if remote is not None:
        return restore_from.restore_from(session, remote, agent, target, options, take_over, seen)
    found = agents.find(session.context, agent)
    with opened_plan(session.context, found, target, options) as plan:
        return carry_out(session, plan, lambda wanted, tell: run(session.context, wanted, tell), seen)


def carry_out(session: Session, plan: Plan, run: Callable[[Plan, Tell], RestoreReport], seen: str | None = None) -> int:
    """Show a plan, or ask about it where something is in the way, and run it. Return the exit status: 1 where
    something was left out, or is left without its credentials. `seen` is the code of an unsigned state that the user
    looked at."""
    from lifeboat_core.restore import receipt
    from lifeboat_core.restore.seen_code import seen_code
    from lifeboat_keys.signing import Verdict

    options = plan.options
    if options.dry_run:
        code = None if plan.verdict is Verdict.SIGNED else seen_code(plan)
        document = plan.to_json() | receipt.of(plan, plan.fates).to_json() | {"seen": code}
        session.output.document(document, lambda: _print_plan(session, plan))
        return 0
    if plan.verdict is not Verdict.SIGNED:
        quarantine_view.ask_consent(session, plan, seen)
    if not plan.is_fresh and not options.yes and may_ask(session):
        _print_plan(session, plan)
        click.confirm("Write this?", abort=True, err=True)
        plan = dataclasses.replace(plan, options=dataclasses.replace(options, yes=True))
    with session.output.progress(f"Restoring {plan.agent_name}") as tell:
        report = run(plan, tell).to_json()
    session.output.document(report, lambda: print_report(session.output, report, options.path_globs))
    return exit_status(report)


def exit_status(report: dict[str, Any]) -> int:
    """Return 1 for a restore or an import that left something out, or the capture that follows it, and where something
    that was written is not in its place."""
    return 1 if any(report[each] for each in ("left_out", "lacking", "not_captured", "moved_away")) else 0


def _print_plan(session: Session, plan: Any) -> None:
    from lifeboat_core.restore import diff_lines, hiding, plan_lines, receipt

    for line in plan_lines(plan):
        session.output.line(line)
    session.output.line(receipts.counts_line(receipt.of(plan, plan.fates).to_json()))
    for line in diff_lines(plan, hiding.in_files(session.context, plan)):
        session.output.block(line)


def print_report(
    output: Output, report: dict[str, Any], globs: tuple[str, ...] = (), *, is_dry_run: bool = False
) -> None:
    """What a restore did (or would do), for people. `globs`: it was limited to these files."""
    output.line(_headline(report, globs, is_dry_run=is_dry_run), style="bold")
    files = report["files"]
    said = ", ".join(f"{count} {word}" for word, count in files.items() if count) or "none to write"
    output.line(f"Files: {said}.")
    if report["lacking"]:
        output.line(f"Partial: {count_text(len(report['lacking']), 'file')} without credentials.")
    is_whole = report["kind"] != "undo" and not globs
    if is_whole:
        output.line(f"Memories: {report['records']['restored']}.")
    if report["kind"] != "undo" and (report["credentials"]["injected"] or report.get("credential_details")):
        output.line(_credentials(report))
    if report["objects"]:
        output.line(receipts.counts_line(report))
    for warning in report["warnings"]:
        output.warn(warning)
    for each in report.get("credential_details", []) if is_dry_run else []:
        if each["where"]:
            output.line(f"  {each['label']} -> {each['where']}")
    for line in _left_out(report):
        output.warn(line)
    for line in receipts.detail_lines(report):
        output.line(f"  {line}")
    for missing in report.get("capabilities_missing", []):
        output.warn(f"this machine lacks what {missing['name']} needs: {missing.get('host_requirements', '')}")
    if report.get("adopted"):
        output.line(f"{report['name']} lives here from now on: a machine that wrote it before sends nothing more.")
    for title, command in _next(report):
        output.line(f"{title}:")
        output.verbatim(f"  {command}")


def _headline(report: dict[str, Any], globs: tuple[str, ...], *, is_dry_run: bool) -> str:
    if report["kind"] == "undo":
        return f"The last restore of {report['name']} is taken back in {report['to']}."
    what = f"What fits {' '.join(globs)} of sequence" if globs else "Sequence"
    lost = f", without {count_text(len(report['left_out']), 'file')} of it" if report.get("left_out") else ""
    state = "would be" if is_dry_run else "is"
    return f"{what} {report['sequence']} of {report['name']} {state} in {report['to']}{lost}."


def _credentials(report: dict[str, Any]) -> str:
    counts = report["credentials"]
    left = f", {counts['skipped']} left out" if counts["skipped"] else ""
    return f"Credentials: {counts['injected']} in their places{left}."


def _left_out(report: dict[str, Any]) -> Iterator[str]:
    """Credentials that stay out with why, those a person has to do something about, and what lacks them."""
    from lifeboat_core.restore.reasons import ADVISING

    if report["kind"] == "undo":
        return
    files = {(item["name"], item["reason"]) for item in report["skipped"]}
    said = {(item["name"], item["reason"]) for item in report["skipped"] if item.get("warning") == "named"}
    for each in report.get("credential_details", []):
        whole = (each["label"].partition(": ")[0], each["reason"])
        if whole in files:  # the whole file stays out: that is said once
            if whole not in said:
                said.add(whole)
                yield f"{whole[0]}: {whole[1]}"
            continue
        needed = f"; {each['reissue']}" if each["reissue"] and each.get("reason_code") not in ADVISING else ""
        if each["reason"] or needed:
            yield f"{each['label']}: {each['reason'] or 'it is in its place'}{needed}"
    for each in report.get("capabilities_without", []):
        yield f"{each['name']} stays without {', '.join(each['credentials'])}"


def _next(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is left to do, each with its command."""
    from lifeboat_adapters.credentials import StaysOut
    from lifeboat_core.restore.reasons import LeftOutCode

    name = argument(report["name"])
    left = report["lacking"] or report["without_credentials"]
    cut_out = any(each.get("warning") and each["reason_code"] == LeftOutCode.CUT_OUT for each in report["skipped"])
    later = any(each.get("reason_code") == StaysOut.NO_PROGRAM for each in report.get("credential_details", []))
    if left or cut_out or later:
        where = "" if report["in_place"] else f" --to {argument(report['to'])}"
        where += f" --state-dir {argument(report['state_dir'])}" if report.get("state_dir") else ""
        yield (
            "Put the credentials back",
            f"lifeboat restore {name} --at {report['sequence']}{where} --with-credentials",
        )
    if any(each["code"] == "damaged" for each in report.get("left_out", [])):
        yield "Read the damaged bytes again, from the workspace or a remote", f"lifeboat verify {name} --whole"
    for step in report["next"]:
        yield step["title"], step["command"]
    if report["undo"]:
        yield "Take it back", f"lifeboat undo {name}"


@click.command(epilog=examples("lifeboat undo Juniper"))
@click.argument("agent", required=False, type=AGENT)
@click.option("--force", is_flag=True, help="Also when files changed since the restore.")
@session_command
def undo(session: Session, agent: str | None, force: bool) -> int:
    """Take the last restore of the last seven days back. It ends with 1 when the capture that follows left something
    out, or something that was put back was moved away meanwhile."""
    from lifeboat_core.restore import undo as take_back

    found = agents.find(session.context, agent) if agent else None
    with session.output.progress("Taking the last restore back") as tell:
        report = take_back(session.context, found, force=force, tell=tell).to_json()
    session.output.document(report, lambda: print_report(session.output, report))
    return 1 if report["not_captured"] or report["moved_away"] else 0


@click.command(
    short_help="Try the copy out: restore it aside, compare every byte.",
    epilog=examples(
        "lifeboat verify Juniper", "lifeboat verify Juniper --at 3", "lifeboat verify Juniper --remote NAME"
    ),
)
@click.argument("agent", type=AGENT)
@click.option("--at", type=MOMENT, metavar="SEQ|TIME", help="A sequence or a time instead of the newest.")
@click.option("--whole", is_flag=True, help="Every kept sequence, not only the one that is tried out.")
@click.option("--remote", type=REMOTE, help="Restore the newest state of this remote, from its files alone.")
@examining_command
def verify(session: Session, agent: str, at: str | None, whole: bool, remote: str | None) -> int:
    """A restore drill: write the agent to a folder of its own, compare every byte, throw it away. It ends with 1 when
    the copy does not hold, or when files of the agent are not in it: a limit keeps them out, or they could not be read.

    Bytes that are damaged are read again from the workspace or from a remote that has them, rows of the vault that were
    lost or changed from a remote.
    """
    from lifeboat_core.restore.opening import number_at
    from lifeboat_core.verify import verification

    found = agents.find(session.context, agent)
    if remote is not None:
        if at is not None or whole:
            raise click.UsageError("--remote tries out the newest state there: leave out --at and --whole.")
        return _verify_remote(session, found, remote)
    number = None
    if at is not None:
        with session.context.vault(found.id) as vault:
            number = number_at(vault, at)
    with session.output.progress(f"Verifying {found.name}") as tell:
        report = verification.drill(session.context, found, number, whole=whole, tell=tell).to_json()
    poke(session.context, found)
    missing = report["over_limit"] + report["unread"]

    def text() -> None:
        for healed in report["healed"]:
            session.output.line(healed)
        for mismatch in report["mismatches"]:
            session.output.line(mismatch)
        for damage in report["damaged"]:
            session.output.warn(f"{damage}; the copy is as the workspace has it")
        for reason in report["not_captured"]:
            session.output.warn(f"not in this sequence: {reason}")
        problems = count_text(len(report["mismatches"]), "problem")  # not all of them need to be in this sequence
        verdict = f"was tried: {problems}" if report["mismatches"] else "holds: every byte was written and compared"
        if missing:
            verdict += f"; {count_text(missing, 'file')} of the agent not in it"
        files = count_text(report["files"], "file")
        files += f", {count_text(report['rows'], 'row')}" if report["rows"] else ""
        session.output.line(f"{found.name}: sequence {report['sequence']} ({files}) {verdict}", style="bold")

    session.output.document(report, text)
    return 1 if report["mismatches"] or missing else 0


def _verify_remote(session: Session, found: Agent, remote: str) -> int:
    from lifeboat_core.remotes import drilling, registry

    config = registry.find(session.context, remote)
    with session.output.progress(f"Verifying {found.name} at {config.name}") as tell:
        report = drilling.drill(session.context, found, config, tell).to_json()
    poke(session.context, found)

    def text() -> None:
        for problem in report["mended"]:
            session.output.line(f"mended by a new snapshot: {problem}")
        for mismatch in report["mismatches"]:
            session.output.line(mismatch)
        verdict = "cannot be restored from" if report["mismatches"] else "holds: every byte came back from there"
        where = f"sequence {report['sequence']} at {config.name} ({count_text(report['files'], 'file')})"
        session.output.line(f"{found.name}: {where} {verdict}", style="bold")

    session.output.document(report, text)
    return 1 if report["mismatches"] else 0
