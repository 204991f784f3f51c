"""What the user decided: `config.toml`, read with the standard library and written so that comments survive.

A file that cannot be used leaves the last good one in force, and `Config.problem` says so until it is repaired.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_alf.seams.files import FileOperations, read_all, write_atomic
from lifeboat_daemon.errors import BadSetting, ConfigError
from lifeboat_daemon.home import Home
from lifeboat_daemon.settings import SETTINGS, setting

DEFAULT = "default"
FILE = "config.toml"
AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting in force. `source` is `default`, `config.toml` or `agent`; `written` is how it was spelled."""

    name: str
    value: Any
    written: Any
    source: str
    effect: str


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force. `problem` says why the file on disk is not the one in force, None when it is."""

    written: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    def get(self, name: str, overrides: Mapping[str, Any] | None = None) -> Value:
        """One setting; `overrides` are the settings of an agent. Raises UnknownSetting."""
        known = setting(name)
        for source, values in ((AGENT, overrides or {}), (FILE, self.written)):
            if name in values:
                return Value(name, known.read(values[name]), values[name], source, known.effect)
        return Value(name, known.read(known.default), known.default, DEFAULT, known.effect)

    def all(self, overrides: Mapping[str, Any] | None = None) -> list[Value]:
        """Every setting, in the order of the table."""
        return [self.get(name, overrides) for name in SETTINGS]


def load(home: Home, files: FileOperations) -> Config:
    """The configuration in force. Raises ConfigError only when neither the file nor a good copy can be used."""
    good = home.state_folder / "config.good.toml"
    try:
        data = _read(home.config_file, files)
        written = parse(data)
    except ConfigError as error:
        return Config(parse(_read(good, files)), error.message)
    remember(files, good, data)
    return Config(written)


def remember(files: FileOperations, good: Path, data: bytes) -> None:
    """Keep a copy of a file that could be used. On a full disk there is none: nothing may depend on it."""
    with contextlib.suppress(OSError):
        try:
            if read_all(files, good) == data:
                return
        except FileNotFoundError:
            if not data:
                return
        write_atomic(files, good, data)


def _read(path: Any, files: FileOperations) -> bytes:
    try:
        return read_all(files, path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse(data: bytes) -> dict[str, Any]:
    """Settings by dotted name from the text of a file. Raises ConfigError."""
    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"config.toml: {error}") from None
    return check(dict(flatten(document)))


def check(written: dict[str, Any], *, per_agent: bool = False) -> dict[str, Any]:
    """Every name known, every value of its kind. Raises ConfigError."""
    for name, value in written.items():
        known = setting(name)
        known.read(value)
        if per_agent and not known.per_agent:
            raise BadSetting(f"{name} is decided for all agents")
    return written


def flatten(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"held": {"share": 1}}` as `("held.share", 1)`."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def put(document: MutableMapping[str, Any], name: str, value: Any | None) -> None:
    """Set a dotted name in a TOML document, making tables; None removes it."""
    import tomlkit

    *tables, key = name.split(".")
    for table in tables:
        if table not in document:
            document[table] = tomlkit.table()
        document = document[table]
    if value is None:
        document.pop(key, None)
    else:
        document[key] = value


def write(home: Home, files: FileOperations, name: str, value: Any | None) -> Config:
    """Set one setting for all agents (None: back to the default). Raises ConfigError; nothing is written then."""
    import tomlkit
    import tomlkit.exceptions

    if value is not None:
        setting(name).read(value)
    try:
        document = tomlkit.parse(_read(home.config_file, files).decode())
    except (UnicodeDecodeError, tomlkit.exceptions.TOMLKitError) as error:
        raise ConfigError(f"config.toml: {error}; repair it first") from None
    put(document, setting(name).name, value)
    data = tomlkit.dumps(document).encode()
    parse(data)
    write_atomic(files, home.config_file, data)
    return load(home, files)
