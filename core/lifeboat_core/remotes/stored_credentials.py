"""Where the credentials of a remote are: in the OS keyring if the user's key is there, otherwise in
`remotes/<name>.token`, readable only for the user.

With the keyring, the file contains a reference to the item. Other stores of the key cannot protect credentials: pushes
have to work while the key is locked. Light: the daemon imports this, and its workers read the keyring.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

_REFERENCE = "lifeboat-keyring:"
_FOLDER = "remote"


def find_item(stored: str | None) -> str | None:
    """Return the item of the keyring that the content of a file refers to, None for a secret itself."""
    text = (stored or "").strip()
    return text.removeprefix(_REFERENCE) if text.startswith(_REFERENCE) else None


def store_secret(context: Context, name: str, secret: str) -> str:
    """Store credentials, and return what the file of the remote contains: a reference, or the credentials themselves
    if the key is not in the keyring or the keyring refuses them."""
    from lifeboat_keys.errors import KeysError

    item = f"{_FOLDER}/{name}/{secrets.token_hex(8)}"
    try:
        if not is_keyring_used(context):
            return secret
        context.keys().keyring_secrets().keep(item, secret)
    except KeysError:
        return secret
    return f"{_REFERENCE}{item}"


def read_item(context: Context, name: str, item: str) -> str:
    """Return the credentials in the keyring. Raises RemoteUnreachable (the keyring cannot be read now), RemoteDenied
    (they are gone)."""
    from lifeboat_keys.errors import KeysError
    from lifeboat_vault.errors import RemoteDenied, RemoteUnreachable

    try:
        found = context.keys().keyring_secrets().read(item)
    except KeysError as error:
        raise RemoteUnreachable(
            f"the credentials of {name} are in the OS keyring, which cannot be read now: {error.message}", fix=error.fix
        ) from None
    if found is None:
        raise RemoteDenied(
            f"the OS keyring no longer contains the credentials of {name}",
            fix=f"lifeboat remote token {name} --token-stdin",
        )
    return found


def remove_item(context: Context, item: str) -> None:
    """Delete credentials from the keyring. While it cannot be used, the item stays: nothing refers to it."""
    from lifeboat_keys.errors import KeysError

    with contextlib.suppress(KeysError):
        context.keys().keyring_secrets().remove(item)


def is_keyring_used(context: Context) -> bool:
    """Return whether the user's key is in the OS keyring. Raises KeysError."""
    from lifeboat_keys.stores.store_kinds import StoreKind

    return context.keys().store is StoreKind.KEYRING
