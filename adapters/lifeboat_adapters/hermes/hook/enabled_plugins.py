"""Add a name to the list of enabled plugins in the text of `config.yaml`, and remove it; everything else stays."""

from __future__ import annotations

import contextlib
from typing import Any

import yaml

PLUGINS, ENABLED, DISABLED = "plugins", "enabled", "disabled"


class NotEditable(ValueError):
    """The text is spelled in a way that cannot be edited in one place. The message says why."""


def list_plugins(text: str, key: str) -> list[str]:
    """Return the names in a list of plugins of the configuration. Raises NotEditable for a text that is not YAML."""
    listed = _plugins_of(_parse(text)).get(key)
    return [str(name) for name in listed] if isinstance(listed, list) else []


def add_enabled_plugin(text: str, name: str) -> tuple[str, str]:
    """Return the text with a plugin enabled, and the part that was added. Raises NotEditable."""
    before = _parse(text)
    plugins = _child(yaml.compose(text, Loader=yaml.SafeLoader), PLUGINS)
    if plugins is None:
        start = "" if not text or text.endswith("\n") else "\n"
        made, place = f"{start}{PLUGINS}:\n  {ENABLED}:\n  - {name}\n", len(text)
    elif not isinstance(plugins, yaml.MappingNode) or plugins.flow_style or not plugins.value:
        raise NotEditable(f"{PLUGINS} is not a YAML block with one entry per line")
    else:
        made, place = _within(text, plugins, name)
    result = text[:place] + made + text[place:]
    listed = [*list_plugins(text, ENABLED), name]
    _check(result, {**before, PLUGINS: {**_plugins_of(before), ENABLED: listed}}, name)
    return result, made


def _within(text: str, plugins: yaml.MappingNode, name: str) -> tuple[str, int]:
    """Return what to insert below `plugins:`, and where."""
    enabled = _child(plugins, ENABLED)
    if enabled is None:
        start = plugins.start_mark
        return f"{ENABLED}:\n{' ' * start.column}- {name}\n{' ' * start.column}", start.index
    if isinstance(enabled, yaml.ScalarNode) and not enabled.value:
        return f"\n{' ' * plugins.start_mark.column}- {name}", enabled.start_mark.index
    if not isinstance(enabled, yaml.SequenceNode):
        raise NotEditable(f"{PLUGINS}.{ENABLED} is not a list")
    if enabled.flow_style:
        return f"{name}, " if enabled.value else name, enabled.start_mark.index + 1
    return f"- {name}\n{' ' * enabled.start_mark.column}", enabled.start_mark.index


def remove_enabled_plugin(text: str, name: str, added: str) -> tuple[str, str]:
    """Return the text without a plugin, and the part that was removed: `added` if that is still there, otherwise the
    entry. Raises NotEditable."""
    before = _parse(text)
    left = [each for each in list_plugins(text, ENABLED) if each != name]
    wanted = {**before, PLUGINS: {**_plugins_of(before), ENABLED: left or None}}
    start = text.find(added) if added else -1
    if start >= 0:
        result = text[:start] + text[start + len(added) :]
        # Other entries may follow now, which would belong to another key without the added text.
        with contextlib.suppress(NotEditable):
            _check(result, wanted, name)
            return result, added
    enabled = _child(_child(yaml.compose(text, Loader=yaml.SafeLoader), PLUGINS), ENABLED)
    items = enabled.value if isinstance(enabled, yaml.SequenceNode) else []
    item = next((each for each in items if each.value == name), None)
    if item is None or not isinstance(enabled, yaml.SequenceNode) or enabled.flow_style:
        raise NotEditable(f"{PLUGINS}.{ENABLED} is not a YAML list with one name per line")
    first, last = text.rfind("\n", 0, item.start_mark.index) + 1, text.find("\n", item.end_mark.index) + 1
    result = text[:first] + text[last or len(text) :]
    _check(result, wanted, name)
    return result, text[first : last or len(text)]


def _check(result: str, wanted: dict[str, Any], name: str) -> None:
    """Raise NotEditable unless an edited text says exactly what it should."""
    found = _parse(result)
    as_sets = [{**each, PLUGINS: {**_plugins_of(each), ENABLED: None}} for each in (found, wanted)]
    names = [sorted(map(str, _plugins_of(each).get(ENABLED) or ())) for each in (found, wanted)]
    if as_sets[0] != as_sets[1] or names[0] != names[1]:
        raise NotEditable(f"a new entry for {name} would change other values in the file")


def _parse(text: str) -> dict[str, Any]:
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise NotEditable("the file is not valid YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise NotEditable("the file is not a YAML mapping")
    return values


def _plugins_of(values: dict[str, Any]) -> dict[str, Any]:
    plugins = values.get(PLUGINS)
    return plugins if isinstance(plugins, dict) else {}


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)
