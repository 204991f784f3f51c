"""The steps that protect agents, and the state of each: `lifeboat setup` reports them and continues with the missing
ones."""

from __future__ import annotations

import shlex

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.keys.key_status_text import PLACES
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.offers import AgentOffer
from lifeboat_core.documents.setup_documents import Step
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry as remotes
from lifeboat_core.texts.human_text import count_text, join_names, quote_argument, time_text
from lifeboat_daemon import units
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_daemon.units.service_unit import WITHOUT_MANAGER
from lifeboat_keys.errors import KeyLocked, KeyringLocked, KeysError, NoKey
from lifeboat_keys.home.home_keys import KeyState

DONE, MISSING, SKIPPED = "done", "missing", "skipped"
FIND, PROTECT, KEY, WORDS, SECOND_COPY, SERVICE = "find", "protect", "key", "words", "second_copy", "service"

START_DAEMON, INSTALL_SERVICE = "start_daemon", "install_service"
_ADD = "lifeboat agents add FOLDER"


class SetupDiscovery(msgspec.Struct, frozen=True):
    """The result of a discovery. `open` are agents that are neither protected nor dismissed."""

    all: tuple[AgentOffer, ...]
    open: tuple[AgentOffer, ...]
    protected: tuple[str, ...]
    problems: tuple[str, ...] = ()


def list_setup_steps(context: Context) -> list[Step]:
    """Return every step in order. It only reads, except that it notes which agents were found."""
    found = discover_agents(context)
    return [
        check_agents_found(found),
        check_agents_protected(found),
        check_key_ready(context),
        check_words_proven(context),
        check_remote_ready(context),
        check_service_ready(context),
    ]


def find_next_command(steps: list[Step]) -> str | None:
    """Return the command of the first missing step."""
    return next((step.command for step in steps if step.state == MISSING and step.command), None)


# Agents -----------------------------------------------------------------------------------------------------------


def discover_agents(context: Context) -> SetupDiscovery:
    """Look for agents on this machine. Raises ConfigError."""
    from lifeboat_daemon.work.operations import discover

    looked = discover.look_for_agents(context)
    found, standing = ([AgentOffer(**one) for one in looked[name]] for name in ("found", "offers"))
    protected = tuple(one.name for one in agents.list_agents(context) if one.watched)
    return SetupDiscovery(tuple(found), tuple(standing), protected, tuple(looked["problems"]))


def check_agents_found(found: SetupDiscovery) -> Step:
    """Return the step of finding an agent to protect."""
    if found.all:
        names = join_names([one.name for one in found.all])
        was = count_text(len(found.all), "agent was", "agents were")
        return Step(FIND, DONE, f"{was} found on this machine: {names}.")
    if found.protected:
        return Step(FIND, DONE, "No other agent was found on this machine.")
    return Step(
        FIND,
        MISSING,
        "No agent was found on this machine. If you know the workspace of an agent, protect the agent.",
        _ADD,
    )


def check_agents_protected(found: SetupDiscovery) -> Step:
    """Return the step of protecting every agent that was found and not dismissed."""
    if found.open:
        names = join_names([one.name for one in found.open])
        text = f"{names} {'is' if len(found.open) == 1 else 'are'} not protected."
        return Step(PROTECT, MISSING, text, f"lifeboat agents add {quote_argument(found.open[0].workspace)}")
    if found.protected:
        text = f"{join_names(found.protected)} {'is' if len(found.protected) == 1 else 'are'} protected."
        return Step(PROTECT, DONE, text)
    if found.all:
        return Step(PROTECT, SKIPPED, "No agent is protected. You dismissed all agents that were found.", _ADD)
    return Step(PROTECT, MISSING, "No agent is protected yet.", _ADD)


# The key ----------------------------------------------------------------------------------------------------------


def check_key_ready(context: Context) -> Step:
    """Return the step of creating a usable key. A locked key counts as existing."""
    status = context.keys().status()
    if status.key_id is None and status.state != KeyState.ERROR:
        return Step(KEY, MISSING, "This home has no key yet.", "lifeboat keys init")
    text = f"Your key {status.key_id} is stored in {PLACES[status.store]}."
    try:
        context.keys().user_key()
    except (KeyLocked, KeyringLocked):
        return Step(KEY, DONE, f"{text} The key is locked now.")
    except NoKey as error:
        return Step(KEY, MISSING, f"{error.title}: {error.message}.", error.fix or "lifeboat keys recover")
    except KeysError as error:
        return Step(KEY, MISSING, f"{error.title}: {error.message}.", error.fix or "lifeboat doctor")
    return Step(KEY, DONE, text)


def check_words_proven(context: Context) -> Step:
    """Return the step of writing down and proving the words."""
    status = context.keys().status()
    if status.proven_at is not None:
        return Step(
            WORDS, DONE, f"You proved on {time_text(status.proven_at)} that you have the 24 recovery words of your key."
        )
    said = "You have not proved yet that you have the 24 recovery words of your key."
    return Step(
        WORDS,
        MISSING,
        said if status.key_id else "The 24 recovery words are created together with the key.",
        "lifeboat keys init",
    )


# Remotes and service ------------------------------------------------------------------------------------------------


def check_remote_ready(context: Context) -> Step:
    """Return the step of having a copy off this disk."""
    names = [one.name for one in remotes.list_usable_remotes(context)]
    if names:
        return Step(SECOND_COPY, DONE, f"Captured changes are pushed to {join_names(names)}.")
    return Step(SECOND_COPY, MISSING, "The only copy of your agents is on this disk.", "lifeboat remote add NAME URL")


def check_service_ready(context: Context) -> Step:
    """Return the step of capturing changes automatically after every login."""
    state, runs = units.inspect_unit(context), daemon_lifecycle.inspect_daemon(context).running
    if state.installed and state.ours and state.program_found:
        return Step(
            SERVICE, DONE, "The service starts the daemon at every login, and the daemon captures every change."
        )
    if state.problem is None:
        return Step(
            SERVICE, MISSING, "Changes are not captured automatically yet.", "lifeboat service install", INSTALL_SERVICE
        )
    if runs:
        text = (
            "The daemon runs until this computer shuts down. This system has no service manager that could start "
            "the daemon at login."
        )
        return Step(SERVICE, SKIPPED, text)
    text = "Changes are not captured automatically, because this system has no service manager."
    return Step(SERVICE, MISSING, text, WITHOUT_MANAGER, START_DAEMON)


def split_command_words(command: str) -> list[str]:
    """Return the words after `lifeboat` of a command that is to be run."""
    return shlex.split(command)[1:]


def describe_step_problem(error: LifeboatError) -> JsonObject:
    return {"code": error.code, "title": error.title, "message": error.message, "fix": error.fix}
