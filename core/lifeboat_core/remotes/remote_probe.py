"""Ask a remote who it is and what it says of the token: before it is added, and when a user examines it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_kinds
from lifeboat_core.remotes.contract import RemoteConfig, StoreFindings, StoreProbing
from lifeboat_vault.errors import RemoteDenied

if TYPE_CHECKING:
    from lifeboat_vault.remote.remote_contract import RemoteDescription

PUSH, PULL = "push", "pull"
NEEDED = frozenset({PUSH, PULL})
"""The scopes that a machine needs for its agents, and all that a token on it should have."""


@runtime_checkable
class Authenticated(Protocol):
    """A remote that accepts only requests with a token."""

    def whoami(self) -> JsonObject:
        """Return {tenant, name, scopes, expires_at, quota}. Raises RemoteError."""
        ...

    def revoke_token(self) -> None:
        """Revoke the token that is used. Raises RemoteError."""
        ...


@runtime_checkable
class RestoreTokenMaking(Protocol):
    """A remote that makes restore-only tokens for recovery kits."""

    def make_restore_token(self) -> JsonObject:
        """Return {id, token, scopes, expires_at}. Raises RemoteError."""
        ...


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a remote says of itself. `token` is what it says of the token, None if it wants none. `clock`: how many
    seconds its clock is ahead of this one, None if it has none. `store`: what was found of its store, None if it was
    not probed."""

    about: RemoteDescription
    token: JsonObject | None = None
    clock: float | None = None
    store: StoreFindings | None = None

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(str(scope) for scope in (self.token or {}).get("scopes", ()))

    @property
    def expires_at(self) -> str | None:
        """When the token expires, None for never."""
        found = (self.token or {}).get("expires_at")
        return found if isinstance(found, str) else None

    @property
    def room(self) -> int | None:
        """How many bytes all agents may take there together, None if there is no limit."""
        found = (self.token or {}).get("quota", self.about.limits.get("tenant_bytes"))
        return found if isinstance(found, int) and found > 0 else None

    @property
    def superfluous(self) -> list[str]:
        """The scopes of the token that a machine does not need."""
        return sorted(self.scopes - NEEDED)


@dataclass(frozen=True, slots=True)
class RemoteCandidate:
    """A remote that this home does not have, or not in this form: a config and the token for it."""

    config: RemoteConfig
    token: str | None = field(default=None, repr=False)


def probe_remote(context: Context, stranger: RemoteCandidate, needed: frozenset[str] = NEEDED) -> ProbeResult:
    """Ask a remote who it is. Raises RemoteError, BadSetting, RemoteDenied (no valid token, or one without a scope that
    is needed)."""
    about, clock, store = _about(context, stranger, writes=PUSH in needed)
    with contextlib.closing(_in_clear(context, stranger)) as remote:
        if not isinstance(remote, Authenticated):
            return ProbeResult(about, None, clock, store)
        met = ProbeResult(about, remote.whoami(), clock, store)
    _check_scopes(met, needed)
    return met


def _about(
    context: Context, stranger: RemoteCandidate, *, writes: bool
) -> tuple[RemoteDescription, float | None, StoreFindings | None]:
    """Ask a remote who it is, if possible without showing the token: another server might answer. `writes`: also probe
    its store."""
    kind = remote_kinds.find_kind(stranger.config.url)
    is_hidden = not (kind.signs_requests or kind.identifies_to_users)
    with contextlib.closing(_opened(context, stranger.config, None if is_hidden else stranger.token)) as remote:
        store = remote.examine_store() if writes and isinstance(remote, StoreProbing) else None
        before = context.clock.now()
        about = remote.about()
        after = context.clock.now()
    return about, _difference(about.time, before + (after - before) / 2), store


def _difference(told: str | None, here: Any) -> float | None:
    if told is None:
        return None
    try:
        return float((times.parse_time(told) - here).total_seconds())
    except (ValueError, OverflowError):
        return None


def make_restore_token(context: Context, config: RemoteConfig, token: str | None) -> JsonObject | None:
    """Return a new restore-only token of a remote, None for a remote that wants none. Raises RemoteError."""
    with contextlib.closing(_in_clear(context, RemoteCandidate(config, token))) as remote:
        if not isinstance(remote, Authenticated):
            return None
        if not isinstance(remote, RestoreTokenMaking):
            raise RemoteDenied(f"{config.name} cannot create restore-only tokens")
        return remote.make_restore_token()


def revoke_token(context: Context, stranger: RemoteCandidate) -> bool:
    """Revoke a token at its remote; return False if it has none. Raises RemoteError."""
    with contextlib.closing(_in_clear(context, stranger)) as remote:
        if stranger.token is None or not isinstance(remote, Authenticated):
            return False
        remote.revoke_token()
        return True


def _check_scopes(met: ProbeResult, needed: frozenset[str]) -> None:
    lacks = sorted(needed - met.scopes)
    if lacks:
        raise RemoteDenied(f"the token does not allow {' and '.join(lacks)}")


def _in_clear(context: Context, stranger: RemoteCandidate) -> Any:
    """Return the remote without the encryption of this machine, which does not matter for tokens. Nothing is sent."""
    return _opened(context, replace(stranger.config, sealed=False), stranger.token)


def _opened(context: Context, config: RemoteConfig, token: str | None) -> Any:
    return remote_kinds.find_kind(config.url).open(context, config, token)
