"""Add the remotes of a recovery kit to this home, and give a kit restore-only access to the remotes of this home."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadSetting, OtherVault, SecondCopyError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes, remote_kinds, remote_probe, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.recovery.recovery_kit import KitRemote
from lifeboat_vault.errors import RemoteDenied
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line

NEEDED_TO_RESTORE = frozenset({remote_probe.PULL})
_LONGEST_SUFFIX = 1000


@dataclass(frozen=True, slots=True)
class KitAccess:
    """A remote of this home as a kit names it. `token_id` is the id of the token that was made for the kit, "" for
    none; `problem` says why none was made."""

    remote: KitRemote
    token_id: str = ""
    secret: str | None = None
    problem: LifeboatError | None = None


def list_kit_accesses(context: Context, *, with_access: bool) -> Iterator[KitAccess]:
    """Yield every usable remote for a recovery kit, with a new restore-only join line if that is wanted.

    The caller revokes these tokens if the kit is not written.
    """
    for config in remote_registry.list_usable_remotes(context):
        if remote_kinds.find_installed_kind(config.url) is None:
            continue
        yield _make_access(context, config) if with_access else KitAccess(describe_kit_remote(config))


def describe_kit_remote(config: RemoteConfig, access: str = "") -> KitRemote:
    """Return a remote as it is written on a kit."""
    return KitRemote(
        config.name,
        config.url,
        f"sha256:{config.pin}" if config.pin else "",
        remote_kinds.find_kind(config.url).access_advice,
        id=config.id,
        sealed=config.sealed,
        optional=config.optional,
        access=access,
    )


def _make_access(context: Context, config: RemoteConfig) -> KitAccess:
    try:
        made = remote_probe.make_restore_token(context, config, remote_registry.load_token(context, config.name))
    except LifeboatError as error:
        return KitAccess(describe_kit_remote(config), problem=error)
    if made is None:
        return KitAccess(describe_kit_remote(config))
    secret = str(made["token"])
    line = format_join_line(JoinLine(config.url, secret, config.pin))
    return KitAccess(describe_kit_remote(config, line), str(made.get("id", "")), secret)


def revoke_kit_access(context: Context, made: KitAccess) -> None:
    """Revoke the token that was made for a kit. Raises RemoteError."""
    config = remote_registry.find_remote(context, made.remote.name)
    remote_probe.revoke_token(context, remote_probe.RemoteCandidate(config, made.secret))


@dataclass(frozen=True, slots=True)
class AddedKitRemote:
    """A remote of a kit that this home has now. `is_new` says that it was added, `can_push` that its token permits
    pushes."""

    config: RemoteConfig
    is_new: bool
    can_push: bool


def find_known_kit_remote(context: Context, remote: KitRemote) -> RemoteConfig | None:
    """Return the remote of this home that a kit means, None if it has to be added."""
    usable = remote_registry.list_usable_remotes(context)
    if remote.id:
        return next((one for one in usable if one.id == remote.id), None)
    return next((one for one in usable if one.name == remote.name and one.url == remote.url), None)


def needs_join_line(remote: KitRemote) -> bool:
    """Return whether the kit lacks the token that a remote requires. Raises BadSetting for an unknown address."""
    return not remote.access and remote_kinds.find_kind(remote.url).needs_token


def add_kit_remote(context: Context, remote: KitRemote, *, is_checked: bool, access: str = "") -> AddedKitRemote:
    """Add a remote of a kit with a token that can at least restore. A known remote keeps its token, which may permit
    more. `access` is a join line that the user typed.

    Raises RemoteDenied (no token, or one that expired or was revoked), RemoteError, OtherVault, BadSetting,
    SecondCopyError.
    """
    known = find_known_kit_remote(context, remote)
    if known is not None and not access:
        candidate = remote_probe.RemoteCandidate(known, remote_registry.load_token(context, known.name))
        met = remote_probe.probe_remote(context, candidate, NEEDED_TO_RESTORE)
        return AddedKitRemote(known, is_new=False, can_push=_can_push(met))
    if needs_join_line(remote) and not access:
        raise RemoteDenied(
            f"the recovery kit contains no token for {remote.name}", fix=f"lifeboat remote add {remote.name}"
        )
    kind = remote_kinds.find_kind(remote.url)
    if kind.is_present(remote.url) is False:
        raise SecondCopyError.UNKNOWN_REMOTE(f"{remote.url} contains no remote of Lifeboat")
    given = manage_remotes.parse_remote_access(access or remote.access or remote.url)
    if not access and given.url != remote_kinds.check_url(remote.url):
        # The user is asked about the address of the page, so a join line on it must not lead to another one.
        raise OtherVault(
            f"the recovery kit gives {remote.url} as the address of {remote.name}, but its join "
            f"line leads to {given.url}",
            fix=f"lifeboat remote add {quote_argument(remote.name)}",
        )
    if not given.pin and remote.pin and not (access or remote.access):
        given = manage_remotes.parse_remote_access(remote.url, pin=remote.pin)
    is_sealed = remote.sealed or (not is_checked and kind.is_sealed_by_default)
    config, met = manage_remotes.add_remote(
        context,
        _free_name(context, remote.name) if known is None else known.name,
        given,
        optional=remote.optional,
        sealed=is_sealed,
        needed=NEEDED_TO_RESTORE,
        expected_id=remote.id,
    )
    return AddedKitRemote(config, is_new=known is None, can_push=_can_push(met))


def _can_push(met: remote_probe.ProbeResult) -> bool:
    return met.token is None or remote_probe.PUSH in met.scopes


def _free_name(context: Context, wanted: str) -> str:
    taken = {name.casefold() for name in remote_registry.list_remote_names(context)}
    names = (wanted, *(f"{wanted}-{number}" for number in range(2, _LONGEST_SUFFIX)))
    free = next((name for name in names if name.casefold() not in taken), None)
    if free is None:
        raise BadSetting(
            f"other remotes already use the name {wanted} and all names from {wanted}-2 to "
            f"{wanted}-{_LONGEST_SUFFIX - 1}"
        )
    return free
