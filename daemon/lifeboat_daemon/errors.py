"""Errors of the daemon and the command line.

LifeboatError
+-- DaemonError
    +-- HomeError               the home folder cannot be used
    |   +-- HomeUnsafe          others can write to it, it is a link, it lies on a network file system
    |   +-- HomeNewer           a newer release made it
    +-- ConfigError             a configuration file or a setting
    |   +-- UnknownSetting
    |   +-- BadSetting          a value of the wrong kind or out of range
    +-- AgentError
    |   +-- UnknownAgent        no agent has this name, id or folder
    |   +-- AmbiguousAgent      several have
    |   +-- AlreadyProtected    the folder belongs to an agent already
    |   +-- WorkspaceRefused    a folder that must not be a workspace
    +-- Busy                    somebody else holds the agent's lock
    +-- RecordError
        +-- UnknownRecord       no record has this id
"""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError


class DaemonError(LifeboatError):
    code = "daemon"


class HomeError(DaemonError):
    code = "home"
    title = "The home folder of Lifeboat cannot be used"
    fix = "lifeboat doctor"


class HomeUnsafe(HomeError):
    code = "home_unsafe"
    title = "The home folder of Lifeboat is not safe"
    exit_status = 3


class HomeNewer(HomeError):
    code = "home_newer"
    title = "The home folder was made by a newer release"
    fix = "pipx upgrade agent-lifeboat"


class ConfigError(DaemonError):
    code = "config"
    title = "The configuration cannot be used"
    fix = "lifeboat config list"


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


class Busy(DaemonError):
    """Another process holds the agent's lock; `message` names it and what it does."""

    code = "busy"
    title = "Another command works on this agent"
    retryable = True


class RecordError(DaemonError):
    code = "record"


class UnknownRecord(RecordError):
    code = "unknown_record"
    title = "There is no such record"
    fix = "lifeboat search AGENT WORDS"
