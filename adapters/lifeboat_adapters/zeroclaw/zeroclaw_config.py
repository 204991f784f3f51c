"""Read `config.toml`: the agents, the workspace of each one, and where its memory is kept.

It has three shapes. Without a `schema_version` and with 2 there is one agent, and `[agents.*]` are agents that it
delegates to. Since 3 each `[agents.<alias>]` is an agent.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.nested_values import get_nested as get_nested
from lifeboat_adapters.nested_values import get_nested_text as get_nested_text
from lifeboat_adapters.small_files import read_small
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

CURRENT_SCHEMA = 3
"""The `schema_version` since which several agents share an installation."""

_OWN = frozenset(("schema_version", "default_provider", "default_model_provider", "channels_config", "autonomy"))

SQLITE, LUCID, MARKDOWN, NONE, POSTGRES, QDRANT = "sqlite", "lucid", "markdown", "none", "postgres", "qdrant"


@dataclass(frozen=True, slots=True)
class ZeroClawAgent:
    """One configured agent. `workspace` is as written, None when the default applies; `values` is its table."""

    alias: str
    workspace: str | None
    values: JsonObject


def read_zeroclaw_config(path: Path) -> JsonObject:
    """Return the configuration in a file, {} when there is none. Raises RuntimeConfigError."""
    try:
        return parse_zeroclaw_config(read_small(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RuntimeConfigError(f"{path}: {refusal_reason(error)}", fix="zeroclaw doctor") from error


def parse_zeroclaw_config(data: bytes) -> JsonObject:
    """Parse a configuration, also one whose secrets were cut out. Raises ValueError, which names the line, for text
    that is not TOML."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"the file is not UTF-8 text (line {line})") from None
    except RecursionError:
        raise ValueError("the TOML tables are nested too deeply") from None


def schema_version_of(values: JsonObject) -> int:
    """Return `schema_version`, 1 when there is none."""
    version = values.get("schema_version")
    return version if isinstance(version, int) and version > 0 else 1


def is_of_zeroclaw(values: JsonObject) -> bool:
    """Return whether a `config.toml` is ZeroClaw's. Many programs have a file of this name."""
    return not _OWN.isdisjoint(values) or get_nested_text(values, "memory", "backend") is not None


def list_zeroclaw_agents(values: JsonObject) -> list[ZeroClawAgent]:
    """Return every configured agent by alias, or `default` alone when none is configured."""
    tables = get_nested(values, "agents") if schema_version_of(values) >= CURRENT_SCHEMA else None
    found = [
        ZeroClawAgent(alias, get_nested_text(table, "workspace", "path"), table)
        for alias, table in (tables.items() if isinstance(tables, dict) else ())
        if isinstance(table, dict) and _names_a_folder(alias)
    ]
    return found or [ZeroClawAgent(zeroclaw_paths.DEFAULT_ALIAS, None, {})]


def _names_a_folder(alias: str) -> bool:
    """Return whether an alias is valid as a part of a path."""
    return alias not in ("", ".", "..") and not re.search(r"[/\\\x00]", alias)


def find_zeroclaw_agent(values: JsonObject, alias: str) -> ZeroClawAgent | None:
    """Return one agent by its alias, None when it is not configured."""
    return next((found for found in list_zeroclaw_agents(values) if found.alias == alias), None)


def configured_backend(values: JsonObject, alias: str) -> str:
    """Return where an agent's memory is kept: `sqlite`, `lucid`, `markdown`, `none`, `postgres` or `qdrant`. An unknown
    name is returned as it is."""
    own = (
        get_nested_text(values, "agents", alias, "memory", "backend")
        if schema_version_of(values) >= CURRENT_SCHEMA
        else None
    )
    named = own or get_nested_text(values, "memory", "backend") or SQLITE
    return named.partition(".")[0].lower()
