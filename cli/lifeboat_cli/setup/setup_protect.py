"""`lifeboat setup`: protect the agents on this machine step by step. Finished steps are only reported."""

from __future__ import annotations

from pathlib import Path

from lifeboat_cli.setup import setup_questions as asking
from lifeboat_cli.setup import setup_steps as steps
from lifeboat_cli.setup.setup_remote import ask_remote
from lifeboat_cli.setup.setup_steps import DONE, MISSING
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.documents.setup_documents import Step
from lifeboat_core.texts.human_text import path_text
from lifeboat_keys.stores.key_environment import PASSPHRASE, PASSPHRASE_FILE
from lifeboat_keys.stores.store_kinds import StoreKind

_STORE = ("--store", str(StoreKind.PASSPHRASE))


def protect_agents(session: CommandSession) -> None:
    """Run all steps in order. Each may be skipped."""
    for number, (title, run) in enumerate(
        (
            ("Agents on this machine", set_up_agents),
            ("Your key and its 24 words", set_up_key),
            ("A remote", set_up_remote),
            ("The service", set_up_service),
        ),
        start=1,
    ):
        asking.print_heading(session, f"{number} of 4. {title}")
        run(session)


def set_up_agents(session: CommandSession) -> None:
    """Offer each found agent that is not protected. If none was found, ask for its folder."""
    found = steps.discover_agents(session.context)
    for problem in found.problems:
        session.output.warn(problem)
    session.output.line(steps.check_agents_found(found).text)
    for offer in found.open:
        if asking.ask_yes_no(f"Protect {offer.name} ({offer.runtime}, {path_text(offer.workspace)})?"):
            asking.attempt_command(session, "agents", "add", offer.workspace)
        else:
            session.output.line(f"{offer.name} is not protected. To stop Lifeboat from offering this agent:")
            session.output.verbatim(f"  lifeboat agents discover --dismiss {offer.workspace}")
    if not found.open and found.protected:
        session.output.line(steps.check_agents_protected(found).text)
    while not steps.discover_agents(session.context).protected and not found.open:
        folder = asking.ask_text("Workspace folder of an agent (press Enter to skip)")
        if not folder or asking.attempt_command(session, "agents", "add", str(Path(folder).expanduser())) is None:
            break


def set_up_key(session: CommandSession) -> None:
    """Create the key if there is none, wrap it with a passphrase if it would be unprotected, and show and prove its
    words."""
    key, words = steps.check_key_ready(session.context), steps.check_words_proven(session.context)
    session.output.line(key.text)
    if key.state == MISSING and session.context.keys().key_id is not None:
        session.output.verbatim(f"  {key.command}")
        return
    if words.state == DONE:
        session.output.line(words.text)
        return
    if key.state == DONE:
        session.output.line(words.text)
    session.output.line("If this machine is lost, the credentials can be recovered only with these 24 recovery words.")
    if asking.ask_yes_no("Show the recovery words now? Have paper and a pen ready."):
        wrap = _STORE if _would_lie_open(session) and _wants_passphrase(session) else ()
        asking.retry_until_done(lambda: asking.attempt_command(session, "keys", "init", *wrap))
    else:
        session.output.line("To do this step later: lifeboat keys init")


def _would_lie_open(session: CommandSession) -> bool:
    """Return whether only a file mode protects the key, or would protect a new one."""
    keys, around = session.context.keys(), session.context.environment
    if keys.key_id is not None:
        return keys.store is StoreKind.FILE
    given = any(around.get(name) for name in (PASSPHRASE, PASSPHRASE_FILE, "LIFEBOAT_KEY_FILE"))
    return (
        not given and keys.store_problem(StoreKind.KEYRING) is not None and not session.context.setting("key_command")
    )


def _wants_passphrase(session: CommandSession) -> bool:
    session.output.line("This machine has no keyring, so any program that can read your files can also read the key.")
    return asking.ask_yes_no("Encrypt the key with a passphrase? You need the passphrase only to put credentials back.")


def set_up_remote(session: CommandSession) -> None:
    """Ask for a remote if there is none, then push everything to it."""
    step = steps.check_remote_ready(session.context)
    session.output.line(step.text)
    if step.state != DONE and ask_remote(session, optional=True) is not None:
        asking.attempt_command(session, "sync")


def set_up_service(session: CommandSession) -> None:
    """Install the service, or start the daemon until shutdown if nothing on this system starts services."""
    step = steps.check_service_ready(session.context)
    session.output.line(step.text)
    if step.state != MISSING or step.command is None:
        return
    if asking.ask_yes_no(_question(step)):
        asking.attempt_command(session, *steps.split_command_words(step.command))
    else:
        session.output.line(f"To do this step later: {step.command}")


def _question(step: Step) -> str:
    if step.action == steps.START_DAEMON:
        return "Start the daemon now? The daemon runs until this computer shuts down."
    return "Install the service? It starts the daemon, which captures every change, at each login."
