"""Locate the runtime around a workspace, or recall where it last was while it cannot be located.

A configuration that does not parse or a folder that is not mounted makes a workspace stand alone for a while. That is
an error and not a deletion: what was captured of the runtime stays until the runtime is found again, or the user says
that the workspace stands alone from now on (`lifeboat agents accept`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.errors import AdapterError, NotAWorkspace
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.vault import SequenceRow, Vault

DECISION = "installation"
"""The vault's decision that stores where the runtime of a workspace was last found."""

IMPORTED = "import"
"""The kind of a sequence that an import made."""
AS_IT_STANDS = "as it stands"
"""The vault's decision that names the head on top of which the user accepted a workspace that differs from what was
captured."""


@dataclass(frozen=True, slots=True)
class KnownInstallation:
    """Where the runtime is. `lost` says why this is the last known installation instead of the present one.
    `is_unrecognised`: the workspace has no files of its runtime."""

    installation: Installation
    lost: str | None = None
    is_unrecognised: bool = False


def find_installation(session: CaptureSession, adapter: Adapter) -> KnownInstallation | None:
    """Return the installation of the agent's runtime; None, with the outcome set in the report, when there is no
    workspace. Raises AdapterError before the first sequence."""
    found = _find(session, adapter)
    if found is None:
        return None
    may_ask, server = bool(session.setting("remote_memory")), str(session.setting("memory_server"))
    return replace(found, installation=replace(found.installation, remote=may_ask, server=server))


def _find(session: CaptureSession, adapter: Adapter) -> KnownInstallation | None:
    workspace = session.agent.workspace
    if not os.path.isdir(workspace):
        name = quote_argument(session.agent.name)
        session.missing(
            f"the workspace {workspace} does not exist; to restore it: lifeboat restore {name}; "
            f"if it was moved: lifeboat agents move {name} FOLDER"
        )
        return None
    try:
        found = adapter.locate(workspace, session.context.environment, session.context.user_home)
    except NotAWorkspace as error:
        return _unrecognised(session, error)
    except (AdapterError, OSError) as error:
        known = _known(session)
        if known is None:
            raise
        return KnownInstallation(known, refusal_reason(error))
    known = _known(session) if found.state_dir is None else None
    if known is None or known.state_dir is None:
        return KnownInstallation(found)
    return KnownInstallation(
        known,
        f"{known.state_dir} does not exist, or its configuration no longer contains this "
        f"workspace; {advise_on_missing(session)}",
    )


def _unrecognised(session: CaptureSession, error: NotAWorkspace) -> KnownInstallation | None:
    """Return the installation of a folder that shows no sign of an agent any more, if nothing of it was captured or the
    user accepted it."""
    if session.head is None:
        raise error
    # An agent of another runtime may bring no file by which this one is recognised. Later captures have to know that.
    is_unrecognised = _is_bare_import(session) or _holds_nothing(session)
    if session.vault.get(AS_IT_STANDS) is not None or is_unrecognised:
        return KnownInstallation(_known(session) or _alone(session.agent), is_unrecognised=is_unrecognised)
    session.missing(f"{error.message}; {advise_on_missing(session)}")
    return None


def _alone(agent: Agent) -> Installation:
    """Return a workspace without a runtime around it, as an import leaves it before its first capture."""
    return Installation(agent.runtime, agent.workspace, agent.native_id, agent.name)


def _is_bare_import(session: CaptureSession) -> bool:
    """Return whether an import wrote the workspace without the files that identify its runtime. The first capture after
    it remembers that."""
    known = session.vault.get(DECISION)
    if session.head is not None and session.head.kind == IMPORTED:
        return True
    return known is not None and known.get("unrecognised") is True


def _holds_nothing(session: CaptureSession) -> bool:
    prefixes = (archive_layout.raw_prefix(session.agent.runtime), archive_layout.ARTIFACTS)
    state = session.state
    return state is None or not any(next(state.entries(prefix), None) for prefix in prefixes)


def advise_on_missing(session: CaptureSession) -> str:
    return f"if this change is intended: lifeboat agents accept {quote_argument(session.agent.name)}"


def remember_installation(vault: Vault, found: KnownInstallation, agent: Agent) -> None:
    """Store where the runtime is, for a capture that cannot locate it, and the agent's name, in case the agent's own
    file is lost."""
    if found.lost is None:
        vault.set(DECISION, {**_document(found), "agent": agent.name}, kind=DECISION)


def accept_workspace(vault: Vault, head: SequenceRow | None, time: str, *, was_missing: bool) -> None:
    """Record that the user accepts the workspace as it is: alone if no runtime is around it, and with its present
    contents if the last capture found it `was_missing`."""
    known = vault.get(DECISION)
    if known is not None:
        vault.set(DECISION, {**known, "state_dir": None}, kind="accepted")
    if was_missing and head is not None:
        vault.set(AS_IT_STANDS, {"sequence": head.number, "time": time}, kind="accepted")


def forget_installation(vault: Vault) -> None:
    """Forget the installation, because the agent's workspace is another folder from now on."""
    vault.set(DECISION, None, kind=DECISION)


def is_workspace_accepted(session: CaptureSession) -> bool:
    """Return whether the user accepted the workspace on top of this head, regardless of missing files."""
    accepted = session.vault.get(AS_IT_STANDS)
    return session.head is not None and accepted is not None and accepted["sequence"] == session.head.number


def _document(found: KnownInstallation) -> JsonObject:
    installation = found.installation
    config, state_dir = installation.config, installation.state_dir
    return {
        "workspace": str(installation.workspace),
        "native_id": installation.native_id,
        "name": installation.name,
        "state_dir": None if state_dir is None else str(state_dir),
        "config": None if config is None else str(config),
        "layout": installation.layout,
        "version": installation.version,
        **({"unrecognised": True} if found.is_unrecognised else {}),
    }


def _known(session: CaptureSession) -> Installation | None:
    return None if session.head is None else recall_installation(session.vault, session.agent)


def recall_installation(vault: Vault, agent: Agent) -> Installation | None:
    """Return where the runtime of a workspace was last found; None when it never was, or when the user accepted that
    there is none."""
    document = vault.get(DECISION)
    if document is None:
        return None
    config, state_dir = document["config"], document["state_dir"]
    return Installation(
        runtime=agent.runtime,
        workspace=agent.workspace,
        native_id=document["native_id"],
        name=document["name"],
        state_dir=None if state_dir is None else Path(state_dir),
        config=None if config is None else Path(config),
        layout=document["layout"],
        version=document["version"],
    )
