"""Variables of the environment that hold a path.

A relative path means another place in each working directory, and a daemon works in another directory than the shell
that started it. Those of Lifeboat are refused then, as the XDG specification asks for its own. Those of a runtime mean
what they mean in the directory of the command, so every process that it starts is given the whole path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from lifeboat_core.errors import HomeError
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.safe_text import name_text

HOME = "LIFEBOAT_HOME"
_DATA_HOME = "XDG_DATA_HOME"
_OWN = (HOME, "LIFEBOAT_KEY_FILE", "LIFEBOAT_PASSPHRASE_FILE", "LIFEBOAT_ENDPOINT_DATA")
_OF_RUNTIMES = (
    *("OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_WORKSPACE_DIR"),
    *("ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE", "HOMEBREW_PREFIX"),
    *("AIMEM_FOLDER", "AIONFORGE_DATA_DIR", "ALF_HOME"),
)


def refuse_relative_paths(environment: Mapping[str, str]) -> None:
    """Raise HomeError.RELATIVE_PATH for a variable of Lifeboat that names no whole path; `~` stands for the user's own
    folder."""
    names = _OWN if environment.get(HOME) else (*_OWN, _DATA_HOME)
    for name in names:
        value = environment.get(name, "")
        if value.strip() and not os.path.isabs(os.path.expanduser(value)):
            raise HomeError.RELATIVE_PATH(
                f"the variable {name} must contain an absolute path, but is {name_text(value)}",
                fix=f"export {name}={quote_argument(os.path.abspath(value))}",
            )


def with_whole_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which each path of a runtime is whole, as seen from the working directory."""
    found = {name: environment[name] for name in _OF_RUNTIMES if environment.get(name, "").strip()}
    relative = {name: value for name, value in found.items() if not value.strip().startswith("~")}
    return {**environment, **{name: os.path.abspath(value.strip()) for name, value in relative.items()}}
