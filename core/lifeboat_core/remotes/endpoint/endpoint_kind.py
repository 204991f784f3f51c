"""Sync endpoints over HTTP as a kind of second copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_core.home.context import Context
from lifeboat_core.network import http_addresses
from lifeboat_core.remotes.contract import RemoteConfig

if TYPE_CHECKING:
    from lifeboat_vault.remote.remote_contract import Remote


class EndpointKind:
    """Addresses with https:// and, on this machine, http://."""

    def check_url(self, url: str) -> str:
        return http_addresses.normalize_address(url)

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        from lifeboat_core.remotes.endpoint.endpoint_calls import EndpointCalls
        from lifeboat_core.remotes.endpoint.endpoint_remote import EndpointRemote

        calls = EndpointCalls(context, config, token)
        if not config.sealed:
            return EndpointRemote(calls)
        from lifeboat_core.remotes.endpoint.endpoint_files import EndpointFiles
        from lifeboat_core.remotes.sealed.sealed_log_setup import open_log

        return open_log(context, EndpointFiles(calls), kind="endpoint", sealed=True, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        if config.sealed:
            return (
                "Whoever runs it can read nothing: everything is encrypted here for your key; sizes, times and the id "
                "of each agent show."
            )
        return (
            "Whoever runs it can read memory, identity, files and names; credentials stay sealed for your key, only "
            "their services, labels, types and times show."
        )


REMOTE_KIND = EndpointKind()
