"""The table of settings: name, kind, default, where it may stand, what it does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifeboat_daemon.errors import BadSetting, UnknownSetting

_UNITS_OF_SIZE = {"": 1, "B": 1} | {
    unit: 1 << power
    for power, units in ((10, ("KB", "KIB")), (20, ("MB", "MIB")), (30, ("GB", "GIB")))
    for unit in units
}
_UNITS_OF_TIME = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_SECONDS = 36500 * 86400


def parse_size(value: Any) -> int:
    """Bytes from `102400`, `"100 KB"`, `"2GB"` (1 KB is 1,024 bytes). Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool):
        number, unit = value, ""
    else:
        found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", str(value))
        if not found or found[2].upper() not in _UNITS_OF_SIZE:
            raise ValueError("a size like 102400, 100KB, 50MB or 2GB")
        number, unit = int(found[1]), found[2].upper()
    if number < 0:
        raise ValueError("a size of at least 0")
    return number * _UNITS_OF_SIZE[unit]


def parse_duration(value: Any) -> int:
    """Seconds from `90`, `"30s"`, `"15m"`, `"24h"`, `"90d"`. Raises ValueError, also for more than clocks count."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LONGEST_SECONDS:
        return value
    found = re.fullmatch(r"\s*(\d+)\s*([smhd]?)\s*", str(value))
    if not found:
        raise ValueError("a time like 30s, 15m, 24h or 90d")
    seconds = int(found[1]) * _UNITS_OF_TIME[found[2] or "s"]
    if seconds > _LONGEST_SECONDS:
        raise ValueError("a time of at most 36500d")
    return seconds


def parse_share(value: Any) -> float:
    """A share between 0 and 1. Raises ValueError."""
    number = float(value)
    if not 0 < number <= 1:
        raise ValueError("a share above 0 and at most 1, like 0.5")
    return number


def parse_switch(value: Any) -> bool:
    """True or false, also as text. Raises ValueError."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise ValueError("true or false")
    return words[str(value).lower()]


def parse_count(value: Any) -> int:
    """A whole number of at least 1. Raises ValueError."""
    if isinstance(value, bool) or int(value) < 1:
        raise ValueError("a whole number of at least 1")
    return int(value)


def parse_command(value: Any) -> str:
    """A program with its arguments, spelled as in a shell; "none" is read as "". Raises ValueError."""
    try:
        if isinstance(value, str):
            shlex.split(value)
            return "" if value == "none" else value
    except ValueError:
        pass
    raise ValueError("a command like 'pass show lifeboat', with every quote closed")


def one_of(*words: str) -> Callable[[Any], str]:
    """A parser that takes one of some words."""

    def parse(value: Any) -> str:
        if value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return str(value)

    return parse


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `parse` turns what a file or a person wrote into the value; `per_agent`: it may also stand in an
    agent's file and wins there."""

    name: str
    parse: Callable[[Any], Any]
    default: Any
    effect: str
    per_agent: bool = True

    def read(self, written: Any) -> Any:
        """The value from what was written. Raises BadSetting."""
        try:
            return self.parse(written)
        except (ValueError, TypeError) as error:
            raise BadSetting(f"{self.name} = {written!r}: this has to be {error}") from None


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("cadence", parse_duration, "15m", "the longest time between two captures of an agent"),
        Setting("artifacts.threshold", parse_size, "100KB", "files up to this size travel inside an archive"),
        Setting("artifacts.max_file", parse_size, "50MB", "larger files are named, not kept"),
        Setting("artifacts.max_total", parse_size, "2GB", "how much all large files of an agent may take"),
        Setting("artifacts.interval", parse_duration, "1h", "a large file is captured at most this often"),
        Setting("artifacts.versions", parse_count, 3, "how many versions of a large file keep their bytes"),
        Setting("memory.granularity", one_of("quarterly", "monthly"), "quarterly", "how memory is divided by time"),
        Setting("transcripts", parse_switch, False, "whether conversations in the runtime's databases are captured"),
        Setting("cron", parse_switch, False, "whether scheduled jobs in ZeroClaw's database are captured"),
        Setting(
            "remote_memory", parse_switch, False, "whether memories behind a server (PostgreSQL, Qdrant) are asked for"
        ),
        Setting("held.share", parse_share, 0.5, "the share of memory whose loss looks like an accident"),
        Setting("held.minimum", parse_count, 4, "fewer lost memories than this never look like an accident"),
        Setting("retention.all", parse_duration, "24h", "every sequence is kept for this long"),
        Setting("retention.hourly", parse_duration, "7d", "then one an hour for this long"),
        Setting("retention.daily", parse_duration, "90d", "then one a day for this long; after that one a week"),
        Setting("vault.max_size", parse_size, "10GB", "how much the vault of an agent may take"),
        Setting("vault.min_free", parse_size, "1GB", "how much has to stay free on the disk", per_agent=False),
        Setting("key_command", parse_command, "none", "a program that prints your key's 24 words", per_agent=False),
    )
}


def setting(name: str) -> Setting:
    """A setting by name. Raises UnknownSetting."""
    if name not in SETTINGS:
        raise UnknownSetting(f"{name!r}; the settings are {', '.join(SETTINGS)}")
    return SETTINGS[name]
