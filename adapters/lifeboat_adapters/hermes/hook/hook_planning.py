"""Plan what has to be written and removed to install or remove the plugin. Planning writes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import msgspec

from lifeboat_adapters.contract import HookSupport, Installation
from lifeboat_adapters.errors import HookUnavailable
from lifeboat_adapters.hermes.hook import enabled_plugins
from lifeboat_adapters.hermes.hook.enabled_plugins import NotEditable
from lifeboat_adapters.session_hook_plan import (
    HookEdit,
    HookOrder,
    HookPlan,
    NotifiedAgent,
    find_order_problem,
    notified_agent_of,
)
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.refusal_texts import refusal_reason

NAME = "lifeboat"
FOLDER = f"plugins/{NAME}"
CONFIG = "config.yaml"
_NOTE = "lifeboat.json"
_CODE = {"plugin.yaml": "plugin.yaml", "__init__.py": "plugin_code.py"}
_CACHE = "__pycache__"
_RESTART = "A running Hermes gateway loads the hook after a restart: hermes gateway restart"


class _PluginNote(msgspec.Struct, frozen=True):
    """The content of the note. `added` is the text that was added to `config.yaml`, "" when the entry was there.
    `made_folder` says that `plugins/` did not exist before."""

    agent: str
    program: tuple[str, ...]
    home: str | None = None
    added: str = ""
    made_folder: bool = False

    @property
    def told(self) -> NotifiedAgent:
        return NotifiedAgent(self.agent, self.program, self.home)


class HermesHook(HookSupport):
    """The plugin in the home of an agent."""

    skills = "skills"

    def install(self, installation: Installation, order: HookOrder) -> HookPlan:
        home = installation.workspace
        folder, config = home / FOLDER, home / CONFIG
        known = _read_note(home)
        if known is None and os.path.lexists(folder):
            raise HookUnavailable(
                f"{folder} already exists, and Lifeboat did not write it",
                fix=shlex.join(("mv", str(folder), str(folder.with_name("of-mine")))),
            )
        before = _read_config(home)
        text = (before or b"").decode("utf-8", "surrogateescape")
        edit: dict[Path, HookEdit] = {}
        added = "" if known is None else known.added
        with _explained(config):
            if NAME in enabled_plugins.list_plugins(text, enabled_plugins.DISABLED):
                raise HookUnavailable(f"the plugin {NAME} is disabled in {config}", fix=f"hermes plugins enable {NAME}")
            if NAME not in enabled_plugins.list_plugins(text, enabled_plugins.ENABLED):
                after, added = enabled_plugins.add_enabled_plugin(text, NAME)
                edit[config] = HookEdit(before, after.encode("utf-8", "surrogateescape"), added)
        made = not folder.parent.exists() if known is None else known.made_folder
        told = notified_agent_of(order)
        note = _PluginNote(told.agent, told.program, told.home, added, made)
        write = _changed(home, {**_code(), _NOTE: msgspec.json.format(msgspec.json.encode(note), indent=2) + b"\n"})
        return HookPlan(write, edit, after=_RESTART if write or edit else "")

    def remove(self, installation: Installation, order: HookOrder) -> HookPlan:
        home = installation.workspace
        folder, config = home / FOLDER, home / CONFIG
        known = _read_note(home)
        if known is None:
            return HookPlan()
        edit: dict[Path, HookEdit] = {}
        before = _read_config(home)
        text = (before or b"").decode("utf-8", "surrogateescape")
        after_text = _RESTART
        try:
            if NAME in enabled_plugins.list_plugins(text, enabled_plugins.ENABLED):
                left, shown = enabled_plugins.remove_enabled_plugin(text, NAME, known.added)
                edit[config] = HookEdit(before, left.encode("utf-8", "surrogateescape") or None, shown)
        except NotEditable as error:
            # An entry without a plugin has no effect.
            after_text = (
                f"Lifeboat could not remove {NAME} from plugins.enabled in {config}: {error}. Remove this entry "
                "by hand."
            )
        cache = folder / _CACHE
        ours = [
            path
            for path in (*(folder / name for name in (*_code(), _NOTE)), *sorted(cache.glob("*")))
            if path.is_file()
        ]
        folders = [cache, folder, *([folder.parent] if known.made_folder else [])]
        return HookPlan(edit=edit, remove=(*ours, *(each for each in folders if each.is_dir())), after=after_text)

    def problem(self, installation: Installation, order: HookOrder) -> str:
        home = installation.workspace
        known = _read_note(home)
        problem = find_order_problem(None if known is None else known.told, order)
        if problem:
            return problem
        if _changed(home, _code()):
            return "the hook was written by another release of Lifeboat, or was changed afterwards"
        text = (_read_config(home) or b"").decode("utf-8", "surrogateescape")
        with _explained(home / CONFIG):
            disabled = NAME in enabled_plugins.list_plugins(text, enabled_plugins.DISABLED)
            enabled = NAME in enabled_plugins.list_plugins(text, enabled_plugins.ENABLED)
        return "" if enabled and not disabled else f"the plugin {NAME} is not enabled in {CONFIG}"


@contextmanager
def _explained(config: Path) -> Iterator[None]:
    """Name the file in a refusal to edit it."""
    try:
        yield
    except NotEditable as error:
        raise HookUnavailable(f"{config}: {error}") from error


def _code() -> dict[str, bytes]:
    here = files(__package__)
    return {name: (here / source).read_bytes() for name, source in _CODE.items()}


def _read(home: Path, name: str) -> bytes | None:
    try:
        return read_small(home / name, home)
    except OSError:
        return None


def _read_config(home: Path) -> bytes | None:
    try:
        return read_small(home / CONFIG, home)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookUnavailable(f"{home / CONFIG}: {refusal_reason(error)}") from error


def _read_note(home: Path) -> _PluginNote | None:
    try:
        return msgspec.json.decode(_read(home, f"{FOLDER}/{_NOTE}") or b"", type=_PluginNote)
    except msgspec.MsgspecError:
        return None


def _changed(home: Path, wanted: dict[str, bytes]) -> dict[Path, bytes]:
    """Return those files of the plugin whose content differs."""
    return {home / FOLDER / name: data for name, data in wanted.items() if _read(home, f"{FOLDER}/{name}") != data}
