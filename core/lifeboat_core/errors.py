"""Errors of the daemon and the command line.

LifeboatError
+-- DaemonError
|     UNKNOWN_RECEIPT       no receipt of a purge has this id
|     BAD_LABEL             an invalid label
    +-- UnexpectedError         an internal error
    +-- HomeError               the home folder cannot be used
    |     RELATIVE_PATH         an environment variable is not an absolute path
    |     ABSENT                there is no home, and commands that only read do not create one
    |     UNSAFE                other users can write to the home, or it is a link or on a network file system
    |     NEWER                 a newer release created the home
    +-- ConfigError             a configuration file or a setting
    |   +-- BadSetting          a value of the wrong kind or out of range
    +-- AgentError
    |     NAME_REFUSED          another agent has the name, or the name is invalid
    |     ALREADY_PROTECTED     the folder belongs to an agent already
    |     AMBIGUOUS_AGENT       several agents match
    |     LOOKS_LIKE            a remote has an agent with the same files
    |     WORKSPACE_REFUSED     a folder that must not be a workspace
    |     UNKNOWN_PATH          no captured file and no database row that `lifeboat doctor` lists has this name
    |     NO_LINES              a file without lines: binary, or its bytes are not stored
    |     PROJECT_REFUSED       the agent's runtime cannot follow this project to another path
    |   +-- UnknownAgent        no agent has this name, id or folder
    +-- Busy                    another process has the agent's lock
    +-- ServiceError
    |     DOES_NOT_ANSWER       a daemon runs but does not answer in time
    |     ALREADY_RUNNING       another daemon serves this home
    |     UNIT                  the service could not be installed, started or removed
    |   +-- NotRunning          no daemon of this home answers
    |   +-- OtherRelease        the daemon is of a release that speaks another protocol
    |   +-- NotAllowed          another user's process talks to the daemon, or its socket is not safe
    |   +-- BadRequest          the daemon does not know the method, or cannot use its parameters
    |   +-- WorkerFailed        a worker ended before its work was done
    |   +-- CommandLost         it is unknown whether a command was carried out
    |   +-- Cancelled           the work was cancelled
    +-- GrantError              an agent and its own past
    |     NOT_GRANTED           the user has not granted the agent access to its past
    |     GRANT_ENDED           the grant of a running server was revoked, replaced or has expired
    |     LIBRARY_MISSING       the library of the server is not installed
    |     ANOTHER_AGENT         a call names an agent or a session
    |     PROPOSAL_REFUSED      a proposal that cannot be carried out
    |     NOT_OWN_EDIT          an undo of an edit that was not made in this session
    |     TOO_MANY_PROPOSALS    too many open proposals, or too many within an hour
    |     UNKNOWN_PROPOSAL      no proposal has this number
    |     PROPOSAL_DECIDED      the proposal was accepted, rejected or has expired
    +-- HookFailed              the hook that reports the end of a session could not be added or removed
    +-- NetworkError            a network request failed
    |   +-- NetworkUnreachable  no answer in time, or none that can be trusted
    |   +-- AnsweredWithError   the server refused the request
    |   +-- NotPrivate          a secret would be sent where others can read it
    |   +-- NotTheOne           the server cannot prove its identity
    +-- SecondCopyError         a remote as this home knows it
    |     UNKNOWN_REMOTE        no remote has this name
    |     REMOTE_EXISTS         another remote has the name, or the address belongs to a known remote
    |     REMOTE_NAME_REFUSED   the name is invalid
    +-- SystemRefused           the system refused access to a file
    |   +-- DiskFull            no space, or a quota
    +-- RestoreError
    |     CONSENT_NEEDED        files would be replaced or an agent given up without confirmation
    |     UNSIGNED_STATE        the state is not signed, and this was not accepted
    |     TARGET_CHANGED        a file changed between the plan and the restore, or after the restore to undo
    |     NAMES_DO_NOT_FIT      the file system cannot store some names
    |     TARGET_REFUSED        a folder that a restore must not write into
    |     RUNTIME_RUNNING       the runtime uses files that would be written
    |     UNSAFE_NAME           a file name that leads out of the folder
    |     RESTORE_FAILED        the file system refused a step; the message says whether the old files are back
    |     NOTHING_TO_UNDO       no restore of this agent within seven days
    |   +-- NothingToRestore    there is no sequence, or none that matches
    |   |     BAD_MOMENT            the argument is neither a sequence nor a time
    +-- ExchangeError
    |     MISLEADING_NAME       the name says that the file is encrypted, or that it is not
    |     OPTION_REFUSED        an option that has no effect in this conversion, or an invalid value
    |     FILE_EXISTS           the file to write exists already
    |     WOULD_LOSE            the other format cannot represent everything, and the loss was not accepted
    |     HOSTED_HISTORY        the reference client's service refused, or its answer is damaged
    |     NOTHING_TO_EXPORT     nothing changed since the sequence that a delta would start from
    |   +-- NoAlfClient         there is no folder of the reference client, or a file in it is damaged
    +-- ReplicationError        a remote does not match what this machine pushed
    |     REMOTE_FORGOT         a remote lost data that it had acknowledged
    |   +-- OtherVault          another vault answers under a remote's address
    |   +-- MovedElsewhere      another machine writes the agent, and taking it over was not confirmed
    +-- RecordError
    |     UNKNOWN_KIND          a type or a status that no memory has
    |     NO_EARLIER_TEXT       the history has no other text of this memory
    |     NOT_IN_FILE           the memory is in a database, or its file cannot be divided
    |     HOLDS_SECRET          the text to write contains a sealed secret
    |     MEMORY_CHANGED        the live file has another text than the newest sequence
    |   +-- UnknownRecord       no record has this id
    |   |     PURGED                a purge destroyed the memory
    +-- WordsError
    |     WORDS_MISPLACED       recovery words in a field that would show or store them
    |     NOBODY_TO_ASK         the command shows or asks for recovery words, and there is no terminal
    |     WORDS_NOT_PROVEN      the typed words are missing or wrong
"""

from __future__ import annotations

from lifeboat_alf.errors import ErrorCode, LifeboatError


class DaemonError(LifeboatError):
    code = "daemon"

    UNKNOWN_RECEIPT = ErrorCode("unknown_receipt", "Unknown receipt", fix="lifeboat receipts list")
    BAD_LABEL = ErrorCode("bad_label", "Invalid label", fix="lifeboat label --help")


class UnexpectedError(DaemonError):
    code = "unexpected"
    title = "Internal error"
    fix = "lifeboat doctor"


class HomeError(DaemonError):
    code = "home"
    title = "The home of Lifeboat cannot be used"
    fix = "lifeboat doctor"

    RELATIVE_PATH = ErrorCode("relative_path", "An environment variable is not an absolute path", exit_status=3)
    ABSENT = ErrorCode("home_absent", "The home of Lifeboat does not exist", fix="lifeboat setup")
    UNSAFE = ErrorCode("home_unsafe", "The home of Lifeboat is not safe to use", exit_status=3)
    NEWER = ErrorCode("home_newer", "A newer release of Lifeboat created the home", fix="pipx upgrade agent-lifeboat")


class ConfigError(DaemonError):
    """Settings that cannot be used. `detail` is the message without the name of the file, where it has one."""

    code = "config"
    title = "The configuration cannot be used"
    fix = "lifeboat config list"
    detail: str | None = None

    UNKNOWN_SETTING = ErrorCode("unknown_setting", "Unknown setting")


class BadSetting(ConfigError):
    code = "bad_setting"
    title = "Invalid value"


class AgentError(DaemonError):
    code = "agent"
    fix = "lifeboat agents list"

    NAME_REFUSED = ErrorCode("name_refused", "The agent name is invalid or already in use", exit_status=3)
    ALREADY_PROTECTED = ErrorCode("already_protected", "This folder is already protected", exit_status=3)
    AMBIGUOUS_AGENT = ErrorCode("ambiguous_agent", "The name matches more than one agent")
    LOOKS_LIKE = ErrorCode(
        "looks_like",
        "A remote already has an agent that looks like this one",
        fix="lifeboat agents add FOLDER --as AGENT --from REMOTE",
        exit_status=3,
    )
    WORKSPACE_REFUSED = ErrorCode("workspace_refused", "This folder cannot be an agent's workspace", exit_status=3)
    PROJECT_REFUSED = ErrorCode("project_refused", "The project cannot be moved", exit_status=3)
    NO_LINES = ErrorCode("no_lines", "The file has no lines to show", fix="lifeboat agents show AGENT", exit_status=3)
    UNKNOWN_PATH = ErrorCode("unknown_path", "No captured file has this name", fix="lifeboat agents show AGENT")


class UnknownAgent(AgentError):
    code = "unknown_agent"
    title = "Unknown agent"


class Busy(DaemonError):
    """Another process holds the agent's lock; `message` names it and what it does."""

    code = "busy"
    title = "Another command is using this agent"
    retryable = True


class HookFailed(DaemonError):
    code = "hook_failed"
    title = "The session hook could not be changed"
    fix = "lifeboat agents hook AGENT --show"


class GrantError(DaemonError):
    code = "grant"
    title = "The agent has no access to its own past"
    fix: str | None = "lifeboat agents grant AGENT"
    exit_status = 3

    NOT_GRANTED = ErrorCode("not_granted")
    GRANT_ENDED = ErrorCode("grant_ended", "The agent no longer has access to its own past")
    LIBRARY_MISSING = ErrorCode("mcp_missing", "A library of the MCP server is not installed", exit_status=1)
    ANOTHER_AGENT = ErrorCode("another_agent", "The call is outside of the grant")
    PROPOSAL_REFUSED = ErrorCode(
        "proposal_refused", "The proposal cannot be carried out", fix="lifeboat timeline AGENT"
    )
    NOT_OWN_EDIT = ErrorCode("not_own_edit", "Not an edit of this session", fix="lifeboat proposals list AGENT --all")
    TOO_MANY_PROPOSALS = ErrorCode(
        "too_many_proposals", "Too many proposals", fix="lifeboat proposals list AGENT", retryable=True
    )
    UNKNOWN_PROPOSAL = ErrorCode(
        "unknown_proposal", "Unknown proposal", fix="lifeboat proposals list AGENT --all", exit_status=1
    )
    PROPOSAL_DECIDED = ErrorCode(
        "proposal_decided", "The proposal is no longer open", fix="lifeboat proposals list AGENT --all"
    )


class ServiceError(DaemonError):
    code = "service"
    title = "The daemon refused the request"
    fix: str | None = "lifeboat daemon status"

    DOES_NOT_ANSWER = ErrorCode(
        "does_not_answer", "The daemon does not answer", fix="lifeboat daemon restart", retryable=True
    )
    ALREADY_RUNNING = ErrorCode("already_running", "The daemon is already running", exit_status=3)
    UNIT = ErrorCode("unit", "The system's service manager refused the request", fix="lifeboat doctor")


class NotRunning(ServiceError):
    code = "not_running"
    title = "The daemon is not running"
    fix = "lifeboat daemon start"


class OtherRelease(ServiceError):
    code = "other_release"
    title = "The daemon runs a different release of Lifeboat"
    fix = "lifeboat daemon restart"


class NotAllowed(ServiceError):
    code = "not_allowed"
    title = "The daemon belongs to another user"
    exit_status = 3


class BadRequest(ServiceError):
    code = "bad_request"
    title = "The daemon does not understand the request"


class WorkerFailed(ServiceError):
    """The worker was killed or crashed. What it had committed stays, what it had not is as if never begun."""

    code = "worker_failed"
    title = "A worker ended before its task was complete"
    fix = "lifeboat doctor"
    retryable = True


class CommandLost(ServiceError):
    """The process that ran a command for another program was killed. A command that was at work finishes by itself."""

    code = "command_lost"
    title = "The command may or may not have been carried out"
    fix = "lifeboat status"
    retryable = True


class Cancelled(ServiceError):
    code = "cancelled"
    title = "The task was cancelled"
    fix = None
    retryable = True


class NetworkError(DaemonError):
    """Messages contain no address: anyone who knows one may be able to use it."""

    code = "network"
    title = "The network request failed"


class NetworkUnreachable(NetworkError):
    code = "unreachable"
    title = "The server could not be reached"
    retryable = True


class AnsweredWithError(NetworkError):
    """`status` is the HTTP status of the answer."""

    code = "answered_with_error"
    title = "The server refused the request"

    def __init__(self, message: str, *, status: int, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class NotPrivate(NetworkError):
    code = "not_private"
    title = "The connection is not private"
    fix = "lifeboat remote add NAME https://HOST"
    exit_status = 3


class NotTheOne(NetworkError):
    """Its certificate is not from the authority that was pinned. Nothing was sent."""

    code = "not_the_one"
    title = "The server could not prove its identity"


class SecondCopyError(DaemonError):
    code = "second_copy"
    fix = "lifeboat remote list"

    UNKNOWN_REMOTE = ErrorCode("unknown_remote", "Unknown remote")
    REMOTE_EXISTS = ErrorCode("remote_exists", "A remote with this name already exists", exit_status=3)
    REMOTE_NAME_REFUSED = ErrorCode("remote_name_refused", "Invalid name for a remote", exit_status=3)


class SystemRefused(DaemonError):
    code = "system_refused"
    title = "The system refused access to a file"
    fix = "lifeboat doctor"


class DiskFull(SystemRefused):
    code = "disk_full"
    title = "The disk is full"
    fix = "free some space on that disk, then repeat the command"
    retryable = True


class ReaderGone(BrokenPipeError):
    """The program that reads the output (`head`, `less`) has ended: no file is refused, and nothing failed."""


class ReplicationError(DaemonError):
    """Nothing was sent, and nothing was believed."""

    code = "replication"
    title = "The data on the remote differs from what this machine pushed"
    fix = "lifeboat doctor --remote NAME"
    exit_status = 3

    REMOTE_FORGOT = ErrorCode("remote_forgot", "The remote lost data", fix="lifeboat remote remove NAME")


class OtherVault(ReplicationError):
    code = "other_vault"
    title = "A different remote answers at this address"
    fix = "lifeboat remote list"


class MovedElsewhere(ReplicationError):
    code = "moved_elsewhere"
    title = "Another machine writes this agent now"
    fix = "lifeboat agents adopt AGENT"


class RecordError(DaemonError):
    code = "record"

    UNKNOWN_KIND = ErrorCode("unknown_kind", "Unknown memory type or status", fix="lifeboat records list AGENT")
    NO_EARLIER_TEXT = ErrorCode(
        "no_earlier_text", "The memory has no other text to return to", fix="lifeboat timeline AGENT", exit_status=3
    )
    NOT_IN_FILE = ErrorCode(
        "memory_not_in_file",
        "This memory is not in a file that Lifeboat can edit",
        fix="lifeboat restore AGENT --dry-run",
        exit_status=3,
    )
    HOLDS_SECRET = ErrorCode(
        "memory_holds_secret",
        "The earlier text of the memory contains a secret",
        fix="lifeboat restore AGENT --dry-run",
        exit_status=3,
    )
    MEMORY_CHANGED = ErrorCode(
        "memory_changed",
        "The memory changed since the last capture",
        fix="lifeboat diff AGENT",
        exit_status=3,
    )


class UnknownRecord(RecordError):
    code = "unknown_record"
    title = "Unknown memory"
    fix = "lifeboat search AGENT WORDS"

    PURGED = ErrorCode("record_purged", "This memory was purged", fix="lifeboat receipts list")


class RestoreError(DaemonError):
    code = "restore"
    title = "Nothing was restored"

    CONSENT_NEEDED = ErrorCode(
        "consent_needed", "Confirmation is required", fix="lifeboat restore AGENT --dry-run", exit_status=3
    )
    UNSIGNED_STATE = ErrorCode(
        "unsigned", "The state is not signed", fix="lifeboat restore AGENT --accept-unsigned", exit_status=3
    )
    TARGET_CHANGED = ErrorCode(
        "target_changed", "A file changed after Lifeboat had planned the restore", retryable=True, exit_status=3
    )
    NAMES_DO_NOT_FIT = ErrorCode(
        "names_do_not_fit",
        "The target file system cannot store some of the names",
        fix="lifeboat restore AGENT --to FOLDER-ELSEWHERE",
        exit_status=3,
    )
    TARGET_REFUSED = ErrorCode(
        "target_refused",
        "Lifeboat cannot restore into this folder",
        fix="lifeboat restore AGENT --to NEW-FOLDER",
        exit_status=3,
    )
    RUNTIME_RUNNING = ErrorCode("runtime_running", "The runtime is running", retryable=True, exit_status=3)
    UNSAFE_NAME = ErrorCode("unsafe_name", "The state contains an unsafe file name", exit_status=3)
    RESTORE_FAILED = ErrorCode("restore_failed", "The restore was interrupted", retryable=True)
    NOTHING_TO_UNDO = ErrorCode("nothing_to_undo", "There is no restore to undo", fix="lifeboat timeline AGENT")


class NothingToRestore(RestoreError):
    code = "nothing_to_restore"
    title = "There is nothing to restore"
    fix = "lifeboat timeline AGENT"

    BAD_MOMENT = ErrorCode("bad_moment", "Invalid sequence or time")


class ExchangeError(DaemonError):
    code = "exchange"
    title = "The conversion failed"

    MISLEADING_NAME = ErrorCode("misleading_name", "The file name does not match the content", exit_status=3)
    OPTION_REFUSED = ErrorCode(
        "option_refused",
        "This option does not apply to this conversion",
        fix="lifeboat alf convert --help",
        exit_status=3,
    )
    FILE_EXISTS = ErrorCode("file_exists", "The file exists already", exit_status=3)
    WOULD_LOSE = ErrorCode(
        "would_lose",
        "The conversion would lose data",
        fix="the same command with --yes",
        exit_status=3,
    )
    HOSTED_HISTORY = ErrorCode(
        "hosted_history",
        "The hosted ALF service did not provide the history",
        fix="lifeboat setup --from-alf",
        retryable=True,
    )
    NOTHING_TO_EXPORT = ErrorCode("nothing_to_export", "There is nothing to export")


class NoAlfClient(ExchangeError):
    code = "no_alf_client"
    title = "The files of the ALF reference client cannot be read"
    fix = "lifeboat setup"


class WordsError(DaemonError):
    code = "words"
    title = "The recovery words could not be shown or checked"
    fix = "lifeboat keys prove"

    WORDS_MISPLACED = ErrorCode(
        "words_misplaced", "Recovery words are not allowed here", fix="lifeboat keys recover", exit_status=3
    )
    NOBODY_TO_ASK = ErrorCode("nobody_to_ask", "This command needs a terminal", exit_status=3)
    WORDS_NOT_PROVEN = ErrorCode("words_not_proven", "You have not proven that you have the recovery words")
