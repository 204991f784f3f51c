"""Move the credentials of remotes to where the user's key is: those of older releases, and after the key moved."""

from __future__ import annotations

from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_kinds, remote_registry, stored_credentials
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.errors import RemoteError


def list_misplaced(context: Context) -> list[RemoteConfig]:
    """Return the remotes whose credentials are not where the user's key is. Raises KeysError."""
    found = []
    for config in remote_registry.list_usable_remotes(context):
        kind = remote_kinds.find_installed_kind(config.url)
        stored = remote_registry.load_stored_token(context, config.name)
        if kind is None or not kind.has_credentials or stored is None:
            continue
        if (stored_credentials.find_item(stored) is not None) != stored_credentials.is_keyring_used(context):
            found.append(config)
    return found


def arrange_credentials(context: Context) -> list[str]:
    """Move misplaced credentials, and return a sentence for each that was moved or could not be read.

    What the keyring refuses stays where it is; `doctor` names it. Raises KeysError, OSError, Busy.
    """
    if not list_misplaced(context):
        return []
    with home_lock(context, "move credentials"):
        return [_arrange(context, config) for config in list_misplaced(context)]


def _arrange(context: Context, config: RemoteConfig) -> str:
    name = config.name
    try:
        secret = remote_registry.load_token(context, name)
    except RemoteError as error:
        return f"The credentials of the remote {name} could not be moved: {error.message}"
    remote_registry.save_token(context, name, secret, is_protected=True)
    stored = remote_registry.load_stored_token(context, name)
    if stored_credentials.find_item(stored) is not None:
        return f"The credentials of the remote {name} are now in the OS keyring."
    path = quote_argument(str(remote_registry.locate_token_file(context, name)))
    return f"The credentials of the remote {name} are in the file {path}, readable only for you."


def arrange_quietly(context: Context) -> list[str]:
    """Move misplaced credentials where that is possible now."""
    try:
        return arrange_credentials(context)
    except LifeboatError as error:
        return [f"Credentials of remotes could not be moved: {error.message}"]
    except OSError as error:
        return [f"Credentials of remotes could not be moved: {describe_refusal(error)}"]
