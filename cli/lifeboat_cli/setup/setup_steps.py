"""The steps that make agents safe, and how each of them stands: what `lifeboat setup` tells and goes on with."""

from __future__ import annotations

import shlex

import msgspec

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.json_types import JsonObject
from lifeboat_cli.keys.key_texts import PLACES
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.offers import Offer
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import registry as remotes
from lifeboat_core.texts.words import argument, count_text, listed, time_text
from lifeboat_daemon import units
from lifeboat_daemon.service import lifecycle
from lifeboat_daemon.units.unit import WITHOUT_MANAGER
from lifeboat_keys.errors import KeyLocked, KeyringLocked, KeysError, NoKey
from lifeboat_keys.home_keys import KeyState

DONE, MISSING, SKIPPED = "done", "missing", "skipped"
FIND, PROTECT, KEY, WORDS, SECOND_COPY, SERVICE = "find", "protect", "key", "words", "second_copy", "service"

START_DAEMON, INSTALL_SERVICE = "start_daemon", "install_service"
_ADD = "lifeboat agents add FOLDER"


class Step(msgspec.Struct, frozen=True):
    """One step. `state` is done, missing, or skipped: it cannot be done here, or is not wanted. `command` does it; None
    where nothing is to be done. `action` says what the command of the service does, "" for other steps."""

    name: str
    state: str
    text: str
    command: str | None = None
    action: str = ""

    def to_json(self) -> JsonObject:
        return msgspec.structs.asdict(self)


class Found(msgspec.Struct, frozen=True):
    """What a look around this machine found. `open` are agents that are neither protected nor dismissed."""

    all: tuple[Offer, ...]
    open: tuple[Offer, ...]
    protected: tuple[str, ...]
    problems: tuple[str, ...] = ()


def look(context: Context) -> list[Step]:
    """Every step in its order. Reads only, but for the note of which agents were found."""
    found = look_around(context)
    return [find(found), protect(found), key(context), words(context), second_copy(context), service(context)]


def next_command(steps: list[Step]) -> str | None:
    """The command of the first step that is missing."""
    return next((step.command for step in steps if step.state == MISSING and step.command), None)


# Agents -----------------------------------------------------------------------------------------------------------


def look_around(context: Context) -> Found:
    """Raises ConfigError."""
    from lifeboat_daemon.work.operations import discover

    looked = discover.look_around(context)
    found, standing = ([Offer(**one) for one in looked[name]] for name in ("found", "offers"))
    protected = tuple(one.name for one in agents.everyone(context) if one.watched)
    return Found(tuple(found), tuple(standing), protected, tuple(looked["problems"]))


def find(found: Found) -> Step:
    """Whether there is any agent to protect."""
    if found.all:
        names = listed([one.name for one in found.all])
        was = count_text(len(found.all), "agent was", "agents were")
        return Step(FIND, DONE, f"{was} found on this machine: {names}.")
    if found.protected:
        return Step(FIND, DONE, "No other agent was found on this machine.")
    return Step(FIND, MISSING, "No agent was found on this machine. Name the folder of one.", _ADD)


def protect(found: Found) -> Step:
    """Whether every agent that was found and not dismissed is protected."""
    if found.open:
        names = listed([one.name for one in found.open])
        text = f"{names} {'is' if len(found.open) == 1 else 'are'} not protected."
        return Step(PROTECT, MISSING, text, f"lifeboat agents add {argument(found.open[0].workspace)}")
    if found.protected:
        text = f"{listed(found.protected)} {'is' if len(found.protected) == 1 else 'are'} protected."
        return Step(PROTECT, DONE, text)
    if found.all:
        return Step(PROTECT, SKIPPED, "No agent is protected: those that were found were dismissed.", _ADD)
    return Step(PROTECT, MISSING, "No agent is protected yet.", _ADD)


# The key ----------------------------------------------------------------------------------------------------------


def key(context: Context) -> Step:
    """Whether there is a key, and it can be used; one that is locked is there."""
    status = context.keys().status()
    if status.key_id is None and status.state != KeyState.ERROR:
        return Step(KEY, MISSING, "There is no key yet.", "lifeboat keys init")
    text = f"Your key {status.key_id} lies in {PLACES[status.store]}."
    try:
        context.keys().user_key()
    except (KeyLocked, KeyringLocked):
        return Step(KEY, DONE, f"{text} It is locked now.")
    except NoKey as error:
        return Step(KEY, MISSING, f"{error.title}: {error.message}.", error.fix or "lifeboat keys recover")
    except KeysError as error:
        return Step(KEY, MISSING, f"{error.title}: {error.message}.", error.fix or "lifeboat doctor")
    return Step(KEY, DONE, text)


def words(context: Context) -> Step:
    """Whether somebody wrote the words down and proved it."""
    status = context.keys().status()
    if status.proven_at is not None:
        return Step(WORDS, DONE, f"Its 24 words were proven on {time_text(status.proven_at)}.")
    said = "The 24 words of your key were never written down and proven."
    return Step(WORDS, MISSING, said if status.key_id else "Its 24 words come with it.", "lifeboat keys init")


# Where copies go, and who makes them --------------------------------------------------------------------------------


def second_copy(context: Context) -> Step:
    """Whether there is a copy off this disk."""
    names = [one.name for one in remotes.usable(context)]
    if names:
        return Step(SECOND_COPY, DONE, f"What is captured goes to {listed(names)} too.")
    return Step(SECOND_COPY, MISSING, "The copy is on this disk only.", "lifeboat remote add NAME URL")


def service(context: Context) -> Step:
    """Whether changes are captured unasked, from every login on."""
    state, runs = units.unit_state(context), lifecycle.look(context).running
    if state.installed and state.ours and state.program_found:
        return Step(SERVICE, DONE, "The service starts at every login and captures every change.")
    if state.problem is None:
        return Step(SERVICE, MISSING, "Nothing is captured by itself yet.", "lifeboat service install", INSTALL_SERVICE)
    if runs:
        text = "The daemon runs until this computer ends: no service manager starts it at login here."
        return Step(SERVICE, SKIPPED, text)
    text = "Nothing is captured by itself: no service manager answers here."
    return Step(SERVICE, MISSING, text, WITHOUT_MANAGER, START_DAEMON)


def words_of(command: str) -> list[str]:
    """The words behind `lifeboat` of a command that is to be run."""
    return shlex.split(command)[1:]


def problem_of(error: LifeboatError) -> JsonObject:
    return {"code": error.code, "title": error.title, "message": error.message, "fix": error.fix}
