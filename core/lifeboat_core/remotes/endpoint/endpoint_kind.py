"""The kind of remotes that are sync endpoints over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_core.home.context import Context
from lifeboat_core.network import http_addresses
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind

if TYPE_CHECKING:
    from lifeboat_vault.remote.remote_contract import Remote


class EndpointKind(RemoteKind):
    """An endpoint: addresses with https:// and, on this machine, http://."""

    name = "endpoint"
    needs_token = True
    is_service = True
    access_advice = "the operator of the endpoint creates a token: lifeboat endpoint token add TENANT --data DIR"

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
                "The operator can read nothing: this machine encrypts everything for your key. Sizes, times and "
                "the id of "
                "each agent are visible."
            )
        return (
            "The operator can read memories, identity, files and names. Credentials stay sealed for your key; only "
            "their services, labels, types and times are visible."
        )

    def needs_network(self, url: str) -> bool:
        return not http_addresses.is_loopback(http_addresses.parse_host(url))

    def waits_for_owner(self, config: RemoteConfig) -> bool:
        return not config.sealed

    def describe_trust(self, config: RemoteConfig) -> str:
        if http_addresses.is_plain_http(config.url):
            return ""
        return (
            "the pinned certificate authority signed the certificate"
            if config.pin
            else "a certificate authority that this operating system trusts signed the certificate"
        )

    def may_keep_token(self, known: RemoteConfig, moved: RemoteConfig) -> bool:
        is_same_authority = bool(known.pin) and known.pin == moved.pin and not http_addresses.is_plain_http(moved.url)
        return is_same_authority or super().may_keep_token(known, moved)


REMOTE_KIND = EndpointKind()
