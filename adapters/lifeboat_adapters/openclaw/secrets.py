"""Which files of OpenClaw hold credentials, and whom each is for (ALF §3.4.2, §8.3)."""

from __future__ import annotations

import re
from dataclasses import replace

from lifeboat_adapters.contract import Secret
from lifeboat_adapters.openclaw import paths
from lifeboat_adapters.secrets import finder, rules
from lifeboat_adapters.secrets.leaves import Leaf

GATEWAY = "openclaw-gateway"

_CONFIG = re.compile(r"openclaw\.json(\.bak.*)?")
_DOTENV = re.compile(r"\.env(\.(?!example|sample|template)[\w.-]+)?")
_NAMED_BY_THE_NEXT = (
    ("models", "providers"),
    ("channels",),
    ("plugins", "entries"),
    ("skills", "entries"),
    ("mcp", "servers"),
)
_NAMED_AFTER_ITSELF = {("gateway",): GATEWAY, ("memory", "search"): "memory-search", ("memorySearch",): "memory-search"}


def find(path: str, data: bytes) -> list[Secret] | None:
    """Spans to cut in a file, by archive path; None when such a file never holds secrets of its own.

    References (`{source, provider, id}`) say where a secret is and stay. Raises UnparsableSecrets.
    """
    if paths.in_workspace(path) is None and paths.in_home(path) is None:
        return None
    name = path.rpartition("/")[2]
    if _CONFIG.fullmatch(name):
        # A backup of the configuration holds the same secrets: the same label makes them the same credentials.
        return [_labelled(paths.CONFIG, secret) for secret in finder.secrets_in_json5(data, service_of)]
    if _DOTENV.fullmatch(name):
        return [_labelled(name, secret) for secret in finder.secrets_in_dotenv(data)]
    return None


def service_of(leaf: Leaf) -> str:
    """The service a configured secret is for, from its place in the configuration."""
    for place, service in _NAMED_AFTER_ITSELF.items():
        if leaf.path[: len(place)] == place:
            return service
    for place in _NAMED_BY_THE_NEXT:
        named = leaf.path[len(place)] if leaf.path[: len(place)] == place and len(leaf.path) > len(place) + 1 else None
        if isinstance(named, str):
            return named
    return rules.service_of(leaf)


def _labelled(name: str, secret: Secret) -> Secret:
    return replace(secret, label=f"{name}: {secret.label}")
