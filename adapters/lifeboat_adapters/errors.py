"""Errors of the adapters.

LifeboatError
+-- AdapterError
    +-- NotAWorkspace       the folder is not this runtime's workspace
    +-- UnknownRuntime      no adapter has this name
    +-- RuntimeConfigError  the runtime's own configuration cannot be read
"""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError


class AdapterError(LifeboatError):
    code = "adapter"
    title = "The agent's runtime could not be understood"


class NotAWorkspace(AdapterError):
    code = "not_a_workspace"
    title = "This folder is not an agent's workspace"
    fix = "lifeboat agents discover"


class UnknownRuntime(AdapterError):
    code = "unknown_runtime"
    title = "There is no adapter for this runtime"
    fix = "lifeboat agents discover"


class RuntimeConfigError(AdapterError):
    code = "runtime_config"
    title = "The runtime's configuration cannot be read"
