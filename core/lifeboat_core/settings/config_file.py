"""The user's settings: `config.toml`, read with the standard library and written so that comments survive.

Private settings, whose values must stay secret, are apart in `private.toml`: `config.toml` can be shown. While a file
is invalid, its last good version is in force, and `Config.problem` says so.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.errors import BadSetting, ConfigError
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.settings.settings_table import SETTINGS, Setting, find_setting

DEFAULT = "default"
FILE = "config.toml"
PRIVATE_FILE = "private.toml"
AGENT = "agent"
_DEEPEST = 50
_NO_SETTINGS = b"# Every setting has its default.\n"
"""The content without settings. An empty file was lost (see `recall_file`), so no command leaves an empty one."""
_LAST_GOOD = {FILE: "state/config.good.toml", PRIVATE_FILE: "private.good.toml"}
"""Copies of valid files. That of private settings is beside its original: `state` contains nothing secret."""


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting in force. `source` is `default`, `config.toml`, `private.toml` or `agent`; `written` is its spelling.
    The value of a `private` one is never shown."""

    name: str
    value: Any = field(repr=False)
    written: Any = field(repr=False)
    source: str
    effect: str
    private: bool = False


class SettingsFileProblem(NamedTuple):
    """Why a file of settings is not in force. `detail` is the message without the name of the file."""

    file: str
    message: str
    detail: str


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force. `problem` says why the file on disk is not in force, None when it is."""

    written: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problem: SettingsFileProblem | None = None

    def get(self, name: str, overrides: Mapping[str, Any] | None = None) -> SettingValue:
        """Return one setting; `overrides` are the settings of an agent. Raises ConfigError.UNKNOWN_SETTING."""
        known = find_setting(name)
        for source, values in ((AGENT, overrides or {}), (_file_of(known), self.written)):
            if name in values:
                return SettingValue(name, known.read(values[name]), values[name], source, known.effect, known.private)
        return SettingValue(name, known.read(known.default), known.default, DEFAULT, known.effect, known.private)

    def all(self, overrides: Mapping[str, Any] | None = None) -> list[SettingValue]:
        """Return every setting, in the order of the table."""
        return [self.get(name, overrides) for name in SETTINGS]


def load_config(home: Home, files: FileOperations) -> Config:
    """Return the configuration in force. Raises ConfigError only if neither `config.toml` nor a good copy can be
    used."""
    public, problem = _in_force(home, files, FILE)
    try:
        private, private_problem = _in_force(home, files, PRIVATE_FILE)
    except ConfigError as error:  # without addresses no notice is sent; that must not stop a capture
        private, private_problem = {}, _problem(PRIVATE_FILE, error)
    return Config({**public, **private}, problem or private_problem)


def _problem(name: str, error: ConfigError) -> SettingsFileProblem:
    return SettingsFileProblem(name, error.message, error.detail or error.message)


def _in_force(home: Home, files: FileOperations, name: str) -> tuple[JsonObject, SettingsFileProblem | None]:
    """Return the settings of a file, or of its last good copy and why. A file that is missing or empty is written again
    from the copy. Raises ConfigError when neither can be used."""
    good = home.folder / _LAST_GOOD[name]
    try:
        data = _read(home.folder / name, files, good)
        written = parse_settings(data, name)
    except ConfigError as error:
        return parse_settings(_read(good, files), name), _problem(name, error)
    remember_file(files, good, data)
    return written, None


def _file_of(known: Setting) -> str:
    return PRIVATE_FILE if known.private else FILE


def remember_file(files: FileOperations, good: Path, data: bytes) -> None:
    """Keep a copy of a valid file. On a full disk there is none: nothing may depend on it."""
    with contextlib.suppress(OSError):
        try:
            if read_all(files, good) == data:
                return
        except FileNotFoundError:
            if not data:
                return
        files.make_folders(good.parent, 0o700)
        write_atomic(files, good, data)


def recall_file(files: FileOperations, path: Path, good: Path, *, is_lost: bool = True) -> bytes:
    """Return the bytes of a file that has a last good copy.

    A file that is missing or empty while its copy is not was lost: it is written again from the copy. No command leaves
    an empty file. `is_lost` is False if the file must not be restored. Raises OSError, FileNotFoundError if there is
    neither.
    """
    found: bytes | None = None
    with contextlib.suppress(FileNotFoundError):
        found = read_all(files, path)
    if found is not None and (found.strip() or not is_lost):
        return found
    kept = b""
    if is_lost:
        with contextlib.suppress(OSError):  # an unreadable copy counts as missing
            kept = read_all(files, good)
    if kept.strip():
        with contextlib.suppress(OSError):  # a home that cannot be written to is read from the copy
            files.make_folders(path.parent, 0o700)
            write_atomic(files, path, kept)
        return kept
    if found is None:
        raise FileNotFoundError(path)
    return found


def _read(path: Path, files: FileOperations, good: Path | None = None) -> bytes:
    try:
        return read_all(files, path) if good is None else recall_file(files, path, good)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(f"{path}: {refusal_reason(error)}") from error


def parse_settings(data: bytes, name: str = FILE) -> JsonObject:
    """Return settings by dotted name from the text of a file. Raises ConfigError, which quotes nothing of
    `private.toml`."""
    try:
        written = dict(flatten_settings(read_toml(data)))
    except ValueError as error:
        is_quotable = name == FILE or isinstance(error, WordsInFile)
        detail = str(error) if is_quotable else "the file is not valid TOML"
        refused = ConfigError(f"{name}: {detail}")
        refused.detail = detail
        raise refused from None
    for each in written:
        _check_place(each, name)
    return check_settings(written)


class WordsInFile(ValueError):
    """The words of a key in a settings file. The message names the line and repeats nothing of it."""


def read_toml(data: bytes) -> JsonObject:
    """Read a TOML document. Raises ValueError, also for a document that is nested too deep or that contains the words
    of a key, even in a comment: the document is shown, logged and copied."""
    text = data.decode()
    _refuse_words(text)
    try:
        document = tomllib.loads(text)
        _check_depth(document)
    except RecursionError:
        raise ValueError("the file is nested too deeply") from None
    return document


def _refuse_words(text: str) -> None:
    """Raise WordsInFile."""
    from lifeboat_keys.words_in_texts import (
        holds_recovery_words,
    )  # a file without settings imports no package of the keys

    if not holds_recovery_words(text):
        return
    lines = [number for number, line in enumerate(text.split("\n"), 1) if holds_recovery_words(line)]
    line_or_file = f"line {lines[0]}" if lines else "the file"
    raise WordsInFile(f"{line_or_file} contains recovery words, which are not allowed in this file; remove them")


def _check_depth(document: Any, left: int = _DEEPEST) -> None:
    if not left:
        raise ValueError("the file is nested too deeply")
    parts = document.values() if isinstance(document, Mapping) else document if isinstance(document, list) else ()
    for part in parts:
        _check_depth(part, left - 1)


def _check_place(written: str, name: str) -> None:
    """Raise BadSetting for a setting in the wrong file."""
    known = SETTINGS.get(written)
    if name == FILE and known is not None and known.private:
        put_right = f"lifeboat config set {written} --stdin"
        raise BadSetting(
            f"{written} is not allowed in {FILE}, which may be shown to others. Remove the entry, then run: {put_right}"
        )
    if name == PRIVATE_FILE and (known is None or not known.private):
        raise BadSetting(f"{PRIVATE_FILE} contains an entry that is not a private setting; move the entry to {FILE}")


def check_settings(written: JsonObject, *, per_agent: bool = False) -> JsonObject:
    """Check that every name is known and every value of its kind. Raises ConfigError."""
    for name, value in written.items():
        known = find_setting(name)
        known.read(value)
        if per_agent and not known.per_agent:
            raise BadSetting(f"{name} can only be set for all agents")
    return written


def flatten_settings(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `("held.share", 1)` for `{"held": {"share": 1}}`."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from flatten_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def put_setting(document: MutableMapping[str, Any], name: str, value: Any | None) -> None:
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


def write_config(home: Home, files: FileOperations, name: str, value: Any | None) -> Config:
    """Set one setting for all agents (None: back to the default). Raises ConfigError; nothing is written then."""
    import tomlkit
    import tomlkit.exceptions

    known = find_setting(name)
    if value is not None:
        known.read(value)
    file = _file_of(known)
    try:
        document = tomlkit.parse(_read(home.folder / file, files, home.folder / _LAST_GOOD[file]).decode())
    except (UnicodeDecodeError, tomlkit.exceptions.TOMLKitError) as error:
        raise ConfigError(
            f"{file}: {'the file is not valid TOML' if known.private else error}; repair the file first"
        ) from None
    put_setting(document, known.name, value)
    data = tomlkit.dumps(document).encode()
    data = data if data.strip() else _NO_SETTINGS
    parse_settings(data, file)
    write_atomic(files, home.folder / file, data)
    return load_config(home, files)
