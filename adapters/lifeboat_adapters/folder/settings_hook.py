"""A hook in a settings file of the runtime: a shell line for each event that ends a session."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.additive_merging import ValueChange
from lifeboat_adapters.contract import HookSupport, Installation
from lifeboat_adapters.errors import HookUnavailable
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.json5_editing import apply_value_changes, edit_json5
from lifeboat_adapters.nested_values import get_nested
from lifeboat_adapters.session_hook_plan import HookEdit, HookOrder, HookPlan
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

_HOOKS = "hooks"
_OURS = re.compile(r"\[ .* sync .* --unless-paused --background ", re.DOTALL)
"""The beginning of every line that Lifeboat writes. The home is of one agent, so there is one line for each event."""

_SECONDS = 3
"""The longest time that Codex allows a hook at the end of a session."""

_STYLES: tuple[dict[str, Any], ...] = (
    *({"indent": indent} for indent in (2, 4, "\t", None)),
    {"separators": (",", ":")},
)
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class SettingsHook(HookSupport):
    """The hook that a profile describes: entries of a JSON file, in the form that Claude Code introduced."""

    def __init__(self, profile: FolderProfile) -> None:
        self._title, self._hook = profile.title, profile.hook
        self.skills = profile.persona.skills

    def install(self, installation: Installation, order: HookOrder) -> HookPlan:
        if os.name == "nt":
            raise HookUnavailable(
                f"{self._title} cannot run the hook on Windows, because the hook is a POSIX shell command"
            )
        path, before = self._read(installation)
        values = _parse(path, before)
        self._check_shape(path, values)
        switch = next((name for name in self._hook.off if values.get(name) is True), None)
        if switch is not None:
            raise HookUnavailable(f"all hooks are turned off in {path} ({switch})", fix=f"edit {path}")
        wanted = _handler(order)
        missing = [event for event in self._hook.events if _own_handlers(values, event) != [wanted]]
        data = _without_own(before or b"{}\n", values, missing)
        data = _with_entries(data, _parse(path, data), {event: {_HOOKS: [wanted]} for event in missing})
        edit = {path: HookEdit(before, data, f"{', '.join(missing)}: {order.shell_line}")} if missing else {}
        trust = f"To trust the hook, start {self._title} and choose /hooks"
        waits = bool(self._hook.trusted_in) and bool(self._untrusted(installation, _parse(path, data)))
        return HookPlan(edit=edit, after=trust if waits else "", waits=waits)

    def remove(self, installation: Installation, order: HookOrder) -> HookPlan:
        path, before = self._read(installation)
        values = _parse(path, before)
        events = [event for event in self._hook.events if _own_handlers(values, event)]
        if before is None or not events:
            return HookPlan()
        shown = "\n".join(str(_own_handlers(values, event)[0]["command"]) for event in events)
        after = _without_own(before, values, events)
        return HookPlan(edit={path: HookEdit(before, after if _parse(path, after) else None, shown)})

    def problem(self, installation: Installation, order: HookOrder) -> str:
        path, data = self._read(installation)
        values = _parse(path, data)
        found = [_own_handlers(values, event) for event in self._hook.events]
        if not any(found):
            return "no Lifeboat hook is installed, so the end of a session is not reported"
        if any(handlers != [_handler(order)] for handlers in found):
            return (
                "the hook is outdated: another release of Lifeboat wrote the hook, the hook reports to another "
                "LIFEBOAT_HOME, or an event has no hook"
            )
        if any(values.get(name) is True for name in self._hook.off):
            return f"all hooks are turned off in {path}"
        if not os.access(order.program[0], os.X_OK):
            return f"the hook starts {order.program[0]}, which no longer exists"
        return self._untrusted(installation, values) if self._hook.trusted_in else ""

    def _read(self, installation: Installation) -> tuple[Path, bytes | None]:
        path = installation.workspace / self._hook.file
        try:
            return path, read_small(path, installation.workspace)
        except FileNotFoundError:
            return path, None
        except OSError as error:
            raise HookUnavailable(f"{path}: {refusal_reason(error)}") from error

    def _check_shape(self, path: Path, values: JsonObject) -> None:
        """Refuse a file whose hooks have another form than the runtime reads: an entry would replace them."""
        hooks = {} if values.get(_HOOKS) is None else values[_HOOKS]
        if not isinstance(hooks, dict):
            raise HookUnavailable(f"{path}: {_HOOKS} is not a JSON object", fix=f"edit {path}")
        for event in self._hook.events:
            if not isinstance(hooks.get(event), list | None):
                raise HookUnavailable(f"{path}: {_HOOKS}.{event} is not a list", fix=f"edit {path}")

    def _untrusted(self, installation: Installation, values: JsonObject) -> str:
        """Return why the runtime does not run the hook, as its own settings say: it runs what the user trusted."""
        path = installation.workspace / self._hook.trusted_in
        try:
            settings = tomllib.loads(read_small(path, installation.workspace).decode())
        except (OSError, ValueError):
            settings = {}
        if get_nested(settings, "features", _HOOKS) is False:
            return f"all hooks are turned off in {path} (features.hooks)"
        states = get_nested(settings, _HOOKS, "state") or {}
        for event in self._hook.events:
            for key, digest in _trust_of(installation.workspace / self._hook.file, values, event):
                state = states.get(key, {})
                if state.get("enabled") is False:
                    return f"the hook for {event} is disabled in {path}"
                if state.get("trusted_hash") != digest:
                    return f"the hook for {event} is not trusted yet: start {self._title} and choose /hooks"
        return ""


def _handler(order: HookOrder) -> JsonObject:
    return {"type": "command", "command": order.shell_line, "timeout": _SECONDS}


def _groups(values: JsonObject, event: str) -> list[Any]:
    hooks = values.get(_HOOKS)
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return groups if isinstance(groups, list) else []


def _handlers(group: Any) -> list[Any]:
    handlers = group.get(_HOOKS) if isinstance(group, dict) else None
    return handlers if isinstance(handlers, list) else []


def _is_own(handler: Any) -> bool:
    return isinstance(handler, dict) and _OURS.match(str(handler.get("command", ""))) is not None


def _own_handlers(values: JsonObject, event: str) -> list[Any]:
    return [handler for group in _groups(values, event) for handler in _handlers(group) if _is_own(handler)]


def _with_entries(data: bytes, values: JsonObject, groups: dict[str, JsonObject]) -> bytes:
    """Return a document with one group more for each event, behind those that are there: a runtime may know them by
    their place."""
    if not groups:
        return data
    if not isinstance(values.get(_HOOKS), dict):
        added = [ValueChange((_HOOKS,), {event: [group] for event, group in groups.items()})]
    else:
        lists = {event: _groups(values, event) for event in groups}
        added = [
            ValueChange((_HOOKS, event, len(there)), groups[event])
            if there
            else ValueChange((_HOOKS, event), [groups[event]])
            for event, there in lists.items()
        ]
    return _change(data, added)


def _change(data: bytes, changes: list[ValueChange]) -> bytes:
    """Return a JSON document with changes, and everything else as it is spelled."""
    values, text = json.loads(data), data.decode("utf-8", "surrogateescape")
    for style in _STYLES:
        if json.dumps(values, ensure_ascii=False, **style) == text.rstrip("\n"):
            made = json.dumps(apply_value_changes(values, changes), ensure_ascii=False, **style)
            return (made + text[len(text.rstrip("\n")) :]).encode("utf-8", "surrogateescape")
    for change in changes:
        data = _without_comma(data, edit_json5(data, [change]).data)
    return data


def _without_comma(before: bytes, made: bytes) -> bytes:
    """Return an edited document without a comma behind the last value of a list or an object, which JSON forbids."""
    with contextlib.suppress(ValueError):
        json.loads(made)
        return made
    pairs = enumerate(zip(before, made, strict=False))
    start = made[: next((place for place, (old, new) in pairs if old != new), len(made))].rstrip()
    return start.removesuffix(b",") + made[len(start) :]


def _without_own(data: bytes, values: JsonObject, events: list[str]) -> bytes:
    """Return a document without Lifeboat's handlers for some events, and without what is empty then. Handlers of others
    stay, also those in a group with Lifeboat's."""
    kept = dict(values.get(_HOOKS) or {})
    for event in events:
        groups = _groups(values, event)
        own = [[number for number, each in enumerate(_handlers(group)) if _is_own(each)] for group in groups]
        emptied = [
            bool(numbers) and len(numbers) == len(_handlers(group)) for numbers, group in zip(own, groups, strict=True)
        ]
        if all(emptied) and kept.pop(event, None) is not None:
            data = _change(data, [ValueChange((_HOOKS, event) if kept else (_HOOKS,), None, True)])
            continue
        for place, numbers in reversed(list(enumerate(own))):
            paths = [(place,)] if emptied[place] else [(place, _HOOKS, number) for number in reversed(numbers)]
            for path in paths:
                data = _change(data, [ValueChange((_HOOKS, event, *path), None, True)])
    return data


def _parse(path: Path, data: bytes | None) -> JsonObject:
    try:
        values = json.loads(data) if data and data.strip() else {}
    except (ValueError, RecursionError):
        raise HookUnavailable(f"{path} is not valid JSON") from None
    if not isinstance(values, dict):
        raise HookUnavailable(f"{path} does not contain a JSON object")
    return values


def _trust_of(path: Path, values: JsonObject, event: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the digest under which Codex notes that the user trusts a hook."""
    name = _CAPITAL.sub("_", event).lower()
    for place, group in enumerate(_groups(values, event)):
        for number, handler in enumerate(_handlers(group)):
            if _is_own(handler):
                identity = {"event_name": name, _HOOKS: [{"async": False, **handler}]}
                text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                yield f"{path}:{name}:{place}:{number}", f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
