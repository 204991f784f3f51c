"""What a user does with agents: discover, protect, move, clone, pause, accept removals, remove."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from lifeboat_adapters.contract import Adapter, DiscoveredAgent
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_alf.common import ids, times
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents import crash_leftovers, folder_explanations, withheld_items
from lifeboat_core.agents.agent import AGENT_FILE, Agent, find_agent, list_agents, load_agent, save_agent, write_setting
from lifeboat_core.agents.folder_explanations import DISCOVER
from lifeboat_core.agents.locks import agent_lock, home_lock
from lifeboat_core.agents.nested_agents import leaves_out
from lifeboat_core.capture import known_installation, mass_loss_guard, runtime_tables
from lifeboat_core.capture.capture_report import LAST_CAPTURE, ROOT_MISSING, CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.capture.workspace_survey import MOUNTS, ROOT
from lifeboat_core.errors import AgentError, ConfigError
from lifeboat_core.grants.agent_grant import revoke_grant
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in, is_there, paths_in
from lifeboat_core.remotes import displaced_histories
from lifeboat_core.state.state_db import StateDb, delete_cache
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.readable_json import is_utf8, make_printable
from lifeboat_vault.errors import VaultError
from lifeboat_vault.vault import Vault

KEPT_FOR = timedelta(days=30)
REMOVED = ".removed-"
LONGEST_NAME = 100

__all__ = [
    "Agent",
    "accept_removals",
    "check_workspace",
    "choose_adapter",
    "choose_free_name",
    "clone_agent",
    "discover_agents",
    "find_agent",
    "is_known_workspace",
    "list_agents",
    "load_agent",
    "move_agent",
    "pause_agent",
    "protect_workspace",
    "register_agent",
    "remove_agent",
    "rename_agent",
    "resume_agent",
    "save_agent",
    "set_aside_vault",
    "sweep_removed",
    "write_setting",
]


def discover_agents(context: Context) -> list[DiscoveredAgent]:
    """Return the agents of every known runtime on this machine, protected or not."""
    found = []
    for adapter in context.adapters():
        found += adapter.discover(context.environment, context.user_home)
    return found


def protect_workspace(
    context: Context, workspace: Path, *, runtime: str | None = None, name: str | None = None, new: bool = False
) -> tuple[Agent, CaptureReport]:
    """Protect a workspace and capture it at once; make a key if there is none.

    A folder that an import or a restore registered continues as that agent, and so does one whose removed agent still
    has a vault; `new` makes another agent of it. Raises AgentError.ALREADY_PROTECTED, AgentError.WORKSPACE_REFUSED, and
    what the adapter and the capture raise.
    """
    folder = Path(os.path.realpath(workspace))
    with home_lock(context, "agents add"):
        known = _registered(context, folder) or (None if new else _brought_back(context, folder, runtime))
        if known is not None and known.watched:
            raise AgentError.ALREADY_PROTECTED(
                f"{folder} is already the workspace of the agent {known.name} ({known.id})",
                fix=f"lifeboat sync {quote_argument(known.name)}",
            )
        if known is not None and not new:
            _fetch_vault(context, known.id)
            agent = save_agent(context, replace(known, watched=True, name=_typable(name) if name else known.name))
        else:
            if known is not None:
                _put_away(context, known)
            agent = _make(context, folder, runtime, name)
    return agent, capture_agent(context, agent)


def is_known_workspace(context: Context, workspace: Path) -> bool:
    """Return whether a folder belongs to an agent of this home, or did to one whose vault is still kept."""
    folder = Path(os.path.realpath(workspace))
    kept = [_removed_agent(context, vault) for vault in _kept_vaults(context)]
    removed = [agent for agent in kept if agent is not None and Path(os.path.realpath(agent.workspace)) == folder]
    return bool(removed) or _registered(context, folder) is not None


def _registered(context: Context, folder: Path) -> Agent | None:
    return next((one for one in list_agents(context) if Path(os.path.realpath(one.workspace)) == folder), None)


def _brought_back(context: Context, folder: Path, runtime: str | None) -> Agent | None:
    """Register the newest removed agent of this folder again and return it; None if none is kept."""
    in_use = {agent.id for agent in list_agents(context)}
    for vault in sorted(_kept_vaults(context), key=partial(_removed_at, context), reverse=True):
        agent = _removed_agent(context, vault)
        if agent is None or agent.id in in_use or runtime not in (None, agent.runtime):
            continue
        if Path(os.path.realpath(agent.workspace)) == folder:
            name = choose_free_name(context, agent.name)
            write_atomic(context.files, context.home.agent_file(agent.id), read_all(context.files, vault / AGENT_FILE))
            return save_agent(context, replace(agent, name=name, watched=False, paused=False, paused_until=None))
    return None


def _kept_vaults(context: Context) -> list[Path]:
    """Return the vaults of removed agents. Raises OSError."""
    found = folders_in(context.files, context.home.vaults_folder)
    return [folder for folder in found if is_there(context.files, folder / AGENT_FILE)]


def _removed_agent(context: Context, vault: Path) -> Agent | None:
    """Return a removed agent; None if its file or vault cannot be read: that must not block adding agents."""
    try:
        Vault.open(vault, files=context.files, clock=context.clock).close()
        return agent_files.parse_agent(read_all(context.files, vault / AGENT_FILE), vault.name.removeprefix(REMOVED))
    except (ConfigError, VaultError, OSError):
        return None


def _fetch_vault(context: Context, agent_id: str) -> None:
    """Put the vault of a removed agent back in its place. Safe to repeat."""
    kept, folder = _kept_folder(context, agent_id), context.home.vault_folder(agent_id)
    if kept.exists() and not folder.exists():
        context.files.replace(kept, folder)
    (folder / AGENT_FILE).unlink(missing_ok=True)


def _kept_folder(context: Context, agent_id: str) -> Path:
    return context.home.vaults_folder / f"{REMOVED}{agent_id}"


def _make(context: Context, folder: Path, runtime: str | None, name: str | None) -> Agent:
    check_workspace(context, folder)
    adapter = choose_adapter(context, folder, runtime)
    installation = adapter.locate(folder, context.environment, context.user_home)
    agent = Agent(
        id=ids.make_id(context.now()),
        name=choose_free_name(context, name or installation.name or folder.name),
        runtime=adapter.runtime,
        workspace=folder,
        native_id=installation.native_id,
        added_at=context.now(),
    )
    context.keys().ensure()
    crash_leftovers.remove_begun_vaults(context)
    context.create_vault(agent.id).close()
    return save_agent(context, agent)


def choose_adapter(context: Context, folder: Path, runtime: str | None) -> Adapter:
    """Return the adapter of a runtime, or of the runtime that a folder belongs to.

    Raises AgentError.WORKSPACE_REFUSED and NotAWorkspace, which say what the folder is and which command works.
    """
    folder_explanations.require_folder(context, folder)
    try:
        if runtime is None:
            return context.recognise(folder)
        adapter = context.adapter(runtime)
        folder_explanations.refuse_other_runtime(context, adapter, folder, claimed=folder_explanations.CERTAIN)
    except NotAWorkspace as error:
        raise folder_explanations.explain_unknown_folder(context, folder, error) from None
    return adapter


def _typable(name: str) -> str:
    """Return a name without control characters and invisible ones, and without a leading dash, which would make it an
    option."""
    seen = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(seen.split()).lstrip("- ")[:LONGEST_NAME].rstrip() or "agent"


def choose_free_name(context: Context, wanted: str) -> str:
    """Return the wanted name or a similar one that is not taken and can be typed. Agents name themselves."""
    taken = {agent.name.casefold() for agent in list_agents(context)}
    wanted = _typable(wanted)
    name, number = wanted, 2
    while name.casefold() in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name


def register_agent(context: Context, agent: Agent) -> Agent:
    """Register an agent that came from an archive or another vault: its vault is there, and it is not watched yet."""
    context.keys().ensure()
    return save_agent(context, replace(agent, watched=False, added_at=agent.added_at or context.now()))


def check_workspace(context: Context, folder: Path, *, but: str | None = None) -> None:
    """Refuse a folder that must not be a workspace. `but` is the id of an agent whose own folder is allowed.

    Raises AgentError.WORKSPACE_REFUSED, AgentError.ALREADY_PROTECTED.
    """
    folder_explanations.require_folder(context, folder)
    real = Path(os.path.realpath(folder))
    home = Path(os.path.realpath(context.home.folder))
    if not is_utf8(str(real)):
        raise AgentError.WORKSPACE_REFUSED(f"the path {make_printable(str(real))} is not valid UTF-8", fix=DISCOVER)
    if real == Path(real.anchor):
        raise AgentError.WORKSPACE_REFUSED(f"{real} is the root directory of the file system", fix=DISCOVER)
    if real in _home_folders(context):
        raise folder_explanations.explain_home_folder(context, real)
    if _nested(real, home):
        raise AgentError.WORKSPACE_REFUSED(_overlap(real, home, f"the home of Lifeboat ({home})"), fix=DISCOVER)
    for agent in list_agents(context):
        other = Path(os.path.realpath(agent.workspace))
        if agent.id != but and _nested(real, other) and not _are_apart(context, real, agent, other):
            overlap = _overlap(real, other, f"{other}, the workspace of {agent.name}")
            raise AgentError.ALREADY_PROTECTED(overlap, fix=f"lifeboat agents show {quote_argument(agent.name)}")


def _are_apart(context: Context, folder: Path, agent: Agent, workspace: Path) -> bool:
    """Return whether the outer one of a folder and an agent's workspace is captured without the inner one."""
    return leaves_out(context, agent.runtime, workspace, folder) or (
        leaves_out(context, agent.runtime, folder, workspace) and context.adapter(agent.runtime).recognises(folder) > 0
    )


def _overlap(folder: Path, other: Path, protected_folder: str) -> str:
    is_or_contains = "is" if folder == other else "is inside" if other in folder.parents else "contains"
    return f"{folder} {is_or_contains} {protected_folder}"


def _home_folders(context: Context) -> set[Path]:
    return {Path(os.path.realpath(folder)) for folder in (context.user_home, Path.home())}


def _nested(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def move_agent(context: Context, agent: Agent, folder: Path) -> tuple[Agent, CaptureReport]:
    """Use another folder as the workspace of an agent. Raises AgentError.WORKSPACE_REFUSED,
    AgentError.ALREADY_PROTECTED."""
    real = Path(os.path.realpath(folder))
    with home_lock(context, "agents move"), agent_lock(context, agent.id, "move"):
        check_workspace(context, real, but=agent.id)
        adapter = context.adapter(agent.runtime)
        folder_explanations.refuse_other_runtime(context, adapter, real, claimed=folder_explanations.CERTAIN)
        installation = adapter.locate(real, context.environment, context.user_home)
        moved = save_agent(context, replace(agent, workspace=real, native_id=installation.native_id))
        delete_cache(context.home.state_file(agent.id))
        with context.vault(agent.id) as vault:
            known_installation.forget_installation(vault)
    return moved, capture_agent(context, moved)


def clone_agent(
    context: Context, agent: Agent, folder: Path, *, name: str | None = None
) -> tuple[Agent, CaptureReport]:
    """Make a new agent for a folder that holds a copy of another agent's workspace."""
    return protect_workspace(context, folder, runtime=agent.runtime, name=name or f"{agent.name}-copy", new=True)


def rename_agent(context: Context, agent: Agent, name: str) -> Agent:
    """Raises AgentError.NAME_REFUSED when the name is taken, or is none."""
    with home_lock(context, "agents rename"):
        name = name.strip()
        if not name or not name.isprintable():
            raise AgentError.NAME_REFUSED("a name needs at least one letter and must not contain a line break")
        if _typable(name) != name:
            raise AgentError.NAME_REFUSED(
                "a name must not begin with a dash or contain two spaces in a row, and it must "
                f"have at most {LONGEST_NAME} characters"
            )
        if choose_free_name(context, name) != name and name.casefold() != agent.name.casefold():
            raise AgentError.NAME_REFUSED(f"another agent already has the name {name!r}")
        return save_agent(context, replace(agent, name=name))


def remove_agent(context: Context, agent: Agent) -> Path:
    """Stop protecting an agent, and return its vault. A grant of access to its own past ends.

    The vault stays for 30 days under another name; `protect_workspace` of the same folder continues with it.
    """
    with home_lock(context, "agents remove"), agent_lock(context, agent.id, "remove"):
        with contextlib.suppress(LifeboatError):  # a vault that cannot be opened gives no access either
            revoke_grant(context, agent)
        return _put_away(context, agent)


def _put_away(context: Context, agent: Agent) -> Path:
    """Move the vault away. An interruption leaves a vault that can be restored, and that is swept later."""
    kept, folder = _kept_folder(context, agent.id), context.home.vault_folder(agent.id)
    if folder.exists():
        write_atomic(context.files, folder / AGENT_FILE, read_all(context.files, context.home.agent_file(agent.id)))
        note = f"{agent.name}\n{context.now()}\n".encode()
        context.files.write_new(folder / f"removed-{ids.make_id(context.now())}", note, mode=0o600)
    agent_files.delete_agent_file(context, agent.id)
    delete_cache(context.home.state_file(agent.id))
    if folder.exists():
        context.files.replace(folder, kept)
    return kept


def set_aside_vault(context: Context, agent_id: str) -> None:
    """Make room for a vault with this id. A vault in its place belongs to no agent (an import was interrupted between
    vault and agent); it is kept like that of a removed agent, in case a user deleted the agent's file."""
    folder, now = context.home.vault_folder(agent_id), context.now()
    if folder.exists():
        kept = folder.with_name(f"{REMOVED}{ids.make_id(now)}")
        context.files.write_new(folder / f"removed-{ids.make_id(now)}", f"{agent_id}\n{now}\n".encode(), mode=0o600)
        context.files.replace(folder, kept)


def sweep_removed(context: Context, *, trusted: bool) -> list[Path]:
    """Delete vaults that were removed more than 30 days ago and displaced histories older than 90 days, on a trusted
    time only."""
    import shutil

    gone = []
    in_use = {agent.id for agent in list_agents(context)}
    for folder in folders_in(context.files, context.home.vaults_folder) if trusted else ():
        kept_for = displaced_histories.KEPT_FOR if folder.name.startswith(displaced_histories.PREFIX) else KEPT_FOR
        if folder.name not in in_use and context.clock.now() - _removed_at(context, folder) > kept_for:
            shutil.rmtree(folder)
            gone.append(folder)
    return gone


def _removed_at(context: Context, folder: Path) -> datetime:
    notes = [path for path in paths_in(context.files, folder) if path.name.startswith("removed-")]
    stamps = [stamp for note in notes if (stamp := _stamp(note)) is not None]
    return max(stamps, default=datetime.max.replace(tzinfo=UTC))


def _stamp(note: Path) -> datetime | None:
    """Return the time in a note, None for an incomplete note: then the vault stays."""
    try:
        return times.parse_time(note.read_text().splitlines()[-1])
    except (IndexError, ValueError):
        return None


def pause_agent(context: Context, agent: Agent, *, hours: float | None = None) -> Agent:
    """Pause captures, for some hours or until `resume_agent`."""
    now = context.clock.now()
    until = None if hours is None else times.to_text(now + timedelta(hours=hours))
    return save_agent(context, replace(agent, paused=True, paused_until=until, paused_at=times.to_text(now)))


def resume_agent(context: Context, agent: Agent) -> Agent:
    """Resume captures, or start with an agent that came from an import."""
    return save_agent(context, replace(agent, paused=False, paused_until=None, paused_at=None, watched=True))


def accept_removals(context: Context, agent: Agent) -> bool:
    """Accept held removals, and the workspace as the right one. Return False when nothing was held.

    Raises AgentError.WORKSPACE_REFUSED when there is no workspace: accepting it would not make a capture possible.
    """
    if not agent.workspace.is_dir():
        raise AgentError.WORKSPACE_REFUSED(
            f"the workspace {agent.workspace} does not exist, so Lifeboat cannot accept its current contents",
            fix=f"lifeboat restore {quote_argument(agent.name)}",
        )
    with agent_lock(context, agent.id, "accept"), context.vault(agent.id) as vault:
        held = vault.get(mass_loss_guard.DECISION)
        head = vault.head()
        with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
            db.put(ROOT, None)
            db.put(MOUNTS, None)
            was_missing = (db.get(LAST_CAPTURE) or {}).get("outcome") == ROOT_MISSING
            was_missing = was_missing or runtime_tables.KEPT in (db.get(runtime_tables.FACT) or {})
            db.put(runtime_tables.FACT, None)
        withheld_items.forget_rows(vault)
        known_installation.accept_workspace(vault, head, context.now(), was_missing=was_missing)
        if head is not None:
            vault.set(mass_loss_guard.ACCEPTED, {"sequence": head.number, "time": context.now()}, kind="accepted")
        if held is None:
            return False
        vault.unpin(int(held["previous"]), mass_loss_guard.PIN)
        vault.set(mass_loss_guard.DECISION, None, kind="accepted")
    return True
