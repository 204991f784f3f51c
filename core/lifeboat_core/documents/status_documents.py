"""The JSON of `lifeboat status`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Remote(msgspec.Struct, frozen=True):
    """A remote of one agent."""

    name: str
    id: str = ""
    optional: bool = False
    """a second copy, as far as this machine knows without asking it"""
    state: str = "ok"
    """`ok`, `waiting`, `held`, `fenced` or `error`"""
    message: str | None = None
    code: str = ""
    """why it is not `ok`, for people and as a code, see [Errors](errors.md), else "". Also `no_network`, `deferred` (by
    `defer.above`), `config` (its file cannot be used)"""
    sequence: int | None = None
    acknowledged_at: str | None = None
    """the newest sequence that it has and since when, or null"""
    pending: int = 0
    pending_since: str | None = None
    """how many kept sequences it does not have yet, and when the oldest of them was made"""
    verified_at: str | None = None
    verified_sequence: int | None = None
    """when it was last read back and found whole, and what that was, or null"""
    tries: int = 0
    tried_at: str | None = None
    """how many tries failed in a row, and when the last one was"""
    fenced: JsonObject | None = None
    """who writes the agent there: `{reason, machine, since, epoch}`, or null; `reason` is `moved`, `foreign` or
    `cloned`; `at` the second copy that said so, where it was another one"""
    purges: int = 0
    purges_refused: int = 0
    """how many purges it has not applied yet, and how many its owner decided against"""
    added_at: str | None = None
    """when it was made known to this machine"""


class Agent(msgspec.Struct, frozen=True):
    """The status of one agent."""

    id: str
    name: str
    runtime: str = ""
    workspace: str = ""
    """the agent"""
    state: str = "ok"
    """its state"""
    sequence: int | None = None
    """its newest sequence"""
    last_captured_at: str | None = None
    """when it was last captured"""
    last_verified_at: str | None = None
    """when its copy was last read back and found whole, or null: that of a second copy, where there is one that is not
    optional and was ever read back, else the one on this disk"""
    last_whole_at: str | None = None
    """when every kept sequence was, or null"""
    verified_in: str | None = None
    """which copy that was: the second copy's name, or `local`; or null"""
    pending: int = 0
    """how many files are not kept in their present version"""
    over_limit: int = 0
    limit_fix: str | None = None
    """how many of them stay out until you raise a limit or let them in after a purge, and the command that does, or
    null"""
    unread: int = 0
    """how many of them could not be read, as a database of the runtime that is lost"""
    pending_kinds: dict[str, int] = {}
    """how many there are by the code of the reason: `unread`, `unstable` (kept changing), `unparsable` (may hold
    secrets and does not parse), `late`, `over_limit`"""
    reasons: tuple[str, ...] = ()
    """why it is not `ok`, and what else to know"""
    reason_codes: tuple[str, ...] = ()
    """the code of each of them, in the same order: `damaged`, `capture_failed`, `held`, `key_needed`, `overdue`,
    `pending`, `remote_late`, `last_capture` and others"""
    held: JsonObject | None = None
    """what is held, or null"""
    missing: bool = False
    """whether its workspace is gone"""
    no_room: str | None = None
    """why large files are not taken now, or null"""
    failed: str | None = None
    """why the last capture came to nothing, or null"""
    damaged: JsonObject | None = None
    """what a verification last found wrong: `{sequence, whole, first}`, or null"""
    lookalikes: int = 0
    """how many places are kept in clear that look like a secret; `lifeboat doctor` names them"""
    not_looked_into: int = 0
    """how many files a known secret would not be found in (pictures, PDF, encrypted ones, others); `lifeboat doctor`
    names them"""
    kept_out: tuple[str, ...] = ()
    """files and databases in which lies what was purged: it is left out of every capture"""
    purged_again: tuple[str, ...] = ()
    """those in which a purged value came back in other words and was captured, with `purge.again` set to `notice`"""
    vault_opened: bool = True
    vault_fix: str | None = None
    """false if its vault could not be opened: most other fields are unknown then; a command that helps, or null"""
    verified_sequence: int | None = None
    """newest sequence that was verified, on this machine or on a remote, or null"""
    vault_bytes: int = 0
    """what its vault takes on disk"""
    remotes: tuple[Remote, ...] = ()
    at_work: bool = False
    """whether the service works on it now"""
    waits_for: str | None = None
    """whom its captures wait for, or null"""
    unwatched: str | None = None
    """why the service does not notice every change at once, or null"""

    @property
    def queue(self) -> int:
        """How many sequences wait at the remote that lags most."""
        return max((remote.pending for remote in self.remotes), default=0)


class Gap(msgspec.Struct, frozen=True):
    """What is missing for `safe`."""

    code: str = ""
    text: str = ""
    fix: str = ""
    """`uncaptured`, `unverified`, `only_here` or `words_unproven`; a sentence; the command that helps"""


class Safety(msgspec.Struct, frozen=True):
    """How safe everything is."""

    level: str = "none"
    """`safe` (green): the newest sequence of every agent is verified and on a remote, the recovery words are proven,
    every state is `ok` or `syncing`; `incomplete`; `problem`: something needs you; `none`: no agent"""
    gaps: tuple[Gap, ...] = ()


class Key(msgspec.Struct, frozen=True):
    """The user's key."""

    state: str = "ok"
    id: str | None = None
    store: str | None = None
    note: str = ""
    """the key: whether it can be used, its id, where it lies, what to know about it"""
    proven_at: str | None = None
    """when its words were last proven, or null"""


class Daemon(msgspec.Struct, frozen=True):
    """The daemon."""

    running: bool = False
    pid: int | None = None
    version: str | None = None
    started_at: str | None = None
    """the service; where it does not run, `version` is that of the command"""


class Offer(msgspec.Struct, frozen=True):
    """An agent that is not protected."""

    runtime: str
    native_id: str = ""
    name: str = ""
    workspace: str = ""
    """an agent that was found and is not protected"""


class Purge(msgspec.Struct, frozen=True):
    """A purge that is not done everywhere."""

    id: str
    agent_id: str = ""
    vault: str = ""
    """a purge that is not done everywhere, its agent, and the vault where it is not"""
    state: str = "waiting"
    since: str | None = None
    """`waiting` or `pending`, and since when"""
    applies_at: str | None = None
    message: str = ""
    """until when it waits, or null; why it is pending, or "" """


class Status(msgspec.Struct, frozen=True):
    """The document of `status`."""

    verdict: str = ""
    """everything in one sentence"""
    state: str = "ok"
    """the worst state of all, see [Health](health.md): `ok`, `syncing`, `waiting`, `paused`, `overdue`, `needs_key`,
    `fenced`, `held` or `error`"""
    safety: Safety = Safety()
    agents: tuple[Agent, ...] = ()
    key: Key = Key()
    problems: tuple[str, ...] = ()
    """what is wrong beside the agents"""
    clock_trusted: bool = True
    """false while the clock looks wrong: nothing is thinned then"""
    daemon: Daemon = Daemon()
    offers: tuple[Offer, ...] = ()
    pending_purges: tuple[Purge, ...] = ()
