"""Errors of the vault, of second copies and of endpoints.

LifeboatError
+-- VaultError
    +-- VaultMissing      there is no vault where one was expected
    +-- VaultNewer        made by a newer version of the program
    +-- VaultDamaged      the file or a body is not readable as what it was
    |   +-- OtherDataKey  it is sealed under another key
    +-- VaultFull         no space left; nothing of the change was kept
    +-- VaultBusy         another process is writing; try again
    |   +-- EndpointMoving  everything is being moved; nothing is taken until that is done
    |   +-- EndpointMoved   everything is elsewhere
    |   +-- ServerReplaced  the database server is a former one, which another replaced
    +-- VaultUnusable     the system refuses to read or write (rights, I/O)
    +-- UnknownSequence   the number was never given out, or was thinned
    +-- DraftInvalid      a change that does not fit the head
    |   +-- RedactedMeanwhile   a purge happened since the change was made
+-- RemoteError           on the way to a second copy, or there
    +-- RemoteUnreachable   nobody answered; what was sent may have arrived
    |   +-- NotAnEndpoint     what answers is another service
    |   +-- RemoteUntrusted   whoever answers cannot prove to be the one that was added; nothing was sent
    +-- RemoteBusy          asks to wait
    |   +-- RemoteFull      no space left there
    +-- RemoteTooLarge      more than it takes
    +-- RemoteRefused       not what it says, or fits nothing there
    |   +-- PurgeRefused      its owner decided against a purge
    +-- RemoteDenied        no token that counts
    +-- UnknownAtRemote     not there, or not ours
    +-- AgentErased         it was there, and was purged whole
    +-- StaleBase           the base is not the head
    |   +-- HeadMoved       the head of a sealed log was replaced meanwhile
    |   +-- WriterPresent   a machine of its owner writes the agent, and would be fenced
    +-- EpochBehind         another machine took the agent over
    |   +-- EpochMoved      somebody else began the new epoch
    +-- RemoteDamaged       what came back is not what was kept
    |   +-- PurgesDamaged     the list of purges of a log is gone or changed
+-- EndpointError         an endpoint's own data
    +-- NoEndpoint          no endpoint's data in the folder
    +-- EndpointNewer       made by a newer version of the program
    +-- EndpointBusy        somebody else looks after it right now
    +-- LeaseLost           a job is no longer this worker's
    +-- EndpointSettings    its endpoint.json cannot be used
    +-- UnknownTenant       no tenant of this name or id
    +-- KeySourceRefused    the key's place cannot be used
    +-- KeySourceAway       the key's place gives no answer right now
    +-- KeyRevoked          the key was taken away
    +-- ServerMissing       the libraries of the server are not installed
    +-- CannotServe         it cannot be served like that
        +-- PortTaken       another program listens there
"""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ErrorCode, LifeboatError

PREPARE = "lifeboat endpoint prepare --data DIR --database ADDRESS --objects URL"
"""What helps where a shared endpoint has no tables, or those of another release."""


class VaultError(LifeboatError):
    """Anything wrong with a vault."""

    code = "vault"
    title = "The vault cannot do that"

    EXISTS = ErrorCode(
        "vault_exists",
        "There is a vault here already",
        meaning="a vault would be written over",
        fix="lifeboat agents list",
        exit_status=3,
    )


class VaultMissing(VaultError):
    code = "vault_missing"
    title = "There is no vault here"
    fix = "lifeboat agents remove AGENT"


class VaultNewer(VaultError):
    """The schema of the file is newer than this program knows; it is not touched."""

    code = "vault_newer"
    title = "The vault was written by a newer version of Agent Lifeboat"
    fix = "pipx upgrade agent-lifeboat"
    exit_status = 3


class VaultDamaged(VaultError):
    code = "vault_damaged"
    title = "The vault is damaged"
    fix = "lifeboat verify AGENT --whole"


class OtherDataKey(VaultDamaged):
    """Content is sealed under another data key; `key_id` names it."""

    code = "other_data_key"
    title = "The data is sealed under another key"
    fix = "lifeboat endpoint compact --data DIR"

    def __init__(self, message: str, *, key_id: str = "", fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.key_id = key_id


class VaultFull(VaultError):
    """The disk (or a quota) is full. The change was rolled back whole."""

    code = "vault_full"
    title = "There is no space left for the vault"
    fix = "free some space, then: lifeboat sync"
    retryable = True


class VaultBusy(VaultError):
    code = "vault_busy"
    title = "Another process is writing to the vault"
    fix = "try again in a moment"
    retryable = True


class EndpointMoving(VaultBusy):
    """The endpoint is being moved to another place: reads work, writes are refused."""

    code = "endpoint_moving"
    title = "The endpoint is being moved"
    fix = "lifeboat endpoint migrate --data DIR --to NEW, or --abort"


class EndpointMoved(VaultBusy):
    """The endpoint was moved to another place."""

    code = "endpoint_moved"
    title = "The endpoint was moved"
    fix = "name the folder that it was moved to"


class ServerReplaced(VaultBusy):
    """A database server still accepts writes although another one was promoted in its place. Those writes would be
    lost."""

    code = "server_replaced"
    title = "The database server was replaced by another one"
    fix = "stop it and let it follow the other one (pg_rewind), or take it out of `store` in endpoint.json"


class VaultUnusable(VaultError):
    code = "vault_unusable"
    title = "The system does not let the vault be read or written"
    fix = "lifeboat doctor"


class UnknownSequence(VaultError):
    code = "unknown_sequence"
    title = "There is no such sequence"
    fix = "lifeboat timeline AGENT"


class DraftInvalid(VaultError):
    """A draft that does not fit the head: a bug of the caller or foreign data. It is never applied in part."""

    code = "draft_invalid"
    title = "The change does not fit the newest state"


class RedactedMeanwhile(DraftInvalid):
    """A purge happened after the change was read, so that it may contain purged content. Read it again."""

    code = "redacted_meanwhile"
    title = "A purge happened meanwhile"
    fix = "lifeboat sync AGENT"
    retryable = True


# Remotes ------------------------------------------------------------------------------------------------------------


class RemoteError(LifeboatError):
    """An error at a remote, or on the way to it. An endpoint raises the same errors that its client sees: `code` and
    `details` travel in the problem document."""

    code = "remote"
    title = "The second copy cannot do that"
    fix = "lifeboat doctor --remote NAME"

    JOIN_INVALID = ErrorCode(
        "join_invalid",
        "This is not a join line",
        meaning="a line that is no join line",
        fix="lifeboat endpoint serve --join TENANT --data DIR",
    )

    def details(self) -> JsonObject:
        """Return further fields of the problem document, by keyword of the constructor."""
        return {}


class RemoteUnreachable(RemoteError):
    """The remote did not answer completely. What was sent may have arrived."""

    code = "remote_unreachable"
    title = "The second copy cannot be reached"
    retryable = True


class NotAnEndpoint(RemoteUnreachable):
    code = "not_an_endpoint"
    title = "What answers there is not an endpoint of Agent Lifeboat"
    fix = "lifeboat remote add --help"


class RemoteUntrusted(RemoteUnreachable):
    """No trusted authority signed the certificate, for example behind a captive portal. Nothing was sent."""

    code = "remote_untrusted"
    title = "Whoever answers there is not the second copy that was added"


class RemoteBusy(RemoteError):
    code = "remote_busy"
    title = "The second copy asks to wait"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after = retry_after
        """Seconds."""

    def details(self) -> JsonObject:
        return {} if self.retry_after is None else {"retry_after": self.retry_after}


class RemoteFull(RemoteBusy):
    code = "remote_full"
    title = "There is no space left at the second copy"
    fix = "make room there, or ask whoever runs it for more"


class RemoteTooLarge(RemoteError):
    code = "remote_too_large"
    title = "That is more than the second copy takes"


class RemoteRefused(RemoteError):
    """What was sent is inconsistent, or does not fit the remote's state."""

    code = "remote_refused"
    title = "The second copy did not take it"


class PurgeRefused(RemoteRefused):
    """The owner of the data at the remote refused a purge. Only the owner can change that."""

    code = "purge_refused"
    title = "The owner of the second copy refused the purge"
    fix = "lifeboat receipts list"


class RemoteDenied(RemoteError):
    """No token, a wrong or expired one, or one without the required scope."""

    code = "remote_denied"
    title = "The second copy does not let this machine in"
    fix = "lifeboat remote token NAME --token-stdin"

    def __init__(self, message: str, *, scope: str | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.scope = scope
        """The scope that a known token lacks; None where there is no token that counts."""

    def details(self) -> JsonObject:
        return {} if self.scope is None else {"scope": self.scope}


class UnknownAtRemote(RemoteError):
    """Unknown at the remote, or owned by another tenant; the two are indistinguishable."""

    code = "unknown_there"
    title = "The second copy does not have that"


class AgentErased(RemoteError):
    """The whole agent was purged at the remote, which accepts it no more. `redaction` is the signed document."""

    code = "agent_erased"
    title = "The agent was purged"
    fix = "lifeboat receipts list"
    exit_status = 3

    def __init__(self, message: str, *, redaction: JsonObject | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.redaction = redaction

    def details(self) -> JsonObject:
        return {"redaction": self.redaction}


class StaleBase(RemoteError):
    """The base of a delta is not the head. `sequence` is the head's number, None for an agent without history."""

    code = "stale_base"
    title = "Something else was written there meanwhile"

    def __init__(self, message: str, *, sequence: int | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.sequence = sequence

    def details(self) -> JsonObject:
        return {"sequence": self.sequence}


class HeadMoved(StaleBase):
    """The head document of a sealed log was replaced meanwhile."""

    code = "head_moved"


class WriterPresent(StaleBase):
    """A machine of the owner writes the agent, and a state made at the endpoint would fence it."""

    code = "writer_present"
    title = "A machine of its owner writes this agent"
    fix = "on that machine: lifeboat alf convert BUNDLE --to alf -o FILE"


class EpochBehind(RemoteError):
    """Another machine took the agent over."""

    code = "epoch_behind"
    title = "The agent moved to another machine"
    fix = "lifeboat agents adopt AGENT"
    exit_status = 3

    def __init__(self, message: str, *, epoch: int = 0, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.epoch = epoch

    def details(self) -> JsonObject:
        return {"epoch": self.epoch}


class EpochMoved(EpochBehind):
    """Another machine began a new epoch first."""

    code = "epoch_moved"


class RemoteDamaged(RemoteError):
    """What came back differs from what was stored or signed."""

    code = "remote_damaged"
    title = "The second copy is damaged"


class PurgesDamaged(RemoteDamaged):
    """The list of purges in a log is missing or changed. A machine that knows all of them writes it again."""

    code = "purges_damaged"
    title = "The list of purges at the second copy is damaged"
    fix = "lifeboat sync"


# Endpoints ----------------------------------------------------------------------------------------------------------


class EndpointError(LifeboatError):
    """An error in an endpoint's own data, for its operator."""

    code = "endpoint"
    title = "The endpoint cannot do that"

    UNSAFE = ErrorCode(
        "endpoint_unsafe",
        "The folder of the endpoint's data is not safe",
        meaning="others can change the folder, or it holds something else",
        exit_status=3,
    )
    UNKNOWN_JOB = ErrorCode(
        "unknown_job",
        "There is no such job",
        meaning="no job of this number",
        fix="lifeboat endpoint jobs list --data DIR",
    )
    NOT_SHARED = ErrorCode(
        "not_shared",
        "This endpoint needs no workers",
        meaning="its data is a folder of files, which has no workers",
        fix="lifeboat endpoint serve --data DIR",
        exit_status=3,
    )
    TENANT_EXISTS = ErrorCode(
        "tenant_exists", "There is a tenant of this name", meaning="the name is taken", exit_status=3
    )
    UNKNOWN_TOKEN = ErrorCode(
        "unknown_token",
        "There is no such token",
        meaning="no token of this id",
        fix="lifeboat endpoint token list --data DIR",
    )
    AUDIT_FILE_REFUSED = ErrorCode(
        "audit_file",
        "The audit cannot be appended to this file",
        meaning="a file that is no export of this audit",
        fix="lifeboat endpoint audit --export NEW-FILE --data DIR",
        exit_status=3,
    )


class NoEndpoint(EndpointError):
    code = "no_endpoint"
    title = "There is no endpoint in this folder"
    fix = "lifeboat endpoint tenant add NAME --data DIR"


class EndpointNewer(EndpointError):
    code = "endpoint_newer"
    title = "The endpoint was made by a newer version of Agent Lifeboat"
    fix = "pipx upgrade agent-lifeboat"
    exit_status = 3


class EndpointBusy(EndpointError):
    """Another process compacts, verifies or removes the same tenant."""

    code = "endpoint_busy"
    title = "Somebody else looks after this part of the endpoint right now"
    fix = "try again in a moment"
    retryable = True


class LeaseLost(EndpointError):
    """The worker was silent for too long, so that another one may have taken the job over."""

    code = "lease_lost"
    title = "The job is no longer this worker's"
    retryable = True


class EndpointSettings(EndpointError):
    code = "endpoint_settings"
    title = "The settings of the endpoint cannot be used"


class UnknownTenant(EndpointError):
    code = "unknown_tenant"
    title = "There is no such tenant"
    fix = "lifeboat endpoint tenant list --data DIR"


class KeySourceRefused(EndpointError):
    """A key source that does not exist, cannot be used, or lies in the folder of the data."""

    code = "key_source"
    title = "The key that protects the data cannot be used"
    exit_status = 3


class KeySourceAway(EndpointError):
    """The source is unreachable or busy. It may still give the key later."""

    code = "key_source_away"
    title = "The key that protects the data cannot be asked for right now"
    fix = "try again in a moment"
    retryable = True


class KeyRevoked(EndpointError):
    """The source does not unwrap the data key. What the key protects is unreadable until it does."""

    code = "key_revoked"
    title = "The key of this data was taken away"

    def __init__(self, message: str, *, only_this: bool = False, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.only_this = only_this
        """Whether the source may give other keys all the same."""


class ServerMissing(EndpointError):
    """The libraries of the server are missing. They come with an extra of the package."""

    code = "server_missing"
    title = "The server is not installed"
    fix = "pipx inject agent-lifeboat httptools prometheus-client starlette uvicorn uvloop"


class CannotServe(EndpointError):
    """An address, certificate or combination of options with which the server cannot run."""

    code = "cannot_serve"
    title = "The endpoint cannot be served like that"
    fix = "lifeboat endpoint serve --help"
    exit_status = 3


class PortTaken(CannotServe):
    code = "port_taken"
    title = "Another program listens there"
    exit_status = 1
