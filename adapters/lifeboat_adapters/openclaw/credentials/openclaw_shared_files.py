"""Select one agent's bytes of a file of the state directory, with the shares from `openclaw_share`."""

from __future__ import annotations

import hashlib

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.openclaw import config_includes, openclaw_config, openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_share
from lifeboat_adapters.openclaw.credentials.openclaw_share import OpenClawShare, Place
from lifeboat_adapters.openclaw.layers import subagents
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

UNKNOWN = "unknown"
"""The mark of a configuration that cannot be read. Then the owner of the common files is unknown, so none of them is
captured."""


def openclaw_sharing_mark(values: JsonObject, agent_id: str) -> str:
    """Return `Installation.sharing`: a digest of everything that determines the share of an agent."""
    share = openclaw_share.read_openclaw_share(values, agent_id)
    if share is None:
        return ""
    helpers = list(subagents.subagents_from_config(values, agent_id))
    return hashlib.sha256(json_codec.encode_json([share.facts(), helpers])).hexdigest()[:32]


def share_of_openclaw_file(installation: Installation, path: str, data: bytes) -> bytes | None:
    """Implement `Adapter.share`. If part of a file is left out, the rest is always written in the same way."""
    home = openclaw_paths.in_home(path)
    if home is None or not installation.sharing or installation.config is None or installation.state_dir is None:
        return data
    whole = config_includes.read_resolved_config(installation.config, installation.state_dir)
    mine = openclaw_share.read_openclaw_share(whole.values, installation.native_id)
    return data if mine is None else _share_of_file(home, data, mine, whole.inside(installation.state_dir))


def _share_of_file(home: str, data: bytes, mine: OpenClawShare, included: dict[str, Place]) -> bytes | None:
    if home.startswith(openclaw_paths.CHANNEL_LOGINS):
        return data if openclaw_share.has_login(home, mine) else None
    if home == ".env":
        return openclaw_share.share_of_variables(data, mine) or None
    if home == openclaw_paths.SECRETS:
        kept = openclaw_share.share_of_secrets(_parsed(data), mine)
        return openclaw_share.share_as_json(kept) if kept else None
    if home == openclaw_paths.CONFIG or home in included:
        return openclaw_share.share_as_json(openclaw_share.share_of_config(_parsed(data), mine, included.get(home, ())))
    return data


def _parsed(data: bytes) -> JsonObject:
    try:
        return openclaw_config.parse_openclaw_config(data)
    except (ValueError, RecursionError) as error:
        raise UnparsableSecrets(str(error)) from None
