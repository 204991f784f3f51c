"""`lifeboat setup`: protect agents, or bring one back, with a question at each step."""

from __future__ import annotations

from pathlib import Path

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.setup import setup_questions as asking
from lifeboat_cli.setup import setup_steps as steps
from lifeboat_cli.setup.setup_steps import DONE, MISSING
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.output import end_question_line
from lifeboat_cli.terminal.word_screen import has_terminal
from lifeboat_core.capture.sync_json import list_left_out
from lifeboat_core.documents.setup_documents import Did, Setup, Step
from lifeboat_core.texts.human_text import path_text

KIT = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    short_help="Guided setup: protect your agents, or restore them.",
    epilog=format_examples(
        "lifeboat setup",
        "lifeboat setup --kit kit.txt",
        "lifeboat setup --yes",
        "lifeboat setup --from-alf --hosted",
    ),
)
@click.option("--kit", type=KIT, help="Restore every agent on the remotes that this recovery kit lists.")
@click.option("--take-over", metavar="MACHINE", multiple=True, help="With --kit: take agents over from this machine.")
@click.option("--passphrase-stdin", is_flag=True, help="With --kit: read its passphrase from standard input.")
@click.option(
    "--yes", is_flag=True, help="Ask no questions: do the steps that need no secret, and list the remaining steps."
)
@click.option("--from-alf", is_flag=True, help="Take over the agents of the reference client `alf` from ~/.alf.")
@click.option("--hosted", is_flag=True, help="With --from-alf: also fetch the history from its service.")
@click.option(
    "--workspace",
    "workspaces",
    type=click.Path(file_okay=False, path_type=Path),
    multiple=True,
    metavar="FOLDER",
    help="With --from-alf: also look for its agents in this folder (repeatable).",
)
@click.option("--dry-run", is_flag=True, help="With --from-alf or --kit: show what would be done.")
@session_command
def setup(
    session: CommandSession,
    kit: Path | None,
    take_over: tuple[str, ...],
    passphrase_stdin: bool,
    yes: bool,
    from_alf: bool,
    hosted: bool,
    workspaces: tuple[Path, ...],
    dry_run: bool,
) -> int:
    """Protect the agents on this machine, or restore an agent from a remote, with a question at each step.

    Each step shows the command that it runs, and you can skip it. If you run the setup again, it continues with the
    missing steps. Without a terminal it reports the state of each step. With --kit it recovers your key, adds the
    remotes in the kit, asks for confirmation, and restores every agent with its credentials. It does not start the
    agents. After an interruption, run the same command again to continue. Exit status 1 if a step or an agent was
    left out.
    """
    if kit is not None:
        if from_alf or hosted or workspaces:
            raise click.UsageError("--kit and --from-alf cannot be used together")
        from lifeboat_cli.setup.setup_from_kit import return_from_kit

        return return_from_kit(
            session, kit, assume_yes=yes, dry_run=dry_run, passphrase_stdin=passphrase_stdin, take_over=take_over
        )
    if take_over or passphrase_stdin:
        raise click.UsageError("--take-over and --passphrase-stdin need --kit")
    if from_alf:
        from lifeboat_cli.setup.setup_from_alf import take_over_from_alf

        return take_over_from_alf(session, hosted=hosted, workspaces=workspaces, dry_run=dry_run)
    if hosted or workspaces or dry_run:
        raise click.UsageError("--hosted, --workspace and --dry-run need --from-alf")
    if yes:
        return _without_questions(session)
    if not has_terminal(session.output):
        _tell(session, [])
        return 0
    try:
        _guide(session)
    except (click.Abort, KeyboardInterrupt) as error:
        end_question_line(error)
        session.output.note("The setup was stopped. Finished steps stay done. To continue: lifeboat setup")
        raise
    return 0


# With questions -----------------------------------------------------------------------------------------------------


def _guide(session: CommandSession) -> None:
    from lifeboat_cli.setup.setup_bring_back import bring_back
    from lifeboat_cli.setup.setup_protect import protect_agents

    done = [step for step in steps.list_setup_steps(session.context) if step.state == DONE and step.name != steps.FIND]
    for step in done:
        session.output.line(f"Done: {step.text}")
    session.output.line("What do you want to do?", style="bold")
    ways = ("Protect the agents on this machine", "Restore my agent from a remote")
    chosen = asking.ask_choice(session, "Your choice", ways)
    (protect_agents, bring_back)[chosen or 0](session)
    _say_end(session)


def _say_end(session: CommandSession) -> None:
    """Print the final state and what is left."""
    asking.print_heading(session, "Status")
    asking.attempt_command(session, "status")
    left = [step for step in steps.list_setup_steps(session.context) if step.state == MISSING]
    for step in left:
        session.output.line(f"Not done yet: {step.text}")
        if step.command:
            session.output.verbatim(f"  {step.command}")
    if left:
        session.output.line("Or continue the guided setup: lifeboat setup")


# Without questions --------------------------------------------------------------------------------------------------


def _without_questions(session: CommandSession) -> int:
    """Protect the found agents, create the key, and install the service where possible."""
    did: list[Did] = []
    for offer in steps.discover_agents(session.context).open:
        did.append(_done(["agents", "add", offer.workspace]))
    if session.context.keys().key_id is None:
        did.append(_key_made(session))
    service = steps.check_service_ready(session.context)
    if service.state == MISSING and service.action == steps.INSTALL_SERVICE:
        did.append(_done(steps.split_command_words(str(service.command))))
    _tell(session, did)
    return 1 if any(one.error or one.left_out for one in did) else 0


def _done(words: list[str]) -> Did:
    """Return a command that was run, and its error. `left_out` names what of an agent it did not capture."""
    import shlex

    command = shlex.join(["lifeboat", *words])
    try:
        capture = asking.read_json_answer(*words).get("capture")
    except LifeboatError as error:
        return Did(command, steps.describe_step_problem(error))
    return Did(command, left_out={} if capture is None else list_left_out(capture))


def _key_made(session: CommandSession) -> Did:
    """Create the key without its words, which are only shown on a terminal."""
    try:
        session.context.keys().ensure()
    except LifeboatError as error:
        return Did("lifeboat keys init", steps.describe_step_problem(error))
    return Did("lifeboat keys init")


def _tell(session: CommandSession, did: list[Did]) -> None:
    """Print the state of each step, and what was done now."""
    found = steps.list_setup_steps(session.context)
    document = Setup(tuple(found), steps.find_next_command(found), tuple(did))
    session.output.document(document, lambda: _print(session, found, did))


def _print(session: CommandSession, found: list[Step], did: list[Did]) -> None:
    output = session.output
    for one in did:
        output.verbatim(f"$ {one.command}")
        for path, reason in one.left_out.items():
            output.warn(f"could not capture {path_text(path)}: {reason}")
        if one.error:
            output.warn(f"{one.error['title']}: {one.error['message']}")
            if one.error["fix"]:
                output.note(f"  to fix it: {one.error['fix']}")
    for step in found:
        output.line(f"{step.state:<8} {step.text}")
        if step.state == MISSING and step.command:
            output.verbatim(f"         {step.command}")
    if all(step.state != MISSING for step in found):
        output.line("The setup is complete. To see the state of your agents: lifeboat status", style="bold")
