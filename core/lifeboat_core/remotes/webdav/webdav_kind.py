"""The kind of remotes that are folders of WebDAV servers: `webdav+https://HOST/PATH`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_core.remotes.contract import CredentialQuestion, RemoteConfig, RemoteKind
from lifeboat_core.remotes.probed_store import writers_sentences
from lifeboat_core.remotes.probed_store.add_command import CREDENTIALS, make_add_command
from lifeboat_core.remotes.webdav.webdav_address import WORDS, parse_webdav_address
from lifeboat_core.texts.human_text import quote_argument

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote

RACES = 3
"""How often the probe lets several writers replace a file at once: servers check a condition before they write."""


class WebdavKind(RemoteKind):
    """A folder of a WebDAV server, as `probed_files` describes it. The token of such a remote is user name and
    password."""

    name = "webdav"
    is_sealed_by_default = True
    identifies_to_users = True
    has_credentials = True
    needs_credentials = True
    credential_questions = (
        CredentialQuestion("The user name", is_hidden=False),
        CredentialQuestion("The password", is_hidden=True),
    )
    access_advice = f"give user name and password of the WebDAV server: lifeboat remote add NAME URL {CREDENTIALS}"

    def check_url(self, url: str) -> str:
        return parse_webdav_address(url).url

    def read_credentials(self, url: str, text: str) -> str:
        from lifeboat_core.remotes.webdav import webdav_credentials

        return webdav_credentials.read_credentials(text)

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        from lifeboat_core.remotes.probed_store.open_probed_log import open_probed_log
        from lifeboat_core.remotes.webdav.webdav_client import WebdavClient
        from lifeboat_core.remotes.webdav.webdav_credentials import parse_token
        from lifeboat_core.remotes.webdav.webdav_problems import WebdavCommands
        from lifeboat_vault.errors import RemoteDenied

        address = parse_webdav_address(config.url)
        add = make_add_command(config, address.url, has_credentials=True)
        access = f"lifeboat remote token {quote_argument(config.name)} --token-stdin" if config.id else add
        if token is None:
            raise RemoteDenied(f"no user name and password are stored for {config.name}", fix=access)
        client = WebdavClient(address, parse_token(token), WebdavCommands(add, access))
        return open_probed_log(context, client, config, kind=self.name, place=address.url, races=RACES)

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "The WebDAV folder is not encrypted by this machine. The server's operator can read everything except "
                "credentials, which only your key opens."
            )
        return (
            "The WebDAV folder is encrypted. Without your key, only the number of sequences, their times and their "
            "sizes can be read."
        )

    def describe_store(self, config: RemoteConfig) -> list[str]:
        kept = (
            "The server may keep deleted files in its trash or as versions, which a purge does not remove: empty the "
            "trash after a purge."
        )
        return [*writers_sentences.describe_several(config, WORDS), *self.describe_limits(config), kept]

    def describe_limits(self, config: RemoteConfig) -> list[str]:
        return writers_sentences.describe_turns(config, WORDS)

    def describe_access(self, context: Context, config: RemoteConfig, token: str | None) -> str:
        return "user name and password are stored for this remote" if token else ""

    def needs_network(self, url: str) -> bool:
        return not parse_webdav_address(url).is_on_this_machine

    def may_keep_token(self, known: RemoteConfig, moved: RemoteConfig) -> bool:
        """The server learns the password, so it must be the same one."""
        return parse_webdav_address(known.url).server == parse_webdav_address(moved.url).server


REMOTE_KIND = WebdavKind()
