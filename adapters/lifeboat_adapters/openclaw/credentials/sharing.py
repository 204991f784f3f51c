"""Which bytes of a file of the state folder are one agent's: the share of `shares`, found in the files themselves."""

from __future__ import annotations

import hashlib

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credentials import UnparsableSecrets
from lifeboat_adapters.openclaw import config, includes, paths
from lifeboat_adapters.openclaw.credentials import shares
from lifeboat_adapters.openclaw.credentials.shares import Place, Share
from lifeboat_adapters.openclaw.layers import subagents
from lifeboat_alf import codec
from lifeboat_alf.json_types import JsonObject

UNKNOWN = "unknown"
"""The mark of a configuration that cannot be read: nobody can say whose the rest is, so none of it is taken."""


def mark(values: JsonObject, agent_id: str) -> str:
    """See `contract.Installation.sharing`: what the share of an agent, and who of the others helps it, follows from."""
    share = shares.share_of(values, agent_id)
    if share is None:
        return ""
    helpers = list(subagents.from_config(values, agent_id))
    return hashlib.sha256(codec.encode([share.facts(), helpers])).hexdigest()[:32]


def share(installation: Installation, path: str, data: bytes) -> bytes | None:
    """See `contract.Adapter.share`. A file of which a part is left out is written anew, always in the same way."""
    home = paths.in_home(path)
    if home is None or not installation.sharing or installation.config is None or installation.state_dir is None:
        return data
    whole = includes.read_or_backup(installation.config, installation.state_dir)
    mine = shares.share_of(whole.values, installation.native_id)
    return data if mine is None else _share_of_file(home, data, mine, whole.inside(installation.state_dir))


def _share_of_file(home: str, data: bytes, mine: Share, included: dict[str, Place]) -> bytes | None:
    if home.startswith(paths.CHANNEL_LOGINS):
        return data if shares.has_login(home, mine) else None
    if home == ".env":
        return shares.of_variables(data, mine) or None
    if home == paths.SECRETS:
        kept = shares.of_secrets(_parsed(data), mine)
        return shares.written(kept) if kept else None
    if home == paths.CONFIG or home in included:
        return shares.written(shares.of_config(_parsed(data), mine, included.get(home, ())))
    return data


def _parsed(data: bytes) -> JsonObject:
    try:
        return config.parse(data)
    except (ValueError, RecursionError) as error:
        raise UnparsableSecrets(str(error)) from None
