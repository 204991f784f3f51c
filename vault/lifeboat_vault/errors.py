"""Errors of the vault, of remotes and of endpoints.

LifeboatError
+-- VaultError
    +-- VaultMissing      there is no vault where one was expected
    +-- VaultNewer        made by a newer version of the program
    +-- VaultDamaged      the file or a body is damaged
    |   +-- OtherDataKey  the vault is encrypted with another data key
    +-- VaultFull         no space left; nothing of the change was kept
    +-- VaultBusy         another process is writing; try again
    |   +-- EndpointMoving  the endpoint is being moved and is read-only until that is done
    |   +-- EndpointMoved   the endpoint was moved to another folder
    |   +-- ServerReplaced  another database server was promoted in place of this one
    +-- VaultUnusable     the system refuses to read or write (rights, I/O)
    +-- UnknownSequence   no sequence has this number, or it was thinned
    +-- DraftInvalid      a change that does not fit the newest sequence
    |   +-- RedactedMeanwhile   a purge happened since the change was made
+-- RemoteError           a failure at a remote, or in the connection to it
    +-- RemoteUnreachable   no answer; sent data may have arrived
    |   +-- NotAnEndpoint     another service answers
    |   +-- RemoteUntrusted   the server cannot prove to be the added remote; nothing was sent
    +-- RemoteBusy          the remote asks to retry later
    |   +-- RemoteFull      no space is left at the remote
    +-- RemoteTooLarge      larger than the remote accepts
    +-- RemoteRefused       the request is inconsistent, or does not fit the remote's state
    |   +-- PurgeRefused      the owner of the data refused a purge
    +-- RemoteDenied        no valid token
    +-- UnknownAtRemote     the remote does not know the data, or another tenant owns the data
    +-- AgentErased         the whole agent was purged
    +-- StaleBase           the base of a push is not the newest sequence
    |   +-- HeadMoved       another machine changed the index of the sealed remote first
    |   +-- WriterPresent   a machine of the owner writes the agent, and would be fenced
    +-- EpochBehind         another machine took the agent over
    |   +-- EpochMoved      another machine started the new writer epoch first
    +-- RemoteDamaged       the remote returned damaged data
    |   +-- PurgesDamaged     the list of purges of a log is missing or changed
+-- EndpointError         an endpoint's own data
    +-- NoEndpoint          no endpoint's data in the folder
    +-- EndpointNewer       made by a newer version of the program
    +-- EndpointBusy        another process maintains the same tenant
    +-- LeaseLost           a job was taken over by another worker
    +-- EndpointSettings    its file endpoint.json cannot be read or has invalid values
    +-- UnknownTenant       no tenant of this name or id
    +-- KeySourceRefused    the key source cannot be used
    +-- KeySourceAway       the key source does not respond
    +-- KeyRevoked          the key source refuses to unwrap the data key
    +-- ServerMissing       the libraries of the server are not installed
    +-- CannotServe         the server cannot run with these options
        +-- PortTaken       another program listens on the port
"""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ErrorCode, LifeboatError
from lifeboat_keys.installers import extra_command, upgrade_command

PREPARE = "lifeboat endpoint prepare --data DIR --database ADDRESS --objects URL"
"""Fix for a shared endpoint without tables, or with those of another release."""


class VaultError(LifeboatError):
    """An error in a vault."""

    code = "vault"
    title = "The vault (the stored history of an agent) refused the operation"

    EXISTS = ErrorCode(
        "vault_exists",
        "A vault already exists in this place",
        meaning="a vault exists already, and would be overwritten",
        fix="lifeboat agents list",
        exit_status=3,
    )


class VaultMissing(VaultError):
    code = "vault_missing"
    title = "The vault of the agent does not exist"
    fix = "lifeboat agents remove AGENT"


class VaultNewer(VaultError):
    """The schema of the file is newer than this program knows; it is not touched."""

    code = "vault_newer"
    title = "The vault was written by a newer version of Agent Lifeboat"
    fix = "pipx upgrade agent-lifeboat"
    exit_status = 3

    def __init__(self, message: str) -> None:
        super().__init__(message, fix=upgrade_command())


class VaultDamaged(VaultError):
    code = "vault_damaged"
    title = "The vault is damaged"
    fix = "lifeboat verify AGENT --whole"


class OtherDataKey(VaultDamaged):
    """Content is sealed under another data key; `key_id` names it."""

    code = "other_data_key"
    title = "The data is encrypted with a different key"
    fix = "lifeboat endpoint compact --data DIR"

    def __init__(self, message: str, *, key_id: str = "", fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.key_id = key_id


class VaultFull(VaultError):
    """The disk (or a quota) is full. The change was rolled back whole."""

    code = "vault_full"
    title = "No space is left for the vault"
    fix = "free some space, then run: lifeboat sync"
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
    fix = "run the command again with --data and the new folder of the endpoint"


class ServerReplaced(VaultBusy):
    """A database server still accepts writes although another one was promoted in its place. Those writes would be
    lost."""

    code = "server_replaced"
    title = "The database server was replaced by another one"
    fix = "stop the old server and make it a standby (pg_rewind), or remove it from `store` in endpoint.json"


class VaultUnusable(VaultError):
    code = "vault_unusable"
    title = "The vault cannot be read or written"
    fix = "lifeboat doctor"


class UnknownSequence(VaultError):
    code = "unknown_sequence"
    title = "Unknown sequence"
    fix = "lifeboat timeline AGENT"


class DraftInvalid(VaultError):
    """A draft that does not fit the head: a bug of the caller or foreign data. It is never applied in part."""

    code = "draft_invalid"
    title = "The change does not fit the newest sequence"


class RedactedMeanwhile(DraftInvalid):
    """A purge happened after the change was read, so that it may contain purged content. Read it again."""

    code = "redacted_meanwhile"
    title = "A purge happened during the operation"
    fix = "lifeboat sync AGENT"
    retryable = True


# Remotes ------------------------------------------------------------------------------------------------------------


class RemoteError(LifeboatError):
    """An error at a remote, or on the way to it. An endpoint raises the same errors that its client sees: `code` and
    `details` travel in the problem document."""

    code = "remote"
    title = "The remote refused the operation"
    fix = "lifeboat doctor --remote NAME"

    JOIN_INVALID = ErrorCode(
        "join_invalid",
        "The text is not a join line",
        meaning="the text is not a valid join line",
        fix="lifeboat endpoint serve --join TENANT --data DIR",
    )

    def details(self) -> JsonObject:
        """Return further fields of the problem document, by keyword of the constructor."""
        return {}


class RemoteUnreachable(RemoteError):
    """The remote did not answer completely. What was sent may have arrived."""

    code = "remote_unreachable"
    title = "The remote cannot be reached"
    retryable = True


class NotAnEndpoint(RemoteUnreachable):
    code = "not_an_endpoint"
    title = "The server at this address is not an endpoint of Agent Lifeboat"
    fix = "lifeboat remote add --help"


class RemoteUntrusted(RemoteUnreachable):
    """No trusted authority signed the certificate, for example behind a captive portal. Nothing was sent."""

    code = "remote_untrusted"
    title = "The server at this address is not the remote that you added"


class RemoteBusy(RemoteError):
    code = "remote_busy"
    title = "The remote is busy and cannot answer now"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after = retry_after
        """Seconds."""

    def details(self) -> JsonObject:
        return {} if self.retry_after is None else {"retry_after": self.retry_after}


class RemoteFull(RemoteBusy):
    code = "remote_full"
    title = "No space is left on the remote"
    fix = "free space on the remote, or ask its operator for a larger quota"


class RemoteTooLarge(RemoteError):
    code = "remote_too_large"
    title = "The data is larger than the remote accepts"


class RemoteRefused(RemoteError):
    """What was sent is inconsistent, or does not fit the remote's state."""

    code = "remote_refused"
    title = "The remote refused the data"


class PurgeRefused(RemoteRefused):
    """The owner of the data at the remote refused a purge. Only the owner can change that."""

    code = "purge_refused"
    title = "The owner of the remote refused the purge"
    fix = "lifeboat receipts list"


class RemoteDenied(RemoteError):
    """No token, a wrong or expired one, or one without the required scope."""

    code = "remote_denied"
    title = "The remote denied access"
    fix = "lifeboat remote token NAME --token-stdin"

    def __init__(self, message: str, *, scope: str | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.scope = scope
        """The scope that a valid token lacks; None without a valid token."""

    def details(self) -> JsonObject:
        return {} if self.scope is None else {"scope": self.scope}


class UnknownAtRemote(RemoteError):
    """Unknown at the remote, or owned by another tenant; the two are indistinguishable."""

    code = "unknown_there"
    title = "The remote does not have the requested data"


class AgentErased(RemoteError):
    """The whole agent was purged at the remote, which no longer accepts it. `redaction` is the signed document."""

    code = "agent_erased"
    title = "The agent was purged completely"
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
    title = "Another machine pushed a sequence to the remote first"

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
    title = "Another machine of the owner writes this agent"
    fix = "run on the machine that writes the agent: lifeboat alf convert BUNDLE --to alf -o FILE"


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
    title = "The data on the remote is damaged"


class PurgesDamaged(RemoteDamaged):
    """The list of purges in a log is missing or changed. A machine that knows all of them writes it again."""

    code = "purges_damaged"
    title = "The list of purges on the remote is damaged"
    fix = "lifeboat sync"


# Endpoints ----------------------------------------------------------------------------------------------------------


class EndpointError(LifeboatError):
    """An error in an endpoint's own data, for its operator."""

    code = "endpoint"
    title = "The endpoint refused the operation"

    UNSAFE = ErrorCode(
        "endpoint_unsafe",
        "The folder with the endpoint's data is not safe",
        meaning="other users can change the folder, or the folder contains other files",
        exit_status=3,
    )
    UNKNOWN_JOB = ErrorCode(
        "unknown_job",
        "Unknown job",
        meaning="no job has this number",
        fix="lifeboat endpoint jobs list --data DIR",
    )
    NOT_SHARED = ErrorCode(
        "not_shared",
        "This endpoint needs no workers",
        meaning="the endpoint stores its data in a folder, so it needs no workers",
        fix="lifeboat endpoint serve --data DIR",
        exit_status=3,
    )
    TENANT_EXISTS = ErrorCode(
        "tenant_exists",
        "A tenant with this name exists already",
        meaning="the name of the tenant is already in use",
        exit_status=3,
    )
    UNKNOWN_TOKEN = ErrorCode(
        "unknown_token",
        "Unknown token",
        meaning="no token has this id",
        fix="lifeboat endpoint token list --data DIR",
    )
    AUDIT_FILE_REFUSED = ErrorCode(
        "audit_file",
        "The audit log cannot be appended to this file",
        meaning="the file is not an export of this audit log",
        fix="lifeboat endpoint audit --export NEW-FILE --data DIR",
        exit_status=3,
    )


class NoEndpoint(EndpointError):
    code = "no_endpoint"
    title = "This folder contains no endpoint"
    fix = "lifeboat endpoint tenant add NAME --data DIR"


class EndpointNewer(EndpointError):
    code = "endpoint_newer"
    title = "The endpoint was created by a newer version of Agent Lifeboat"
    fix = "pipx upgrade agent-lifeboat"
    exit_status = 3

    def __init__(self, message: str) -> None:
        super().__init__(message, fix=upgrade_command())


class EndpointBusy(EndpointError):
    """Another process compacts, verifies or removes the same tenant."""

    code = "endpoint_busy"
    title = "Another process is maintaining the same data of the endpoint"
    fix = "try again in a moment"
    retryable = True


class LeaseLost(EndpointError):
    """The worker was silent for too long, so that another one may have taken the job over."""

    code = "lease_lost"
    title = "Another worker has taken over the job"
    retryable = True


class EndpointSettings(EndpointError):
    code = "endpoint_settings"
    title = "The settings of the endpoint are not valid"


class UnknownTenant(EndpointError):
    code = "unknown_tenant"
    title = "Unknown tenant"
    fix = "lifeboat endpoint tenant list --data DIR"


class KeySourceRefused(EndpointError):
    """A key source that does not exist, cannot be used, or lies in the folder of the data."""

    code = "key_source"
    title = "The key that protects the data of the endpoint cannot be used"
    exit_status = 3


class KeySourceAway(EndpointError):
    """The source is unreachable or busy. It may still give the key later."""

    code = "key_source_away"
    title = "The source of the key that protects the data does not respond"
    fix = "try again in a moment"
    retryable = True


class KeyRevoked(EndpointError):
    """The source does not unwrap the data key. What the key protects is unreadable until it does."""

    code = "key_revoked"
    title = "The key that protects this data was revoked"

    def __init__(self, message: str, *, only_this: bool = False, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.only_this = only_this
        """Whether the source may give other keys all the same."""


class ServerMissing(EndpointError):
    """The libraries of the server are missing. They come with an extra of the package."""

    code = "server_missing"
    title = "The endpoint server is not installed"
    fix = "pipx inject agent-lifeboat httptools prometheus-client starlette uvicorn uvloop"

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix or extra_command("server"))


class CannotServe(EndpointError):
    """An address, certificate or combination of options with which the server cannot run."""

    code = "cannot_serve"
    title = "The server cannot run with these options"
    fix = "lifeboat endpoint serve --help"
    exit_status = 3


class PortTaken(CannotServe):
    code = "port_taken"
    title = "The port is already in use"
    exit_status = 1
