"""Passphrases: typed where nobody sees them, or taken from the environment; never from an option."""

from __future__ import annotations

from dataclasses import replace

import click

from lifeboat_daemon.cli.session import Session
from lifeboat_daemon.cli.word_screen import has_terminal
from lifeboat_daemon.context import Context
from lifeboat_keys.stores.kinds import StoreKind

PASSPHRASE = "LIFEBOAT_PASSPHRASE"
PASSPHRASE_FILE = "LIFEBOAT_PASSPHRASE_FILE"


def for_new_store(session: Session, store: StoreKind | None) -> Context:
    """The context in which a key is put into a store: a passphrase that was typed (twice) is in it, and only in it."""
    if store is not StoreKind.PASSPHRASE or not _is_to_be_typed(session):
        return session.context
    typed = click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True)
    return replace(session.context, environment={**session.context.environment, PASSPHRASE: typed})


def to_unlock(session: Session, store: StoreKind) -> str | None:
    """The passphrase that was typed, None where it comes from the environment or none is needed."""
    if store is not StoreKind.PASSPHRASE or not _is_to_be_typed(session):
        return None
    return str(click.prompt("Passphrase", hide_input=True, err=True))


def _is_to_be_typed(session: Session) -> bool:
    given = any(session.context.environment.get(name) for name in (PASSPHRASE, PASSPHRASE_FILE))
    return not given and has_terminal(session.output)
