"""`lifeboat restore`, `undo`, `verify`: restore an agent, undo a restore, prove that a restore would work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.keys import passphrase_input
from lifeboat_cli.restore import quarantine_view, restore_counts_text, restore_from_remote
from lifeboat_cli.terminal.command_session import CommandSession, can_ask, examining_command, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT, MOMENT, PATH_PAIR, REMOTE, RUNTIME
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.restore.restore_summary import summarize_restore
from lifeboat_core.texts.human_text import count_text, join_names, quote_argument
from lifeboat_daemon.control.poke_daemon import wake_daemon

if TYPE_CHECKING:
    from lifeboat_core.processes.progress import Tell
    from lifeboat_core.restore import RestorePlan, RestoreReport


def add_row_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for optional rows of the runtime's databases."""
    cron = click.option(
        "--with-cron",
        is_flag=True,
        help="Restore scheduled jobs. If the agent still runs on another machine, the jobs run twice.",
    )
    sessions = click.option("--with-sessions", is_flag=True, help="Restore the transcripts of sessions.")
    return cron(sessions(command))


def add_seen_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the unsigned state that was looked at, for scripts."""
    said = "With --accept-unsigned, in scripts: the code that the preview shows."
    return click.option("--seen", metavar="CODE", help=said)(command)


@click.command(
    short_help="Restore an agent, in place or into another directory.",
    epilog=format_examples(
        "lifeboat restore Juniper --dry-run",
        "lifeboat restore Juniper --at 3 --path MEMORY.md",
        "lifeboat restore Juniper --at 2026-11-20T18:00 --to ~/juniper-as-it-was",
        "lifeboat restore Juniper --without-credentials",
        "lifeboat restore Claude --from home-server --to ~/.claude --map /srv/ada=/srv/bob --adopt",
        "lifeboat restore Juniper --to ~/.openclaw/workspace --with-credentials",
        "lifeboat restore Juniper --runtime zeroclaw --to ~/.zeroclaw/agents/juniper/workspace --adopt",
        "lifeboat restore Juniper --from home-server --to ~/.openclaw/workspace --with-credentials --adopt",
    ),
)
@click.argument("agent", type=AGENT)
@click.option(
    "--to",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    help="Restore into this directory (default: in place).",
)
@click.option(
    "--at",
    type=MOMENT,
    metavar="SEQ|TIME",
    help="Restore this sequence, or the last sequence before this time (default: the newest).",
)
@click.option(
    "--from",
    "remote",
    type=REMOTE,
    metavar="REMOTE",
    help="Restore from the copy on this remote (default: from this machine).",
)
@click.option("--runtime", type=RUNTIME, help="Write files for this runtime (default: the runtime of the agent).")
@click.option(
    "--path", "paths", metavar="GLOB", multiple=True, help="Restore only files that match this pattern (repeatable)."
)
@click.option(
    "--with-credentials/--without-credentials",
    default=None,
    help="Put credentials back into their files, or leave them out (default: put them back if your key is unlocked "
    "and the restore is in place).",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="State directory of the runtime, for example ~/.openclaw (default: the one around the workspace).",
)
@click.option(
    "--map",
    "maps",
    type=PATH_PAIR,
    metavar="OLD=NEW",
    multiple=True,
    help="Change the project path OLD to NEW in the restored data (repeatable; only Claude Code).",
)
@add_row_options
@click.option("--adopt", is_flag=True, help="With --to: this directory becomes the agent's workspace.")
@click.option(
    "--take-over",
    metavar="MACHINE",
    help="With --from and --adopt: confirm the name of the machine that wrote within 24 hours.",
)
@click.option("--finish", is_flag=True, help="Also run the commands of the runtime that complete the restore.")
@click.option("--no-reindex", is_flag=True, help="Do not rebuild the search index of the runtime.")
@click.option(
    "--accept-unsigned",
    is_flag=True,
    help="Restore a state without a valid signature. The command first shows what could run on this machine.",
)
@add_seen_option
@click.option("--dry-run", is_flag=True, help="Show the plan and the differences; write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before writing into a directory that is not empty.")
@session_command
def restore(session: CommandSession, /, agent: str, target: Path | None, at: str | None, **flags: Any) -> int:
    """Restore an agent in place or into another directory, from this machine or from a remote.

    In place, credentials are put back if your key is unlocked; elsewhere only with --with-credentials. If the
    workspace is in a state directory, such as ~/.openclaw/workspace, the files of the state directory are restored
    too. With --from, the agent need not be known on this machine. The machine that wrote the agent stays the writer
    unless you pass --adopt. `--from aside` restores from a history of this machine that the history on a remote
    replaced. Exit status 1 if damaged files were left out, if a file lacks its credentials, or if another program
    moved a restored file during the restore.
    """
    from lifeboat_adapters.memory_stores import RowChoice
    from lifeboat_core.restore import RestoreOptions, carry_out_plan, open_plan

    if flags["adopt"] and target is None:
        raise click.UsageError("--adopt needs --to with the new workspace of the agent")
    remote, take_over, seen = flags.pop("remote"), flags.pop("take_over"), flags.pop("seen")
    if seen is not None and not flags["accept_unsigned"]:
        raise click.UsageError("--seen needs --accept-unsigned")
    if take_over is not None and not (remote and flags["adopt"]):
        raise click.UsageError("--take-over needs --from and --adopt")
    if flags["with_credentials"]:
        session = passphrase_input.with_unlocked_session(session)
    maps = tuple(flags.pop("maps"))
    globs, reindex = tuple(flags.pop("paths")), not flags.pop("no_reindex")
    rows = RowChoice(flags.pop("with_cron"), flags.pop("with_sessions"))
    options = RestoreOptions(at=at, path_globs=globs, reindex=reindex, rows=rows, paths=maps, **flags)
    if remote is not None:
        return restore_from_remote.restore_from(session, remote, agent, target, options, take_over, seen)
    found = agents.find_agent(session.context, agent)
    with open_plan(session.context, found, target, options) as plan:
        return run_restore_plan(session, plan, lambda wanted, tell: carry_out_plan(session.context, wanted, tell), seen)


def run_restore_plan(
    session: CommandSession,
    plan: RestorePlan,
    run: Callable[[RestorePlan, Tell], RestoreReport],
    seen: str | None = None,
) -> int:
    """Show a plan, or ask if something is in the way, and run it. Return the exit status: 1 if something was left out,
    or is left without its credentials. `seen` is the code of an unsigned state that the user looked at."""
    from lifeboat_core.restore import full_receipt
    from lifeboat_core.restore.seen_code import make_seen_code
    from lifeboat_keys.signed.sequence_signatures import SignatureVerdict

    options = plan.options
    if options.dry_run:
        code = None if plan.verdict is SignatureVerdict.SIGNED else make_seen_code(plan)
        document = plan.to_json() | full_receipt.make_receipt(plan, plan.fates).to_json() | {"seen": code}
        session.output.document(document, lambda: _print_plan(session, plan))
        return 0
    if plan.verdict is not SignatureVerdict.SIGNED:
        quarantine_view.ask_consent(session, plan, seen)
    if not plan.is_fresh and not options.yes and can_ask(session):
        _print_plan(session, plan)
        click.confirm("Write this?", abort=True, err=True)
        plan = dataclasses.replace(plan, options=dataclasses.replace(options, yes=True))
    with session.output.progress(f"Restoring {plan.agent_name}") as tell:
        report = run(plan, tell).to_json()
    session.output.document(report, lambda: print_restore_report(session.output, report, options.path_globs))
    return restore_exit_status(report)


def restore_exit_status(report: JsonObject) -> int:
    """Return 1 if a restore or an import left something out, if the capture after it did, or if a written file is not
    in its place."""
    return 1 if any(report[each] for each in ("left_out", "lacking", "not_captured", "moved_away")) else 0


def _print_plan(session: CommandSession, plan: Any) -> None:
    from lifeboat_core.restore import describe_diffs, describe_plan, full_receipt, secret_hiding

    for line in describe_plan(plan):
        session.output.line(line)
    document = plan.to_json() | full_receipt.make_receipt(plan, plan.fates).to_json()
    session.output.line(f"{summarize_restore(document, is_dry_run=True)}.")
    for line in describe_diffs(plan, secret_hiding.hide_in_files(session.context, plan)):
        session.output.block(line)


def print_restore_report(
    output: CommandOutput, report: JsonObject, globs: tuple[str, ...] = (), *, is_dry_run: bool = False
) -> None:
    """Print what a restore did, or would do, for people. `globs`: it was limited to these files."""
    output.line(_headline(report, globs, is_dry_run=is_dry_run), style="bold")
    output.line(f"{summarize_restore(report, is_dry_run=is_dry_run)}.")
    if report["lacking"]:
        output.line(f"Partial: {count_text(len(report['lacking']), 'file')} restored without credentials.")
    for warning in report["warnings"]:
        output.warn(warning)
    for each in report.get("credential_details", []) if is_dry_run else []:
        if each["where"]:
            output.line(f"  {each['label']} -> {each['where']}")
    for line in _left_out(report):
        output.warn(line)
    for line in restore_counts_text.detail_lines(report, is_limited=bool(globs)):
        output.line(f"  {line}")
    for missing in report.get("capabilities_missing", []) if not globs else []:
        output.warn(
            f"the skill {missing['name']} needs something that this machine does not have: "
            f"{missing.get('host_requirements', '')}"
        )
    if report.get("adopted"):
        output.line(
            f"This machine is now the writer of {report['name']}. The previous writer can no longer push changes."
        )
    for title, command in _next(report):
        output.line(f"{title}:")
        output.verbatim(f"  {command}")


def _headline(report: JsonObject, globs: tuple[str, ...], *, is_dry_run: bool) -> str:
    if report["kind"] == "undo":
        return f"The last restore of {report['name']} into {report['to']} was undone."
    what = f"The files that match {' '.join(globs)} in sequence" if globs else "Sequence"
    lost = f", but {count_text(len(report['left_out']), 'file')} left out" if report.get("left_out") else ""
    state = "would be restored" if is_dry_run else "are restored" if globs else "is restored"
    return f"{what} {report['sequence']} of {report['name']} {state} to {report['to']}{lost}."


def _left_out(report: JsonObject) -> Iterator[str]:
    """Yield what the user has to do about credentials, and what lacks them. The summary names what was left out: those
    beyond the ones that it names follow here."""
    from lifeboat_core.restore.left_out_reasons import ADVISING, LeftOutCode, ReissueCode
    from lifeboat_core.restore.restore_summary import MOST_NAMED, list_left_out, strip_kind

    if report["kind"] == "undo":
        return
    warned = {item["name"] for item in report["skipped"] if item.get("warning") == "named"}
    for thing in list_left_out(report)[MOST_NAMED:]:
        if thing.name not in warned:
            yield f"{thing.name}: {thing.reason}"
    for each in report.get("credential_details", []):
        is_settled = each["reissue_code"] in (None, ReissueCode.MADE_ANEW) or strip_kind(each["label"]) in warned
        if each["reason_code"] == LeftOutCode.NOT_ASKED or is_settled:
            continue
        if each["reason_code"] in ADVISING:
            yield f"{each['label']}: {each['reason']}"
        else:
            yield f"{each['label']}: {each['reissue']}"
    for each in report.get("capabilities_without", []):
        yield (
            f"the capability {each['name']} does not work without these credentials: {join_names(each['credentials'])}"
        )


def _next(report: JsonObject) -> Iterator[tuple[str, str]]:
    """Print what is left to do, each with its command."""
    from lifeboat_adapters.credential_types import CredentialRefusal
    from lifeboat_core.restore.left_out_reasons import LeftOutCode

    name = quote_argument(report["name"])
    left = report["lacking"] or report["without_credentials"]
    cut_out = any(each.get("warning") and each["reason_code"] == LeftOutCode.CUT_OUT for each in report["skipped"])
    later = any(
        each.get("reason_code") == CredentialRefusal.NO_PROGRAM for each in report.get("credential_details", [])
    )
    if left or cut_out or later:
        where = "" if report["in_place"] else f" --to {quote_argument(report['to'])}"
        where += f" --state-dir {quote_argument(report['state_dir'])}" if report.get("state_dir") else ""
        yield (
            "To put the credentials back",
            f"lifeboat restore {name} --at {report['sequence']}{where} --with-credentials",
        )
    if any(each["code"] == "damaged" for each in report.get("left_out", [])):
        yield "To repair the damaged files from the workspace or a remote", f"lifeboat verify {name} --whole"
    for step in report["next"]:
        yield step["title"], step["command"]
    if report["undo"]:
        yield "To reverse the undo" if report["kind"] == "undo" else "To undo this restore", f"lifeboat undo {name}"


@click.command(epilog=format_examples("lifeboat undo Juniper"))
@click.argument("agent", required=False, type=AGENT)
@click.option("--force", is_flag=True, help="Undo the restore even if files changed after it.")
@session_command
def undo(session: CommandSession, agent: str | None, force: bool) -> int:
    """Undo the last restore of the past seven days.

    The agent is captured afterwards. Exit status 1 if a file could not be captured, or if another program moved a
    file during the undo.
    """
    from lifeboat_core.restore import undo_restore as take_back

    found = agents.find_agent(session.context, agent) if agent else None
    with session.output.progress("Undoing the last restore") as tell:
        report = take_back(session.context, found, force=force, tell=tell).to_json()
    session.output.document(report, lambda: print_restore_report(session.output, report))
    return 1 if report["not_captured"] or report["moved_away"] else 0


@click.command(
    short_help="Restore into a temporary directory and compare every byte.",
    epilog=format_examples(
        "lifeboat verify Juniper", "lifeboat verify Juniper --at 3", "lifeboat verify Juniper --remote NAME"
    ),
)
@click.argument("agent", type=AGENT)
@click.option(
    "--at",
    type=MOMENT,
    metavar="SEQ|TIME",
    help="Verify this sequence, or the last sequence before this time (default: the newest).",
)
@click.option("--whole", is_flag=True, help="Verify every stored sequence.")
@click.option(
    "--remote", type=REMOTE, help="Verify the newest sequence on this remote, using only the data on the remote."
)
@examining_command
def verify(session: CommandSession, agent: str, at: str | None, whole: bool, remote: str | None) -> int:
    """Restore an agent into a temporary directory, compare every byte, and delete the directory.

    Damaged files are repaired from the workspace or from a remote, and damaged database rows of the history from a
    remote. Exit status 1 if the history is damaged, or if files of the agent are missing from it because they are too
    large or unreadable.
    """
    from lifeboat_core.restore.plan_opening import find_sequence_at
    from lifeboat_core.verify import samples_and_drills

    found = agents.find_agent(session.context, agent)
    if remote is not None:
        if at is not None or whole:
            raise click.UsageError(
                "--remote verifies the newest sequence on the remote, and cannot be used with --at or --whole."
            )
        return _verify_remote(session, found, remote)
    number = None
    if at is not None:
        with session.context.vault(found.id) as vault:
            number = find_sequence_at(vault, at)
    with session.output.progress(f"Verifying {found.name}") as tell:
        report = samples_and_drills.drill_vault(session.context, found, number, whole=whole, tell=tell).to_json()
    wake_daemon(session.context, found)
    missing = report["over_limit"] + report["unread"]

    def text() -> None:
        for healed in report["healed"]:
            session.output.line(healed)
        for mismatch in report["mismatches"]:
            session.output.line(mismatch)
        for damage in report["damaged"]:
            session.output.warn(f"{damage}; the captured content is equal to the file in the workspace")
        for reason in report["not_captured"]:
            session.output.warn(f"missing from this sequence: {reason}")
        problems = count_text(len(report["mismatches"]), "problem")  # Not all of them need to be in this sequence.
        verdict = f"has {problems}" if report["mismatches"] else "is verified: every byte was written and compared"
        if missing:
            verdict += f"; {count_text(missing, 'file')} of the agent missing from this sequence"
        files = count_text(report["files"], "file")
        files += f", {count_text(report['rows'], 'row')}" if report["rows"] else ""
        session.output.line(f"{found.name}: sequence {report['sequence']} ({files}) {verdict}", style="bold")

    session.output.document(report, text)
    return 1 if report["mismatches"] or missing else 0


def _verify_remote(session: CommandSession, found: Agent, remote: str) -> int:
    from lifeboat_core.remotes import remote_drill, remote_registry

    config = remote_registry.find_remote(session.context, remote)
    with session.output.progress(f"Verifying {found.name} on {config.name}") as tell:
        report = remote_drill.drill_remote(session.context, found, config, tell).to_json()
    wake_daemon(session.context, found)

    def text() -> None:
        for problem in report["mended"]:
            session.output.line(f"a new snapshot repaired this problem: {problem}")
        for mismatch in report["mismatches"]:
            session.output.line(mismatch)
        verdict = "cannot be restored" if report["mismatches"] else "is verified: every byte was fetched and compared"
        where = f"sequence {report['sequence']} on {config.name} ({count_text(report['files'], 'file')})"
        session.output.line(f"{found.name}: {where} {verdict}", style="bold")

    session.output.document(report, text)
    return 1 if report["mismatches"] else 0
