"""`lifeboat setup`: the agents on this machine made safe, step by step; what is done already is only told."""

from __future__ import annotations

from pathlib import Path

from lifeboat_cli.setup import setup_asking as asking
from lifeboat_cli.setup import setup_steps as steps
from lifeboat_cli.setup.setup_remote import add_second_copy
from lifeboat_cli.setup.setup_steps import DONE, MISSING, Step
from lifeboat_cli.terminal.session import Session
from lifeboat_core.texts.words import path_text
from lifeboat_keys.stores.kinds import StoreKind
from lifeboat_keys.stores.surroundings import PASSPHRASE, PASSPHRASE_FILE

_STORE = ("--store", str(StoreKind.PASSPHRASE))


def protect_agents(session: Session) -> None:
    """All steps in their order; each may be skipped."""
    for number, (title, run) in enumerate(
        (
            ("Agents on this machine", agents),
            ("Your key and its 24 words", key_and_words),
            ("A second copy", second_copy),
            ("By itself", service),
        ),
        start=1,
    ):
        asking.heading(session, f"{number} of 4. {title}")
        run(session)


def agents(session: Session) -> None:
    """Each that was found and is not protected is offered; where none was found, its folder is asked for."""
    found = steps.look_around(session.context)
    for problem in found.problems:
        session.output.warn(problem)
    session.output.line(steps.find(found).text)
    for offer in found.open:
        if asking.yes(f"Protect {offer.name} ({offer.runtime}, {path_text(offer.workspace)})?"):
            asking.attempt(session, "agents", "add", offer.workspace)
        else:
            session.output.line(f"{offer.name} is left alone. Never offer it again:")
            session.output.verbatim(f"  lifeboat agents discover --dismiss {offer.workspace}")
    if not found.open and found.protected:
        session.output.line(steps.protect(found).text)
    while not steps.look_around(session.context).protected and not found.open:
        folder = asking.text("The folder of an agent (Enter skips)")
        if not folder or asking.attempt(session, "agents", "add", str(Path(folder).expanduser())) is None:
            break


def key_and_words(session: Session) -> None:
    """The key made where there is none, put behind a passphrase where it would lie open, its words shown and proven."""
    key, words = steps.key(session.context), steps.words(session.context)
    session.output.line(key.text)
    if key.state == MISSING and session.context.keys().key_id is not None:
        session.output.verbatim(f"  {key.command}")
        return
    if words.state == DONE:
        session.output.line(words.text)
        return
    if key.state == DONE:
        session.output.line(words.text)
    session.output.line("They are the only way back to the credentials when this machine is lost.")
    if asking.yes("Show them now? Have paper and a pen ready."):
        wrap = _STORE if _would_lie_open(session) and _wants_passphrase(session) else ()
        asking.ask_again_until_done(lambda: asking.attempt(session, "keys", "init", *wrap))
    else:
        session.output.line("Later: lifeboat keys init")


def _would_lie_open(session: Session) -> bool:
    """Whether only the mode of a file protects the key, or would protect a new one."""
    keys, around = session.context.keys(), session.context.environment
    if keys.key_id is not None:
        return keys.store is StoreKind.FILE
    given = any(around.get(name) for name in (PASSPHRASE, PASSPHRASE_FILE, "LIFEBOAT_KEY_FILE"))
    return (
        not given and keys.store_problem(StoreKind.KEYRING) is not None and not session.context.setting("key_command")
    )


def _wants_passphrase(session: Session) -> bool:
    session.output.line("There is no keyring here: whoever can read your files could read the key.")
    return asking.yes("Wrap it with a passphrase? It is asked for only when credentials are put back.")


def second_copy(session: Session) -> None:
    """Asked for where there is none; then everything is brought there."""
    step = steps.second_copy(session.context)
    session.output.line(step.text)
    if step.state != DONE and add_second_copy(session, optional=True) is not None:
        asking.attempt(session, "sync")


def service(session: Session) -> None:
    """The service at every login, or the daemon until this computer ends where nothing starts services."""
    step = steps.service(session.context)
    session.output.line(step.text)
    if step.state != MISSING or step.command is None:
        return
    if asking.yes(_question(step)):
        asking.attempt(session, *steps.words_of(step.command))
    else:
        session.output.line(f"Later: {step.command}")


def _question(step: Step) -> str:
    if step.action == steps.START_DAEMON:
        return "Start the daemon now? It runs until this computer ends."
    return "Have every change captured by itself, from every login on?"
