"""Errors of the daemon and the command line.

LifeboatError
+-- DaemonError
|     UNKNOWN_RECEIPT       no receipt of a purge has this id
|     BAD_LABEL             a sequence cannot be called that
    +-- UnexpectedError         a mistake of the program
    +-- HomeError               the home folder cannot be used
    |     RELATIVE_PATH         a variable names no whole path
    |     ABSENT                there is none, and what only examines one makes none
    |     UNSAFE                others can write to it, it is a link, it lies on a network file system
    |     NEWER                 a newer release made it
    +-- ConfigError             a configuration file or a setting
    |   +-- BadSetting          a value of the wrong kind or out of range
    +-- AgentError
    |     NAME_REFUSED          another agent has the name, or it is none
    |     ALREADY_PROTECTED     the folder belongs to an agent already
    |     AMBIGUOUS_AGENT       several have
    |     LOOKS_LIKE            a second copy has an agent with the same files
    |     WORKSPACE_REFUSED     a folder that must not be a workspace
    |     UNKNOWN_PATH          the agent has no such file, and no row that is reported
    |   +-- UnknownAgent        no agent has this name, id or folder
    +-- Busy                    somebody else holds the agent's lock
    +-- ServiceError
    |     DOES_NOT_ANSWER       a daemon is there and does not answer in time
    |     ALREADY_RUNNING       another daemon serves this home
    |     UNIT                  the service could not be installed, started or removed
    |   +-- NotRunning          no daemon of this home answers
    |   +-- OtherRelease        the daemon is of a release that speaks another protocol
    |   +-- NotAllowed          somebody else's process talks to the daemon, or its socket is not safe
    |   +-- BadRequest          the daemon does not know the method, or cannot use its parameters
    |   +-- WorkerFailed        a worker ended before its work was done
    |   +-- CommandLost         nobody can say whether a command was done
    |   +-- Cancelled           somebody stopped the work
    +-- HookFailed              a runtime could not be told to say when a session ends
    +-- NetworkError            a request over the network came to nothing
    |   +-- NetworkUnreachable  nobody answered in time, or not so that it could be believed
    |   +-- AnsweredWithError   the other side answered that it did not do it
    |   +-- NotPrivate          a secret would travel where others can read it
    |   +-- NotTheOne           whoever answers cannot prove to be the one that was meant
    +-- SecondCopyError         a second copy as this home knows it
    |     UNKNOWN_REMOTE        none has this name
    |     REMOTE_EXISTS         the name is taken, or it is there under another one
    |     REMOTE_NAME_REFUSED   it cannot be called that
    +-- SystemRefused           the system does not let a file be read or written
    |   +-- DiskFull            no space, or a quota
    +-- RestoreError
    |     CONSENT_NEEDED        files would be replaced or an agent given up, and nobody said yes
    |     UNSIGNED_STATE        nobody signed the state and nobody accepted that
    |     TARGET_CHANGED        a file changed between plan and restore, or since the restore that is undone
    |     NAMES_DO_NOT_FIT      the file system cannot hold some names
    |     TARGET_REFUSED        a folder that a restore must not write into
    |     RUNTIME_RUNNING       the runtime is at work on what would be written
    |     UNSAFE_NAME           a name that would climb out of the folder
    |     RESTORE_FAILED        the file system refused a step; says whether everything was put back
    |     NOTHING_TO_UNDO       no restore of this agent within seven days
    |   +-- NothingToRestore    nothing is kept, or nothing fits what was asked for
    |   |     BAD_MOMENT            what was typed is neither a sequence nor a time
    +-- ExchangeError
    |     MISLEADING_NAME       the name says that the file is encrypted, or that it is not
    |     OPTION_REFUSED        an option that counts for nothing in this conversion, or has no such value
    |     FILE_EXISTS           the file to be written is there already
    |     WOULD_LOSE            the other format cannot hold everything, and nobody said that it may go
    |     HOSTED_HISTORY        the reference client's service refused, or its answer is damaged
    |     NOTHING_TO_EXPORT     nothing changed since the sequence that a delta would start from
    |   +-- NoAlfClient         there is no folder of the reference client, or a file in it is damaged
    +-- ReplicationError        a second copy is not what this machine left there
    |     REMOTE_FORGOT         a remote lost what it had acknowledged
    |   +-- OtherVault          another vault answers under a remote's address
    |   +-- MovedElsewhere      another machine writes the agent, and nobody said that it may be taken over
    +-- RecordError
    |     UNKNOWN_KIND          a type or a status that no memory has
    |   +-- UnknownRecord       no record has this id
    |   |     PURGED                it was purged
    +-- WordsError
    |     WORDS_MISPLACED       words of a key in a field that would show or keep them
    |     NOBODY_TO_ASK         words would be shown or asked for, and there is no terminal
    |     WORDS_NOT_PROVEN      the words that were asked for were not given
"""

from __future__ import annotations

from lifeboat_alf.errors import ErrorCode, LifeboatError


class DaemonError(LifeboatError):
    code = "daemon"

    UNKNOWN_RECEIPT = ErrorCode("unknown_receipt", "There is no such receipt", fix="lifeboat receipts list")
    BAD_LABEL = ErrorCode("bad_label", "A sequence cannot have this name", fix="lifeboat label --help")


class UnexpectedError(DaemonError):
    code = "unexpected"
    title = "Something went wrong that should not have"
    fix = "lifeboat doctor"


class HomeError(DaemonError):
    code = "home"
    title = "The home folder of Lifeboat cannot be used"
    fix = "lifeboat doctor"

    RELATIVE_PATH = ErrorCode("relative_path", "A variable of the environment names no whole path", exit_status=3)
    ABSENT = ErrorCode("home_absent", "There is no home of Lifeboat here", fix="lifeboat setup")
    UNSAFE = ErrorCode("home_unsafe", "The home folder of Lifeboat is not safe", exit_status=3)
    NEWER = ErrorCode("home_newer", "The home folder was made by a newer release", fix="pipx upgrade agent-lifeboat")


class ConfigError(DaemonError):
    """Settings that cannot be used. `detail` is the message without the name of the file, where it has one."""

    code = "config"
    title = "The configuration cannot be used"
    fix = "lifeboat config list"
    detail: str | None = None

    UNKNOWN_SETTING = ErrorCode("unknown_setting", "There is no such setting")


class BadSetting(ConfigError):
    code = "bad_setting"
    title = "The setting cannot have this value"


class AgentError(DaemonError):
    code = "agent"
    fix = "lifeboat agents list"

    NAME_REFUSED = ErrorCode("name_refused", "The agent cannot be called that", exit_status=3)
    ALREADY_PROTECTED = ErrorCode("already_protected", "This folder is protected already", exit_status=3)
    AMBIGUOUS_AGENT = ErrorCode("ambiguous_agent", "More than one agent fits")
    LOOKS_LIKE = ErrorCode(
        "looks_like",
        "This looks like an agent that a second copy has",
        fix="lifeboat agents add FOLDER --as AGENT --from REMOTE",
        exit_status=3,
    )
    WORKSPACE_REFUSED = ErrorCode("workspace_refused", "This folder cannot be an agent's workspace", exit_status=3)
    UNKNOWN_PATH = ErrorCode(
        "unknown_path", "There is no such file among those that are captured", fix="lifeboat agents show AGENT"
    )


class UnknownAgent(AgentError):
    code = "unknown_agent"
    title = "There is no such agent"


class Busy(DaemonError):
    """Another process holds the agent's lock; `message` names it and what it does."""

    code = "busy"
    title = "Another command works on this agent"
    retryable = True


class HookFailed(DaemonError):
    code = "hook_failed"
    title = "The hook could not be put in or taken away"
    fix = "lifeboat agents hook AGENT --show"


class ServiceError(DaemonError):
    code = "service"
    title = "The service did not do that"
    fix: str | None = "lifeboat daemon status"

    DOES_NOT_ANSWER = ErrorCode(
        "does_not_answer", "The service does not answer", fix="lifeboat daemon restart", retryable=True
    )
    ALREADY_RUNNING = ErrorCode("already_running", "The service is running already", exit_status=3)
    UNIT = ErrorCode("unit", "The system's service manager did not do that", fix="lifeboat doctor")


class NotRunning(ServiceError):
    code = "not_running"
    title = "The service is not running"
    fix = "lifeboat daemon start"


class OtherRelease(ServiceError):
    code = "other_release"
    title = "The service is of another release"
    fix = "lifeboat daemon restart"


class NotAllowed(ServiceError):
    code = "not_allowed"
    title = "The service is not for this user"
    exit_status = 3


class BadRequest(ServiceError):
    code = "bad_request"
    title = "The service does not understand the request"


class WorkerFailed(ServiceError):
    """The worker was killed or crashed. What it had committed stays, what it had not is as if never begun."""

    code = "worker_failed"
    title = "The work ended before it was done"
    fix = "lifeboat doctor"
    retryable = True


class CommandLost(ServiceError):
    """The process that ran a command for another program was killed. A command that was at work finishes by itself."""

    code = "command_lost"
    title = "It is not known whether this was done"
    fix = "lifeboat status"
    retryable = True


class Cancelled(ServiceError):
    code = "cancelled"
    title = "The work was stopped"
    fix = None
    retryable = True


class NetworkError(DaemonError):
    """Messages name no address: whoever knows one may be able to use it."""

    code = "network"
    title = "A request over the network came to nothing"


class NetworkUnreachable(NetworkError):
    code = "unreachable"
    title = "The other side could not be reached"
    retryable = True


class AnsweredWithError(NetworkError):
    """`status` is the HTTP status of the answer."""

    code = "answered_with_error"
    title = "The other side did not do it"

    def __init__(self, message: str, *, status: int, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class NotPrivate(NetworkError):
    code = "not_private"
    title = "Others could read on the way what is sent"
    fix = "lifeboat remote add NAME https://HOST"
    exit_status = 3


class NotTheOne(NetworkError):
    """Its certificate is not from the authority that was pinned. Nothing was sent."""

    code = "not_the_one"
    title = "Whoever answers there is not the one that was meant"


class SecondCopyError(DaemonError):
    code = "second_copy"
    fix = "lifeboat remote list"

    UNKNOWN_REMOTE = ErrorCode("unknown_remote", "There is no such second copy")
    REMOTE_EXISTS = ErrorCode("remote_exists", "This second copy is there already", exit_status=3)
    REMOTE_NAME_REFUSED = ErrorCode("remote_name_refused", "The second copy cannot be called that", exit_status=3)


class SystemRefused(DaemonError):
    code = "system_refused"
    title = "The system does not let a file be read or written"
    fix = "lifeboat doctor"


class DiskFull(SystemRefused):
    code = "disk_full"
    title = "There is no space left"
    fix = "free some space on that disk, then the same command again"
    retryable = True


class ReaderGone(BrokenPipeError):
    """The program that reads the output (`head`, `less`) has ended: no file is refused, and nothing failed."""


class ReplicationError(DaemonError):
    """Nothing was sent, and nothing was believed."""

    code = "replication"
    title = "The second copy is not what this machine left there"
    fix = "lifeboat doctor --remote NAME"
    exit_status = 3

    REMOTE_FORGOT = ErrorCode("remote_forgot", "The second copy lost what it had", fix="lifeboat remote remove NAME")


class OtherVault(ReplicationError):
    code = "other_vault"
    title = "Another vault answers under this address"
    fix = "lifeboat remote list"


class MovedElsewhere(ReplicationError):
    code = "moved_elsewhere"
    title = "The agent lives on another machine"
    fix = "lifeboat agents adopt AGENT"


class RecordError(DaemonError):
    code = "record"

    UNKNOWN_KIND = ErrorCode("unknown_kind", "There is nothing of this kind", fix="lifeboat records list AGENT")


class UnknownRecord(RecordError):
    code = "unknown_record"
    title = "There is no such record"
    fix = "lifeboat search AGENT WORDS"

    PURGED = ErrorCode("record_purged", "This record was purged", fix="lifeboat receipts list")


class RestoreError(DaemonError):
    code = "restore"
    title = "The restore was not done"

    CONSENT_NEEDED = ErrorCode(
        "consent_needed", "This is not done without your yes", fix="lifeboat restore AGENT --dry-run", exit_status=3
    )
    UNSIGNED_STATE = ErrorCode(
        "unsigned", "Nobody signed this state", fix="lifeboat restore AGENT --accept-unsigned", exit_status=3
    )
    TARGET_CHANGED = ErrorCode("target_changed", "A file changed meanwhile", retryable=True, exit_status=3)
    NAMES_DO_NOT_FIT = ErrorCode(
        "names_do_not_fit",
        "The file system there cannot hold some of the names",
        fix="lifeboat restore AGENT --to FOLDER-ELSEWHERE",
        exit_status=3,
    )
    TARGET_REFUSED = ErrorCode(
        "target_refused",
        "This folder is not one to restore into",
        fix="lifeboat restore AGENT --to NEW-FOLDER",
        exit_status=3,
    )
    RUNTIME_RUNNING = ErrorCode("runtime_running", "The runtime is running", retryable=True, exit_status=3)
    UNSAFE_NAME = ErrorCode("unsafe_name", "The state holds a name that is not safe to write", exit_status=3)
    RESTORE_FAILED = ErrorCode("restore_failed", "The restore stopped", retryable=True)
    NOTHING_TO_UNDO = ErrorCode("nothing_to_undo", "There is no restore to take back", fix="lifeboat timeline AGENT")


class NothingToRestore(RestoreError):
    code = "nothing_to_restore"
    title = "There is nothing to restore"
    fix = "lifeboat timeline AGENT"

    BAD_MOMENT = ErrorCode("bad_moment", "This is no moment of the history")


class ExchangeError(DaemonError):
    code = "exchange"
    title = "The file was not made or not read"

    MISLEADING_NAME = ErrorCode(
        "misleading_name", "The file's name would say something else than its content", exit_status=3
    )
    OPTION_REFUSED = ErrorCode(
        "option_refused", "This option does not fit the conversion", fix="lifeboat alf convert --help", exit_status=3
    )
    FILE_EXISTS = ErrorCode("file_exists", "The file is there already", exit_status=3)
    WOULD_LOSE = ErrorCode(
        "would_lose",
        "Not everything would come along",
        fix="the same command with --yes",
        exit_status=3,
    )
    HOSTED_HISTORY = ErrorCode(
        "hosted_history", "The former service did not give the history", fix="lifeboat setup --from-alf", retryable=True
    )
    NOTHING_TO_EXPORT = ErrorCode("nothing_to_export", "There is nothing to write")


class NoAlfClient(ExchangeError):
    code = "no_alf_client"
    title = "The files of the reference client cannot be read"
    fix = "lifeboat setup"


class WordsError(DaemonError):
    code = "words"
    title = "The words of the key were not shown or proven"
    fix = "lifeboat keys prove"

    WORDS_MISPLACED = ErrorCode(
        "words_misplaced", "Recovery words do not belong here", fix="lifeboat keys recover", exit_status=3
    )
    NOBODY_TO_ASK = ErrorCode("nobody_to_ask", "There is nobody at a terminal", exit_status=3)
    WORDS_NOT_PROVEN = ErrorCode("words_not_proven", "The words were not proven")
