"""Every kind of remote there is, empty, for tests of what has to hold for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.remote.remote_contract import Remote, RemoteDescription
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.in_process_remote import InProcessRemote

IN_PROCESS, HTTP, SEALED_FOLDER, PLAIN_FOLDER = "in process", "HTTP", "sealed folder", "plain folder"
KINDS = (IN_PROCESS, HTTP, SEALED_FOLDER, PLAIN_FOLDER)


@contextlib.contextmanager
def remote_of(kind: str, folder: Path, context: Context) -> Iterator[Remote]:
    """A remote in a new folder, as `context`, the home of the agent, uses it."""
    if kind == IN_PROCESS:
        key = folder.with_name(f"{folder.name}.key")
        with Endpoint.create(folder, key_source=f"file:{key}") as made:
            space = made.space(made.add_tenant("home").id)
            yield InProcessRemote(space, RemoteDescription(made.id, "in process", "0", False))
        return
    if kind == HTTP:
        with running_endpoint(folder, plain=True) as running:
            config = added(context, running)
            with contextlib.closing(open_remote(context, config)) as remote:
                yield remote
        return
    folder.mkdir()
    config = RemoteConfig("stick", folder.as_uri(), sealed=kind == SEALED_FOLDER)
    with contextlib.closing(open_remote(context, config)) as remote:
        yield remote


def added(context: Context, running: RunningEndpoint, name: str = "home") -> RemoteConfig:
    """A running endpoint as a remote of a home, with its first token."""
    with running.client() as client:
        about = client.get("/version").json()
    remote_registry.save_token(context, name, running.token)
    return remote_registry.save_remote(context, RemoteConfig(name, running.url, id=about["id"], pin=running.pin))
