"""Errors of the adapters.

LifeboatError
+-- AdapterError
    +-- NotAWorkspace       the folder is not this runtime's workspace
    +-- UnknownRuntime      no adapter has this name
    +-- ProfileInvalid      a folder profile cannot be read, or says something that cannot work
    +-- AdapterOutdated     an installed adapter was written for an earlier contract, or cannot be loaded
    +-- RuntimeConfigError  the runtime's own configuration cannot be read
    +-- RuntimeDatabaseError  a database of the runtime cannot be read now: its last rows stay
    |   +-- DatabaseAbsent  not counted as a deletion; normal if it never existed
    +-- HookUnavailable     the runtime does not tell when a session ends
    +-- SecretsError        a file cannot be made whole again
        +-- CutMismatch     the listed cuts are not where secrets were cut out
        +-- BadPayload      what was unsealed is not what is sealed for a cut
"""

from __future__ import annotations

from lifeboat_alf.errors import ErrorCode, LifeboatError


class AdapterError(LifeboatError):
    code = "adapter"
    title = "The data of the agent's runtime could not be read"


class NotAWorkspace(AdapterError):
    code = "not_a_workspace"
    title = "This folder is not an agent's workspace"
    fix = "lifeboat agents discover"

    NOTES = ErrorCode("notes_folder", meaning="the folder contains notes, but no files of a known runtime")
    FOREIGN = ErrorCode(
        "foreign_workspace",
        "This folder belongs to an agent runtime that has no adapter",
        meaning="Lifeboat has no adapter for the runtime, so it could not find the credentials in the folder",
    )
    OTHER_RUNTIME = ErrorCode(
        "other_runtime",
        "This folder belongs to another agent runtime",
        meaning="the command names one runtime, but the folder is a workspace of another runtime",
        exit_status=3,
    )
    AMBIGUOUS = ErrorCode(
        "ambiguous_workspace",
        "This folder could belong to more than one agent runtime",
        meaning="files of several runtimes are in the folder; name the right runtime with --runtime",
    )


class UnknownRuntime(AdapterError):
    code = "unknown_runtime"
    title = "There is no adapter for this runtime"
    fix = "lifeboat agents discover"


class ProfileInvalid(AdapterError):
    code = "profile_invalid"
    title = "This folder profile is not valid"
    fix = "lifeboat profiles test FILE FOLDER"


class AdapterOutdated(AdapterError):
    code = "adapter_outdated"
    title = "An installed adapter does not work with this version of Lifeboat"
    exit_status = 3


class RuntimeConfigError(AdapterError):
    code = "runtime_config"
    title = "The runtime's configuration cannot be read"


class RuntimeDatabaseError(AdapterError):
    code = "runtime_database"
    title = "A database of the agent's runtime cannot be read now"
    retryable = True


class DatabaseAbsent(RuntimeDatabaseError):
    code = "database_absent"
    title = "A database of the agent's runtime does not exist"


class HookUnavailable(AdapterError):
    code = "no_hook"
    title = "This runtime cannot report the end of a session"
    exit_status = 3


class SecretsError(AdapterError):
    """A file cannot be restored completely: the secrets that were cut out do not fit back."""

    code = "secrets"
    title = "The secrets of a file cannot be restored"
    exit_status = 3

    WHOLE_FILE_MISMATCH = ErrorCode("whole_file_mismatch", meaning="a restored file differs from its captured content")


class CutMismatch(SecretsError):
    code = "cut_mismatch"


class BadPayload(SecretsError):
    code = "bad_payload"
