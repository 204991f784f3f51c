"""Run the conformance checks of remotes against a remote of this home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes import remote_kinds, remote_registry
from lifeboat_core.remotes.contract import SEVERAL, RemoteConfig, StoreProbing
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.remote_contract import Remote

if TYPE_CHECKING:
    from lifeboat_vault.remote.conformance_checks import RemoteCheck


PROBE = "the store behaves as it did when the remote was added"
"""The name of the check of a store; its message also says what was found if nothing was wrong."""


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """The result of one check. `message` says what was wrong, "" if nothing was. `left`: ids of test agents that
    stay at the remote because it does not allow removing them."""

    name: str
    ok: bool
    message: str = ""
    left: list[str] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        return {"name": self.name, "ok": self.ok, "message": self.message or None}


def run_conformance(
    context: Context, config: RemoteConfig, *, quick: bool = False, tell: Tell = tell_nobody
) -> Iterator[ConformanceResult]:
    """Run every check, or the quick ones, one after the other.

    Raises RemoteError when the remote cannot be reached at all: that is not a conformance failure.
    """
    from lifeboat_vault.remote.conformance_checks import CHECKS

    opened: list[Remote] = []

    def fresh() -> Remote:
        opened.append(open_remote(context, config))
        return opened[-1]

    first = fresh()
    about = first.about()
    if isinstance(first, StoreProbing):
        yield _probed(context, config, first, about.writers)
    user = _user_key(context)
    checks = [check for check in CHECKS if check.quick or not quick]
    try:
        for made, check in enumerate(checks):
            tell(check.name, made, len(checks))
            with make_scratch_folder(context, "remote-test") as scratch:
                yield _result(check, fresh, scratch, user)
    finally:
        for remote in opened:
            remote.close()


def _probed(context: Context, config: RemoteConfig, remote: StoreProbing, writers: str) -> ConformanceResult:
    """Probe the store again and note what was found. It fails where the store does less than other machines count
    on."""
    found = remote.examine_store()
    is_less = writers == SEVERAL and found.writers != SEVERAL
    now = found.writers if is_less else writers
    noted = replace(config, writers=now, keeps_versions=bool(found.keeps_versions))
    if noted != config:
        with home_lock(context, "remote test"):
            remote_registry.save_remote(context, noted)
    said = " ".join(remote_kinds.find_kind(config.url).describe_store(noted))
    return ConformanceResult(PROBE, not is_less, said)


def _user_key(context: Context) -> UserKey | None:
    """Return the user's key, None while it is locked or missing: a folder is then not checked for purges."""
    try:
        return context.keys().user_key()
    except KeysError:
        return None


def _result(check: RemoteCheck, fresh: Callable[[], Remote], scratch: Path, user: UserKey | None) -> ConformanceResult:
    try:
        return ConformanceResult(check.name, True, left=check.run(fresh, scratch, user))
    except AssertionError as error:
        return ConformanceResult(check.name, False, str(error) or "the check failed")
    except LifeboatError as error:
        return ConformanceResult(check.name, False, f"{error.title}: {error.message}")
