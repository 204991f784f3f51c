"""Run the conformance checks of remotes against a remote of this home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_keys.errors import KeysError
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.remote_contract import Remote

if TYPE_CHECKING:
    from lifeboat_vault.remote.conformance_checks import RemoteCheck


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

    fresh().about()
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
