"""Add remotes to this home, move them to another address, give them another token, and remove them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.errors import BadSetting, OtherVault, SecondCopyError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import acknowledged_states, remote_kinds, remote_probe, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_probe import ProbeResult, RemoteCandidate
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.age_format import age_encryption
from lifeboat_vault.errors import NotAnEndpoint, RemoteDamaged, RemoteDenied, RemoteUnreachable
from lifeboat_vault.remote import join_lines

_PIN_LENGTH = 64
_PIN_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """Where a remote is, and what its operator gave for access. `url` is in its normal form."""

    url: str
    pin: str = ""
    token: str | None = field(default=None, repr=False)


def parse_remote_access(text: str, *, pin: str | None = None, token: str | None = None) -> RemoteAccess:
    """Return the parts of a join line or an address; `pin` and `token` are those that were given beside it.

    Raises RemoteError.JOIN_INVALID, BadSetting (neither repeats a token).
    """
    if join_lines.is_join_line(text):
        found = join_lines.parse_join_line(text)
        given = RemoteAccess(remote_kinds.check_url(found.url), found.pin, found.token)
    else:
        given = RemoteAccess(remote_kinds.check_url(text.strip()))
    return RemoteAccess(given.url, given.pin if pin is None else check_pin(pin), token or given.token)


def check_pin(pin: str) -> str:
    """Return a pin in its normal form: 64 lower-case hexadecimal digits. Colons and `sha256:` are accepted. Raises
    BadSetting."""
    text = pin.strip().lower().removeprefix(_PIN_PREFIX).replace(":", "")
    if len(text) != _PIN_LENGTH or not all(digit in "0123456789abcdef" for digit in text):
        raise BadSetting(
            "a pin consists of 64 hexadecimal digits, as printed by `lifeboat endpoint serve`",
            fix="lifeboat remote add --help",
        )
    return text


def add_remote(
    context: Context,
    name: str,
    given: RemoteAccess,
    *,
    optional: bool = False,
    sealed: bool = False,
    save: bool = True,
    needed: frozenset[str] = remote_probe.NEEDED,
    expected_id: str = "",
) -> tuple[RemoteConfig, ProbeResult]:
    """Ask a remote who it is and add it. A remote with a known name gets the new address; it must be the same remote.

    Without `save` it is only asked, and nothing is kept. `needed` are the scopes that its token must have;
    `expected_id` is the id of the remote if it is known, "" otherwise.

    Raises SecondCopyError.REMOTE_NAME_REFUSED, SecondCopyError.REMOTE_EXISTS, BadSetting, RemoteError, OtherVault.
    """
    known = _known(context, name)
    if known is None:
        remote_registry.refuse_taken_name(context, name)
        wanted = RemoteConfig(name, given.url, pin=given.pin, optional=optional, sealed=sealed, added_at=context.now())
    else:
        wanted = _moved(known, given, optional=optional, sealed=sealed)
    if wanted.sealed:
        age_encryption.check_recipients([])  # encryption needs the library: fail now rather than with the first push
    stranger = RemoteCandidate(wanted, given.token or _kept_token(context, known, wanted))
    try:
        met = _met(context, stranger, known, needed)
        if expected_id and met.about.id != expected_id:
            raise OtherVault(
                f"the remote {name} at {given.url} should have the id {expected_id}, but it has the id {met.about.id}"
            )
        _refuse_other(context, known, wanted, met.about.id)
        wanted = note_findings(replace(wanted, id=met.about.id), met)
        if save:
            with home_lock(context, "remote add"):
                wanted = _save(context, wanted, stranger.token)
        elif known is None:
            remote_registry.save_authority(context, name, None)
    except BaseException:
        if known is None:
            remote_registry.save_authority(context, name, None)
        raise
    return wanted, met


def note_findings(config: RemoteConfig, met: ProbeResult) -> RemoteConfig:
    """Return the remote with what was found of its store."""
    versions = config.keeps_versions if met.store is None else bool(met.store.keeps_versions)
    return replace(config, writers=met.about.writers, keeps_versions=versions)


def _known(context: Context, name: str) -> RemoteConfig | None:
    """Return the remote with exactly this name. One whose file cannot be used is None but keeps its name."""
    remote_registry.check_remote_name(name)
    return next((one for one in remote_registry.list_usable_remotes(context) if one.name == name), None)


def _moved(known: RemoteConfig, given: RemoteAccess, *, optional: bool, sealed: bool) -> RemoteConfig:
    """Return a known remote with its new address. Raises SecondCopyError.REMOTE_EXISTS for what an address does not
    change."""
    if sealed and not known.sealed:
        raise SecondCopyError.REMOTE_EXISTS(
            f"{known.name} already exists as an unencrypted remote; to encrypt it, remove it and "
            "add it again with --sealed",
            fix=f"lifeboat remote remove {known.name}",
        )
    if known.sealed and not sealed and remote_kinds.find_kind(known.url).is_sealed_by_default:
        raise SecondCopyError.REMOTE_EXISTS(
            f"{known.name} is an encrypted remote; to use an unencrypted remote, remove {known.name} and "
            "add another folder with --plain",
            fix=f"lifeboat remote remove {known.name}",
        )
    return replace(known, url=given.url, pin=given.pin or known.pin, optional=optional or known.optional)


def _kept_token(context: Context, known: RemoteConfig | None, wanted: RemoteConfig) -> str | None:
    """Return the kept token of a remote if it may be shown at the new address."""
    if known is None:
        return None
    is_kept = remote_kinds.find_kind(wanted.url).may_keep_token(known, wanted)
    return remote_registry.load_token(context, known.name) if is_kept else None


def _met(
    context: Context, stranger: RemoteCandidate, known: RemoteConfig | None, needed: frozenset[str]
) -> ProbeResult:
    """Probe a remote. Raises RemoteError with the command that helps a user who is adding it."""
    kind = remote_kinds.find_kind(stranger.config.url)
    try:
        return remote_probe.probe_remote(context, stranger, needed)
    except NotAnEndpoint:
        raise
    except RemoteDamaged as error:
        if known is not None or not kind.is_service:
            raise
        raise NotAnEndpoint(error.message) from error
    except RemoteUnreachable as error:
        url = stranger.config.url
        if known is None and "fix" not in vars(error):
            error.fix = kind.unreachable_fix
        elif known is not None and known.url != url:
            error.fix = f"lifeboat remote add {_free_name(context, known.name)} {quote_argument(url)}"
        raise
    except RemoteDenied as error:
        if not kind.needs_token:
            raise
        pinned = f" --pin {stranger.config.pin}" if stranger.config.pin else ""
        error.fix = f"lifeboat remote add {stranger.config.name} {stranger.config.url}{pinned} --token-stdin"
        if stranger.token is None:
            error.message = f"{stranger.config.url} requires a token"
        raise


def _refuse_other(context: Context, known: RemoteConfig | None, wanted: RemoteConfig, remote_id: str) -> None:
    """Raises SecondCopyError.REMOTE_EXISTS: one remote under two names would count as two copies, and two remotes under
    one name as one."""
    if known is not None and known.id and known.id != remote_id:
        raise SecondCopyError.REMOTE_EXISTS(
            f"{known.name} is the remote {known.id}, but another remote ({remote_id}) answers at {wanted.url}",
            fix=f"lifeboat remote add {_free_name(context, known.name)} {quote_argument(wanted.url)}",
        )
    other = remote_registry.find_remote_by_id(context, remote_id)
    if other is not None and other.name != wanted.name:
        raise SecondCopyError.REMOTE_EXISTS(
            f"{wanted.url} is already the address of the remote {other.name}", fix=f"lifeboat remote show {other.name}"
        )


def _free_name(context: Context, name: str) -> str:
    taken = {each.casefold() for each in remote_registry.list_remote_names(context)}
    return next(each for number in count(2) if (each := f"{name}-{number}").casefold() not in taken)


def _save(context: Context, config: RemoteConfig, token: str | None) -> RemoteConfig:
    """Write the token, then the file, which makes the remote exist."""
    is_protected = remote_kinds.find_kind(config.url).has_credentials
    remote_registry.save_token(context, config.name, token, is_protected=is_protected)
    if not config.pin:
        remote_registry.save_authority(context, config.name, None)
    return remote_registry.save_remote(context, config)


def give_token(context: Context, config: RemoteConfig, token: str) -> ProbeResult:
    """Try another token for a remote, then keep it. Raises OtherVault, RemoteError."""
    met = remote_probe.probe_remote(context, RemoteCandidate(config, token))
    if config.id and met.about.id != config.id:
        raise OtherVault(
            f"{config.name} is the remote {config.id}, but another remote ({met.about.id}) "
            "answers; the token was not stored"
        )
    is_protected = remote_kinds.find_kind(config.url).has_credentials
    remote_registry.save_token(context, config.name, token, is_protected=is_protected)
    return met


def remove_remote(context: Context, name: str) -> RemoteConfig | None:
    """Forget a remote and what every vault knows of it. What the remote keeps stays there.

    Return its configuration, None if its file could not be used.
    """
    config = next((one for one in remote_registry.list_remotes(context) if one.name == name), None)
    with home_lock(context, "remote remove"):
        remote_registry.delete_remote(context, name)
    _forget(context, name, "" if config is None else config.id)
    return None if config is None or config.problem is not None else config


def _forget(context: Context, name: str, remote_id: str) -> None:
    for agent in agents.list_agents(context):
        with context.vault(agent.id) as vault:
            for known_id, known in acknowledged_states.load_acknowledged(vault).items():
                if known_id == remote_id or known.name == name:
                    acknowledged_states.forget_remote(vault, known_id)
