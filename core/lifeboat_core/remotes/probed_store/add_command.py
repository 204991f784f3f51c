"""The command that adds a remote with the same options, or changes it if this home has it already."""

from __future__ import annotations

from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.texts.human_text import quote_argument

CREDENTIALS = "--credentials-stdin"


def make_add_command(config: RemoteConfig, url: str, *, has_credentials: bool) -> str:
    """Return the command. A known remote keeps its credentials."""
    options = {
        "--plain": not config.sealed,
        "--optional": config.optional,
        CREDENTIALS: has_credentials and not config.id,
    }
    words = ("lifeboat remote add", quote_argument(config.name or "NAME"), quote_argument(url))
    return " ".join((*words, *(option for option, is_given in options.items() if is_given)))
