"""The JSON of `lifeboat status`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Remote(msgspec.Struct, frozen=True):
    """A remote of one agent."""

    name: str
    id: str = ""
    optional: bool = False
    """a remote, as far as this machine knows"""
    state: str = "ok"
    """`ok`, `waiting`, `held`, `fenced` or `error`"""
    message: str | None = None
    code: str = ""
    """why it is not `ok`, and the code, see [Errors](errors.md), otherwise "". Also `no_network`, `deferred` (by
    `defer.above`), `config` (its file cannot be used)"""
    sequence: int | None = None
    acknowledged_at: str | None = None
    """newest sequence, and since when, or null"""
    pending: int = 0
    pending_since: str | None = None
    """number of sequences not pushed yet, and the time of the oldest"""
    verified_at: str | None = None
    verified_sequence: int | None = None
    """last successful verification, and its sequence, or null"""
    tries: int = 0
    tried_at: str | None = None
    """failed attempts in a row, and the time of the last"""
    fenced: JsonObject | None = None
    """the machine that writes the agent there: `{reason, machine, since, epoch}`, or null; `reason` is `moved`,
    `foreign` or `cloned`; `at`: the remote that reported it, if another"""
    purges: int = 0
    purges_refused: int = 0
    """purges not applied yet, and purges refused by its owner"""
    added_at: str | None = None
    """when it was added here"""
    same_disk: bool = False
    """whether it is a folder on the disk of this home"""
    writers: str = ""
    limits: tuple[str, ...] = ()
    """`several` or `one` machine at a time may write there, "" where the remote orders them; sentences on what its
    store cannot do"""


class Agent(msgspec.Struct, frozen=True):
    """The status of one agent."""

    id: str
    name: str
    runtime: str = ""
    workspace: str = ""
    """the agent"""
    state: str = "ok"
    """state"""
    sequence: int | None = None
    """newest sequence"""
    last_captured_at: str | None = None
    """last capture"""
    last_verified_at: str | None = None
    """last verification, or null: of the required remote verified last, otherwise of the local vault"""
    last_whole_at: str | None = None
    """last verification of all sequences, or null"""
    verified_in: str | None = None
    """the copy verified then: a remote's name, `local`, or null"""
    pending: int = 0
    """number of files not captured in their current version"""
    over_limit: int = 0
    limit_fix: str | None = None
    """number of these files that a limit keeps out or that wait for `lifeboat sync --let-in`, and the command that
    captures them, or null"""
    unread: int = 0
    """number of these files that cannot be read"""
    pending_kinds: dict[str, int] = {}
    """number by reason: `unread`, `unstable` (kept changing), `unparsable` (may contain secrets and cannot be parsed),
    `late`, `over_limit`"""
    reasons: tuple[str, ...] = ()
    """why it is not `ok`, and remarks"""
    reason_codes: tuple[str, ...] = ()
    """their codes, in the same order: `damaged`, `capture_failed`, `held`, `key_needed`, `overdue`, `pending`,
    `remote_late`, `last_capture` and others"""
    held: JsonObject | None = None
    """the held removal, or null"""
    missing: bool = False
    """whether its workspace is missing"""
    no_room: str | None = None
    """why large files are not captured now, or null"""
    failed: str | None = None
    """why the last capture failed, or null"""
    damaged: JsonObject | None = None
    """damage found by a verification: `{sequence, whole, first}`, or null"""
    lookalikes: int = 0
    """number of places in plain text that look like a secret; listed by `lifeboat doctor`"""
    not_looked_into: int = 0
    """number of files not searched for secrets (pictures, PDF, encrypted ones, others); listed by `lifeboat doctor`"""
    kept_out: tuple[str, ...] = ()
    """files and databases that still contain purged text, which captures leave out"""
    purged_again: tuple[str, ...] = ()
    """files in which a purged value came back in other words and was captured (`purge.again` is `notice`)"""
    vault_opened: bool = True
    vault_fix: str | None = None
    """false if its vault could not be opened: most other fields are unknown then; command that helps, or null"""
    verified_sequence: int | None = None
    """newest verified sequence, on this machine or a remote, or null"""
    vault_bytes: int = 0
    """size of its vault"""
    grant: JsonObject | None = None
    """the grant of access to its own past as in `agents show`, or null"""
    proposals: int = 0
    newest_proposal: int = 0
    """number of its open proposals, and the number of the newest"""
    unreviewed: int = 0
    """number of changes of memories since the last look (`review`), 0 if the setting `review` is `off`"""
    remotes: tuple[Remote, ...] = ()
    at_work: bool = False
    """whether the daemon is working on it"""
    waits_for: str | None = None
    """what its captures wait for, or null"""
    unwatched: str | None = None
    """why the daemon does not notice every change immediately, or null"""

    @property
    def queue(self) -> int:
        """How many sequences wait at the remote that lags most."""
        return max((remote.pending for remote in self.remotes), default=0)


class Gap(msgspec.Struct, frozen=True):
    """What is missing for `safe`."""

    code: str = ""
    text: str = ""
    fix: str = ""
    """`uncaptured`, `unverified`, `only_here`, `same_disk` or `words_unproven`; sentence; command"""


class Safety(msgspec.Struct, frozen=True):
    """How safe everything is."""

    level: str = "none"
    """`safe` (green): the newest sequence of every agent is verified and on a remote on another disk, the recovery
    words are proven, every state is `ok` or `syncing`; `incomplete`; `problem`: something needs you; `none`: no agent
    """
    gaps: tuple[Gap, ...] = ()


class Key(msgspec.Struct, frozen=True):
    """The user's key."""

    state: str = "ok"
    id: str | None = None
    store: str | None = None
    note: str = ""
    """the key: state, id, where it is stored, remark"""
    proven_at: str | None = None
    """when its words were last proven, or null"""


class Daemon(msgspec.Struct, frozen=True):
    """The daemon."""

    running: bool = False
    pid: int | None = None
    version: str | None = None
    started_at: str | None = None
    """the daemon; if it does not run, `version` is that of the command"""


class Offer(msgspec.Struct, frozen=True):
    """An agent that is not protected."""

    runtime: str
    native_id: str = ""
    name: str = ""
    workspace: str = ""
    """an unprotected agent"""


class Purge(msgspec.Struct, frozen=True):
    """A purge that is not done everywhere."""

    id: str
    agent_id: str = ""
    vault: str = ""
    """a purge that is not done everywhere, its agent, and the vault"""
    state: str = "waiting"
    since: str | None = None
    """`waiting` or `pending`, and since when"""
    applies_at: str | None = None
    message: str = ""
    """end of the wait, or null; reason for `pending`, or empty"""


class Status(msgspec.Struct, frozen=True):
    """The document of `status`."""

    verdict: str = ""
    """summary in one sentence"""
    state: str = "ok"
    """the worst state, see [Health](health.md): `ok`, `syncing`, `waiting`, `paused`, `overdue`, `needs_key`, `fenced`,
    `held` or `error`"""
    safety: Safety = Safety()
    agents: tuple[Agent, ...] = ()
    key: Key = Key()
    problems: tuple[str, ...] = ()
    """problems that concern no single agent"""
    clock_trusted: bool = True
    """false while the clock looks wrong: nothing is thinned then"""
    daemon: Daemon = Daemon()
    offers: tuple[Offer, ...] = ()
    pending_purges: tuple[Purge, ...] = ()
