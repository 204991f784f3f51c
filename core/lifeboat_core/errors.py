"""Errors of the daemon and the command line.

LifeboatError
+-- DaemonError
    +-- UnexpectedError         a mistake of the program
    +-- HomeError               the home folder cannot be used
    |   +-- HomeUnsafe          others can write to it, it is a link, it lies on a network file system
    |   +-- RelativePath        a variable names no whole path
    |   +-- HomeNewer           a newer release made it
    |   +-- HomeAbsent          there is none, and what only examines one makes none
    +-- ConfigError             a configuration file or a setting
    |   +-- UnknownSetting
    |   +-- BadSetting          a value of the wrong kind or out of range
    +-- AgentError
    |   +-- UnknownAgent        no agent has this name, id or folder
    |   +-- AmbiguousAgent      several have
    |   +-- UnknownPath         the agent has no such file, and no row that is reported
    |   +-- AlreadyProtected    the folder belongs to an agent already
    |   +-- WorkspaceRefused    a folder that must not be a workspace
    |   +-- NameRefused         another agent has the name, or it is none
    |   +-- LooksLike           a second copy has an agent with the same files
    +-- Busy                    somebody else holds the agent's lock
    +-- ServiceError
    |   +-- NotRunning          no daemon of this home answers
    |   +-- AlreadyRunning      another daemon serves this home
    |   +-- DoesNotAnswer       a daemon is there and does not answer in time
    |   +-- OtherRelease        the daemon is of a release that speaks another protocol
    |   +-- NotAllowed          somebody else's process talks to the daemon, or its socket is not safe
    |   +-- BadRequest          the daemon does not know the method, or cannot use its parameters
    |   +-- WorkerFailed        a worker ended before its work was done
    |   +-- CommandLost         nobody can say whether a command was done
    |   +-- Cancelled           somebody stopped the work
    |   +-- UnitError           the service could not be installed, started or removed
    +-- HookFailed              a runtime could not be told to say when a session ends
    +-- NetworkError            a request over the network came to nothing
    |   +-- NetworkUnreachable  nobody answered in time, or not so that it could be believed
    |   +-- AnsweredWithError   the other side answered that it did not do it
    |   +-- NotPrivate          a secret would travel where others can read it
    |   +-- NotTheOne           whoever answers cannot prove to be the one that was meant
    +-- SecondCopyError         a second copy as this home knows it
    |   +-- UnknownRemote       none has this name
    |   +-- RemoteExists        the name is taken, or it is there under another one
    |   +-- RemoteNameRefused   it cannot be called that
    +-- SystemRefused           the system does not let a file be read or written
    |   +-- DiskFull            no space, or a quota
    +-- RestoreError
    |   +-- TargetRefused       a folder that a restore must not write into
    |   +-- ConsentNeeded       files would be replaced or an agent given up, and nobody said yes
    |   +-- UnsignedState       nobody signed the state and nobody accepted that
    |   +-- TargetChanged       a file changed between plan and restore, or since the restore that is undone
    |   +-- RuntimeRunning      the runtime is at work on what would be written
    |   +-- NamesDoNotFit       the file system cannot hold some names
    |   +-- UnsafeName          a name that would climb out of the folder
    |   +-- RestoreFailed       the file system refused a step; says whether everything was put back
    |   +-- NothingToUndo       no restore of this agent within seven days
    |   +-- NothingToRestore    nothing is kept, or nothing fits what was asked for
    |   |   +-- BadMoment       what was typed is neither a sequence nor a time
    +-- ExchangeError
    |   +-- FileExists          the file to be written is there already
    |   +-- MisleadingName      the name says that the file is encrypted, or that it is not
    |   +-- NothingToExport     nothing changed since the sequence that a delta would start from
    |   +-- OptionRefused       an option that counts for nothing in this conversion, or has no such value
    |   +-- WouldLose           the other format cannot hold everything, and nobody said that it may go
    |   +-- NoAlfClient         there is no folder of the reference client, or a file in it is damaged
    |   +-- HostedHistoryError  the reference client's service refused, or its answer is damaged
    +-- ReplicationError        a second copy is not what this machine left there
    |   +-- OtherVault          another vault answers under a remote's address
    |   +-- RemoteForgot        a remote lost what it had acknowledged
    |   +-- MovedElsewhere      another machine writes the agent, and nobody said that it may be taken over
    +-- RecordError
    |   +-- UnknownRecord       no record has this id
    |   |   +-- RecordPurged    it was purged
    |   +-- UnknownKind         a type or a status that no memory has
    +-- BadLabel                a sequence cannot be called that
    +-- UnknownReceipt          no receipt of a purge has this id
    +-- WordsError
        +-- NobodyToAsk         words would be shown or asked for, and there is no terminal
        +-- WordsMisplaced      words of a key in a field that would show or keep them
        +-- WordsNotProven      the words that were asked for were not given
"""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError


class DaemonError(LifeboatError):
    code = "daemon"


class UnexpectedError(DaemonError):
    code = "unexpected"
    title = "Something went wrong that should not have"
    fix = "lifeboat doctor"


class HomeError(DaemonError):
    code = "home"
    title = "The home folder of Lifeboat cannot be used"
    fix = "lifeboat doctor"


class HomeUnsafe(HomeError):
    code = "home_unsafe"
    title = "The home folder of Lifeboat is not safe"
    exit_status = 3


class RelativePath(HomeError):
    code = "relative_path"
    title = "A variable of the environment names no whole path"
    exit_status = 3


class HomeAbsent(HomeError):
    code = "home_absent"
    title = "There is no home of Lifeboat here"
    fix = "lifeboat setup"


class HomeNewer(HomeError):
    code = "home_newer"
    title = "The home folder was made by a newer release"
    fix = "pipx upgrade agent-lifeboat"


class ConfigError(DaemonError):
    """Settings that cannot be used. `detail` is the message without the name of the file, where it has one."""

    code = "config"
    title = "The configuration cannot be used"
    fix = "lifeboat config list"
    detail: str | None = None


class UnknownSetting(ConfigError):
    code = "unknown_setting"
    title = "There is no such setting"


class BadSetting(ConfigError):
    code = "bad_setting"
    title = "The setting cannot have this value"


class AgentError(DaemonError):
    code = "agent"
    fix = "lifeboat agents list"


class UnknownAgent(AgentError):
    code = "unknown_agent"
    title = "There is no such agent"


class AmbiguousAgent(AgentError):
    code = "ambiguous_agent"
    title = "More than one agent fits"


class AlreadyProtected(AgentError):
    code = "already_protected"
    title = "This folder is protected already"
    exit_status = 3


class WorkspaceRefused(AgentError):
    code = "workspace_refused"
    title = "This folder cannot be an agent's workspace"
    exit_status = 3


class LooksLike(AgentError):
    """Nothing was protected: it would be the same agent twice."""

    code = "looks_like"
    title = "This looks like an agent that a second copy has"
    fix = "lifeboat agents add FOLDER --as AGENT --from REMOTE"
    exit_status = 3


class NameRefused(AgentError):
    code = "name_refused"
    title = "The agent cannot be called that"
    exit_status = 3


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


class NotRunning(ServiceError):
    code = "not_running"
    title = "The service is not running"
    fix = "lifeboat daemon start"


class AlreadyRunning(ServiceError):
    code = "already_running"
    title = "The service is running already"
    exit_status = 3


class DoesNotAnswer(ServiceError):
    code = "does_not_answer"
    title = "The service does not answer"
    fix = "lifeboat daemon restart"
    retryable = True


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


class UnitError(ServiceError):
    code = "unit"
    title = "The system's service manager did not do that"
    fix = "lifeboat doctor"


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


class UnknownRemote(SecondCopyError):
    code = "unknown_remote"
    title = "There is no such second copy"


class RemoteExists(SecondCopyError):
    code = "remote_exists"
    title = "This second copy is there already"
    exit_status = 3


class RemoteNameRefused(SecondCopyError):
    code = "remote_name_refused"
    title = "The second copy cannot be called that"
    exit_status = 3


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


class OtherVault(ReplicationError):
    code = "other_vault"
    title = "Another vault answers under this address"
    fix = "lifeboat remote list"


class RemoteForgot(ReplicationError):
    """It has less than it acknowledged: its data was lost, set back or replaced."""

    code = "remote_forgot"
    title = "The second copy lost what it had"
    fix = "lifeboat remote remove NAME"


class MovedElsewhere(ReplicationError):
    code = "moved_elsewhere"
    title = "The agent lives on another machine"
    fix = "lifeboat agents adopt AGENT"


class RecordError(DaemonError):
    code = "record"


class UnknownRecord(RecordError):
    code = "unknown_record"
    title = "There is no such record"
    fix = "lifeboat search AGENT WORDS"


class RecordPurged(UnknownRecord):
    """It was there once; a signed redaction says that it is not any more."""

    code = "record_purged"
    title = "This record was purged"
    fix = "lifeboat receipts list"


class UnknownPath(AgentError):
    code = "unknown_path"
    title = "There is no such file among those that are captured"
    fix = "lifeboat agents show AGENT"


class UnknownKind(RecordError):
    code = "unknown_kind"
    title = "There is nothing of this kind"
    fix = "lifeboat records list AGENT"


class BadLabel(DaemonError):
    code = "bad_label"
    title = "A sequence cannot be called that"


class UnknownReceipt(DaemonError):
    code = "unknown_receipt"
    title = "There is no such receipt"
    fix = "lifeboat receipts list"


class RestoreError(DaemonError):
    code = "restore"
    title = "The restore was not done"


class TargetRefused(RestoreError):
    code = "target_refused"
    title = "This folder is not one to restore into"
    fix = "lifeboat restore AGENT --to NEW-FOLDER"
    exit_status = 3


class ConsentNeeded(RestoreError):
    code = "consent_needed"
    title = "This is not done without your yes"
    fix = "lifeboat restore AGENT --dry-run"
    exit_status = 3


class UnsignedState(RestoreError):
    code = "unsigned"
    title = "Nobody signed this state"
    fix = "lifeboat restore AGENT --accept-unsigned"
    exit_status = 3


class TargetChanged(RestoreError):
    """A file is no longer what the plan saw. Nothing was moved."""

    code = "target_changed"
    title = "A file changed meanwhile"
    retryable = True
    exit_status = 3


class RuntimeRunning(RestoreError):
    """What a runtime has open it writes again, over whatever took its place."""

    code = "runtime_running"
    title = "The runtime is running"
    retryable = True
    exit_status = 3


class NamesDoNotFit(RestoreError):
    code = "names_do_not_fit"
    title = "The file system there cannot hold some of the names"
    fix = "lifeboat restore AGENT --to FOLDER-ELSEWHERE"
    exit_status = 3


class UnsafeName(RestoreError):
    code = "unsafe_name"
    title = "The state holds a name that is not safe to write"
    exit_status = 3


class RestoreFailed(RestoreError):
    """The file system refused a step. The message says whether what had been moved was moved back; where it was not,
    the next command goes on with it."""

    code = "restore_failed"
    title = "The restore stopped"
    retryable = True


class NothingToUndo(RestoreError):
    code = "nothing_to_undo"
    title = "There is no restore to take back"
    fix = "lifeboat timeline AGENT"


class NothingToRestore(RestoreError):
    code = "nothing_to_restore"
    title = "There is nothing to restore"
    fix = "lifeboat timeline AGENT"


class BadMoment(NothingToRestore):
    code = "bad_moment"
    title = "This is no moment of the history"


class ExchangeError(DaemonError):
    code = "exchange"
    title = "The file was not made or not read"


class FileExists(ExchangeError):
    code = "file_exists"
    title = "The file is there already"
    exit_status = 3


class MisleadingName(ExchangeError):
    code = "misleading_name"
    title = "The file's name would say something else than its content"
    exit_status = 3


class NothingToExport(ExchangeError):
    """A delta from a sequence to itself would hold nothing and could not be applied."""

    code = "nothing_to_export"
    title = "There is nothing to write"


class OptionRefused(ExchangeError):
    code = "option_refused"
    title = "This option does not fit the conversion"
    fix = "lifeboat alf convert --help"
    exit_status = 3


class WouldLose(ExchangeError):
    code = "would_lose"
    title = "Not everything would come along"
    fix = "the same command with --dry-run, which shows what would be lost; then with --yes"
    exit_status = 3


class NoAlfClient(ExchangeError):
    code = "no_alf_client"
    title = "The files of the reference client cannot be read"
    fix = "lifeboat setup"


class HostedHistoryError(ExchangeError):
    code = "hosted_history"
    title = "The former service did not give the history"
    fix = "lifeboat setup --from-alf"
    retryable = True


class WordsError(DaemonError):
    code = "words"
    title = "The words of the key were not shown or proven"
    fix = "lifeboat keys prove"


class NobodyToAsk(WordsError):
    code = "nobody_to_ask"
    title = "There is nobody at a terminal"
    exit_status = 3


class WordsMisplaced(WordsError):
    """Words of a key where they would be shown or kept in clear. The message repeats none of them."""

    code = "words_misplaced"
    title = "Recovery words do not belong here"
    fix = "lifeboat keys recover"
    exit_status = 3


class WordsNotProven(WordsError):
    code = "words_not_proven"
    title = "The words were not proven"
