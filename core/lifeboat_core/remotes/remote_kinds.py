"""Find the kind of a remote by the scheme of its address, and open remotes.

A kind of remotes is one entry point of the group `lifeboat.remotes`, named by the scheme of its addresses.
"""

from __future__ import annotations

import contextlib
import functools
from importlib.metadata import entry_points
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadSetting, ConfigError, OtherVault
from lifeboat_core.home.context import Context
from lifeboat_core.purge import endpoint_pins
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_keys.pairs import endpoint_key

if TYPE_CHECKING:
    from lifeboat_vault.remote.remote_contract import Remote, RemoteDescription

GROUP = "lifeboat.remotes"


def find_kind(url: str) -> RemoteKind:
    """Return the kind of remotes that an address belongs to. Raises BadSetting, which does not repeat the address."""
    kind = find_installed_kind(url)
    if kind is None:
        known = ", ".join(f"{each}://" for each in list_schemes())
        raise BadSetting(
            f"the address of a remote must begin with one of {known}; a join line must begin with lifeboat+https://",
            fix="lifeboat remote add --help",
        )
    return kind


def find_installed_kind(url: str) -> RemoteKind | None:
    """Return the kind of remotes that an address belongs to, None where it is not installed."""
    scheme = find_scheme(url)
    return None if scheme is None else _load(scheme)


def needs_network(config: RemoteConfig) -> bool:
    """Return whether a transfer to a remote uses the network; True where its kind is not installed."""
    kind = find_installed_kind(config.url)
    return kind is None or kind.needs_network(config.url)


def find_problem(config: RemoteConfig) -> str | None:
    """Return why a remote cannot be used: its file, a missing kind, or an address that the kind refuses."""
    try:
        if config.problem is None:
            check_url(config.url)
    except BadSetting as error:
        return error.message
    return config.problem


def find_scheme(url: str) -> str | None:
    """Return the scheme of an address, None where no installed kind has it."""
    scheme = urlsplit(url).scheme.lower()
    return scheme if scheme in list_schemes() else None


@functools.cache
def list_schemes() -> tuple[str, ...]:
    """Return the schemes of all installed kinds, sorted."""
    return tuple(sorted(entry_points(group=GROUP).names))


def check_url(url: str) -> str:
    """Return an address in its normal form. Raises BadSetting."""
    return find_kind(url).check_url(url)


def open_remote(context: Context, config: RemoteConfig) -> Remote:
    """Open a remote with the token that is kept for it. Nothing is sent before a method of it is called.

    Raises ConfigError (its file cannot be used), BadSetting, RemoteError.
    """
    if config.problem is not None:
        raise ConfigError(config.problem, fix="lifeboat doctor")
    return find_kind(config.url).open(context, config, remote_registry.load_token(context, config.name))


def check_identity(context: Context, config: RemoteConfig, remote: Remote) -> RemoteDescription:
    """Check that the remote which answers is the one that was added, and return what it says of itself.

    The key with which it signs receipts is kept at the first contact. Raises OtherVault, RemoteError.
    """
    about = remote.about()
    if config.id and about.id != config.id:
        raise OtherVault(
            f"{config.name} is the remote {config.id}, but another remote ({about.id}) answers; nothing was sent"
        )
    if about.signing_key is not None:
        with contextlib.suppress(LifeboatError, ValueError):  # the code that needs the key reports what is wrong
            endpoint_pins.pin_endpoint_key(context, about.id, config.name, endpoint_key.public_of(about.signing_key))
    return about


@functools.cache
def _load(scheme: str) -> RemoteKind:
    (point,) = entry_points(group=GROUP, name=scheme)
    kind: RemoteKind = point.load()
    return kind
