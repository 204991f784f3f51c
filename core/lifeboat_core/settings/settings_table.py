"""The table of settings: name, kind, default, scope, effect."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from lifeboat_core.errors import BadSetting, ConfigError

_UNITS_OF_SIZE = {"": 1, "B": 1} | {
    unit: 1 << power
    for power, units in ((10, ("KB", "KIB")), (20, ("MB", "MIB")), (30, ("GB", "GIB")), (40, ("TB", "TIB")))
    for unit in units
}
_UNITS_OF_TIME = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_SECONDS = 36500 * 86400
SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
CADENCES = ("after_interaction", "after_session", "scheduled", "manual")
THEMES = ("lifeboat", "lifeboat-light", "lifeboat-contrast", "ansi")
"""Themes of the dashboard."""
HOURLY = "0 * * * *"


def parse_size(value: Any) -> int:
    """Return the bytes of `102400`, `"100 KB"`, `"2GB"`, `"1TB"` (1 KB is 1,024 bytes). Raises ValueError."""
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
    """Return the seconds of `90`, `"30s"`, `"15m"`, `"24h"`, `"90d"`. Raises ValueError, also beyond the calendar."""
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
    """Return a share between 0 and 1. Raises ValueError."""
    number = float(value)
    if not 0 < number <= 1:
        raise ValueError("a share above 0 and at most 1, like 0.5")
    return number


def parse_switch(value: Any) -> bool:
    """Return true or false, also from text. Raises ValueError."""
    if isinstance(value, bool):
        return value
    if str(value).lower() not in SWITCHES:
        raise ValueError("true or false")
    return SWITCHES[str(value).lower()]


def parse_count(value: Any) -> int:
    """Return a whole number of at least 1. Raises ValueError."""
    if isinstance(value, bool) or int(value) < 1:
        raise ValueError("a whole number of at least 1")
    return int(value)


def parse_days(value: Any) -> int:
    """Return a whole number of days, also 0. Raises ValueError."""
    if isinstance(value, bool) or not 0 <= int(value) <= _LONGEST_SECONDS // 86400:
        raise ValueError("a whole number of days from 0 to 36500")
    return int(value)


def parse_command(value: Any) -> str:
    """Return a program with its arguments, spelled as in a shell; "" for "none". Raises ValueError."""
    try:
        if isinstance(value, str):
            words = shlex.split(value)
            if value == "none" or _has_place(words):
                return "" if value == "none" else value
    except ValueError:
        pass
    raise ValueError("a command like 'pass show lifeboat', with closed quotes and the absolute path of its program")


def _has_place(words: Sequence[str]) -> bool:
    """Return whether a command starts the same program in every working directory: one of PATH, or with an absolute
    path."""
    return not words or os.path.isabs(words[0]) or not os.path.dirname(words[0])


def parse_cadence(value: Any) -> str:
    """Return when captures happen (spec §7.1). An interval, which was allowed before there was a service, is read as
    `after_interaction`. Raises ValueError."""
    if value in CADENCES:
        return str(value)
    try:
        parse_duration(value)
    except ValueError:
        raise ValueError(f"one of {', '.join(CADENCES)}") from None
    return CADENCES[0]


def parse_cron(value: Any) -> str:
    """Return five fields of cron: minute, hour, day of the month, month, day of the week. Raises ValueError."""
    text = str(value)
    if text != HOURLY:  # import the parser of cron only for this setting
        from lifeboat_core.settings.crontab import Crontab

        Crontab(text)
    return text


def parse_positive_duration(value: Any) -> int:
    """Return a time of at least a second. Raises ValueError."""
    seconds = parse_duration(value)
    if seconds < 1:
        raise ValueError("a time of at least 1s")
    return seconds


def parse_path(value: Any) -> str:
    """Return an absolute path, `~` allowed; "" for "none". Raises ValueError."""
    if isinstance(value, str) and (value == "none" or os.path.isabs(os.path.expanduser(value))) and "\0" not in value:
        return "" if value == "none" else value
    raise ValueError("an absolute path, or none")


def parse_address(value: Any) -> str:
    """Return an http or https address; "" for "none". Raises ValueError."""
    if isinstance(value, str) and (value == "none" or re.fullmatch(r"https?://[^\s/]+\S*", value)):
        return "" if value == "none" else value
    raise ValueError("an address like https://ping.example.com/1234, or none")


def parse_memory_server(value: Any) -> str:
    """Return where a memory server listens, or `stdio:` and the command that starts one; the part after `#` names the
    agent to ask as. "" for "none". Raises ValueError."""
    if value == "none":
        return ""
    if (
        isinstance(value, str)
        and re.fullmatch(r"(?:https?://[^\s/]|stdio:\s*\S)[^\r\n\0]*", value)
        and _are_whole(*value.partition("#")[::2])
    ):
        return value
    raise ValueError(
        "an address like http://127.0.0.1:3918/mcp#agent=UUID, or stdio: and a command, with absolute paths, or none"
    )


def _are_whole(place: str, fragment: str) -> bool:
    """Return whether the program and the token file are the same in every working directory. Raises ValueError for a
    command that cannot be parsed."""
    files = parse_qs(fragment).get("token-file", [])
    command = shlex.split(place.removeprefix("stdio:")) if place.startswith("stdio:") else []
    return _has_place(command) and all(os.path.isabs(os.path.expanduser(file)) for file in files)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A parser that accepts one of some words."""

    words: tuple[str, ...]

    def __call__(self, value: Any) -> str:
        """Raises ValueError."""
        if value not in self.words:
            raise ValueError(f"one of {', '.join(self.words)}")
        return str(value)


def one_of(*words: str) -> OneOf:
    """Return a parser that accepts one of some words."""
    return OneOf(words)


CHOICE, SWITCH = "choice", "switch"
_KINDS: dict[Callable[[Any], Any], tuple[str, str]] = {
    parse_size: ("size", "50MB"),
    parse_duration: ("duration", "15m"),
    parse_positive_duration: ("duration", "15m"),
    parse_share: ("share", "0.5"),
    parse_switch: (SWITCH, "true"),
    parse_count: ("number", "3"),
    parse_days: ("days", "30"),
    parse_command: ("command", "pass show lifeboat"),
    parse_cadence: (CHOICE, "after_session"),
    parse_cron: ("cron", "30 8,20 * * 1-5"),
    parse_path: ("path", "/var/lib/node_exporter/lifeboat.prom"),
    parse_address: ("address", "https://ping.example.com/1234"),
    parse_memory_server: ("address", "http://127.0.0.1:3918/mcp#agent=UUID"),
}
"""The kind of value of each parser, and an example."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    `parse` turns what a file or a user wrote into the value; `per_agent`: an agent's file may set it too, and takes
    precedence; `private`: everyone who knows the value can use it, so it is kept apart and never shown. `warning` is
    shown when a switch is turned on.
    """

    name: str
    parse: Callable[[Any], Any]
    default: Any
    effect: str
    per_agent: bool = True
    private: bool = False
    warning: str = ""

    @property
    def kind(self) -> str:
        """The kind of value: `choice`, `switch`, `size`, `duration`, `share`, `number`, `days`, `command`, `cron`,
        `path`, `address`."""
        return CHOICE if isinstance(self.parse, OneOf) else _KINDS[self.parse][0]

    @property
    def choices(self) -> tuple[str, ...]:
        """All values if they are few; otherwise nothing."""
        if self.kind == SWITCH:
            return ("true", "false")
        if self.kind != CHOICE:
            return ()
        return self.parse.words if isinstance(self.parse, OneOf) else CADENCES

    @property
    def example(self) -> str:
        """A value as a user would write it, if possible not the default."""
        if self.choices:
            return next(each for each in self.choices if each != str(self.default).lower())
        return _KINDS[self.parse][1]

    def read(self, written: Any) -> Any:
        """Parse what was written. Raises BadSetting."""
        try:
            return self.parse(written)
        except (ValueError, TypeError, OverflowError) as error:
            setting_and_value = self.name if self.private else f"{self.name} = {written!r}"
            raise BadSetting(f"{setting_and_value}: the value must be {error}") from None


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("cadence", parse_cadence, "after_interaction", "when the daemon captures an agent"),
        Setting("schedule", parse_cron, HOURLY, "cron schedule of captures for the cadence `scheduled`, in local time"),
        Setting(  # The debounce, see `lifeboat_daemon.schedule.cadence`.
            "capture.quiet",
            parse_duration,
            "2s",
            "wait after the last change before a capture (debounce), for the cadence `after_interaction`",
        ),
        Setting(
            "capture.at_most",
            parse_positive_duration,
            "60s",
            "longest time between a change and its capture, for the cadence `after_interaction`",
        ),
        Setting(
            "session.idle",
            parse_positive_duration,
            "10m",
            "time without a change after which a session has ended, for the cadence `after_session`",
        ),
        Setting("scan.interval", parse_positive_duration, "1h", "scan the whole workspace at least this often"),
        Setting("artifacts.threshold", parse_size, "100KB", "maximum size of a file that is stored inside an archive"),
        Setting(
            "artifacts.max_file",
            parse_size,
            "50MB",
            "maximum size of a captured file; Lifeboat reports each larger file",
        ),
        Setting("artifacts.max_total", parse_size, "2GB", "maximum total size of the captured large files of an agent"),
        Setting(
            "artifacts.interval",
            parse_duration,
            "100s",
            "minimum time between two captures of a large file; proportionally longer for a file over 50 MB",
        ),
        Setting("artifacts.versions", parse_count, 3, "number of versions of a large file whose content is kept"),
        Setting(
            "memory.granularity",
            one_of("quarterly", "monthly"),
            "quarterly",
            "time that one partition of the memories covers",
        ),
        Setting(
            "transcripts",
            parse_switch,
            False,
            "also capture the conversations of the runtime",
            warning="conversations contain everything that the agent has read, "
            "also secrets that Lifeboat does not recognise",
        ),
        Setting(
            "transcripts_limit",
            parse_size,
            "50MB",
            "maximum total size of the captured conversations; the newest are captured",
        ),
        Setting("cron", parse_switch, False, "also capture the scheduled jobs in ZeroClaw's database"),
        Setting(
            "remote_memory",
            parse_switch,
            False,
            "also capture memories on a server (PostgreSQL, Qdrant, Aionforge)",
        ),
        Setting(
            "memory_server",
            parse_memory_server,
            "none",
            "address of the Aionforge server that stores an agent's memories, with the agent's id on that server",
        ),
        Setting(
            "held.share",
            parse_share,
            0.5,
            "hold a capture that removed at least this share of the memories, or at least 80% of the files",
        ),
        Setting(
            "held.minimum",
            parse_count,
            4,
            "hold a capture that removed fewer memories or files than this number only if it removed all of them",
        ),
        Setting(
            "review",
            one_of("off", "inform", "hold"),
            "off",
            "action when a capture replaced or removed over 40% of a memory file: none, report it, or hold it",
        ),
        Setting("retention.all", parse_duration, "24h", "keep every sequence up to this age"),
        Setting("retention.hourly", parse_duration, "7d", "keep one older sequence per hour, up to this age"),
        Setting(
            "retention.daily",
            parse_duration,
            "90d",
            "keep one older sequence per day, up to this age, and one per week after that",
        ),
        Setting("vault.max_size", parse_size, "10GB", "maximum size of the vault of an agent"),
        Setting("vault.min_free", parse_size, "1GB", "free space that Lifeboat leaves on the disk", per_agent=False),
        Setting(
            "purge.keep_out_days",
            parse_days,
            30,
            "captures search for a purged text until the workspace has not contained it for this number of days",
            per_agent=False,
        ),
        Setting(
            "purge.again",
            one_of("cut", "notice"),
            "cut",
            "what captures do with a purged value that returns in another form: remove it (cut), or only "
            "report it (notice)",
            per_agent=False,
        ),
        Setting("verify.every", parse_positive_duration, "24h", "verify a sample of the newest sequence this often"),
        Setting("verify.whole_every", parse_positive_duration, "30d", "verify every kept sequence this often"),
        Setting(
            "overdue.after",
            parse_positive_duration,
            "24h",
            "time without a verified copy after which an agent is overdue; sleep of the machine does not count",
        ),
        Setting(
            "defer.above",
            parse_size,
            "5MB",
            "delay larger transfers on a metered network or while the machine saves battery power",
            per_agent=False,
        ),
        Setting(
            "network.metered",
            one_of("auto", "yes", "no"),
            "auto",
            "treat the network as metered: yes, no, or as the system reports (auto)",
            per_agent=False,
        ),
        Setting(
            "notify.desktop",
            parse_switch,
            True,
            "show a desktop notification when something needs you (requires the extra `notify`)",
            per_agent=False,
        ),
        Setting(
            "ntfy.url",
            parse_address,
            "none",
            "URL of the ntfy topic for notifications",
            per_agent=False,
            private=True,
        ),
        Setting(
            "ping.url",
            parse_address,
            "none",
            "URL that Lifeboat requests while all is well; a monitor at that URL alerts you when the requests stop",
            per_agent=False,
            private=True,
        ),
        Setting(
            "ping.every", parse_positive_duration, "1h", "time between two requests to `ping.url`", per_agent=False
        ),
        Setting("metrics.file", parse_path, "none", "path of a text file for Prometheus metrics", per_agent=False),
        Setting("dashboard.theme", one_of(*THEMES), THEMES[0], "colours of the dashboard", per_agent=False),
        Setting(
            "dashboard.ascii",
            one_of("auto", "yes", "no"),
            "auto",
            "draw the dashboard with ASCII characters only; auto: if the terminal supports no other characters",
            per_agent=False,
        ),
        Setting("key_command", parse_command, "none", "command that prints the 24 words of your key", per_agent=False),
    )
}


def find_setting(name: str) -> Setting:
    """Return a setting by name. Raises ConfigError.UNKNOWN_SETTING."""
    if name not in SETTINGS:
        raise ConfigError.UNKNOWN_SETTING(f"unknown setting {name!r}; the settings are {', '.join(SETTINGS)}")
    return SETTINGS[name]
