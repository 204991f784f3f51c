"""`lifeboat endpoint rotate-key`: create new data keys, and change the source of the key that protects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.endpoint.endpoint_tenants import KEY_SOURCE, describe_key_backup
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_core.texts.human_text import count_text, quote_argument

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.maintenance.data_key_rotation import RotatedKeys


@click.command(
    name="rotate-key",
    short_help="Create new data keys, or change the key source.",
    epilog=format_examples(
        "lifeboat endpoint rotate-key --data /srv/lifeboat",
        "lifeboat endpoint rotate-key office --key-source keyring:office --data /srv/lifeboat",
    ),
)
@click.argument("tenant", required=False)
@KEY_SOURCE
@endpoint_command
def rotate_key(session: EndpointSession, tenant: str | None, key_source: str | None) -> int:
    """Create new data keys for a tenant, or for all. New data is encrypted with them. `lifeboat endpoint compact`, or a
    worker of a shared endpoint, re-encrypts the older data and destroys the old keys.

    With --key-source, the data keys are wrapped by the key in that source from now on. Without TENANT, this applies to
    the endpoint and to every tenant without its own key source.
    """
    with session.open() as endpoint:
        rotated, problems = _rotated(endpoint, tenant, key_source)
        has_workers = endpoint.engine.shared
    documents = [_document(one) for one in rotated]
    following = session.command(f"compact {quote_argument(tenant)}" if tenant else "compact")

    def text() -> None:
        session.output.line(f"{count_text(len(rotated), 'tenant has a new data key', 'tenants have new data keys')}.")
        if key_source is not None:
            session.output.line(f"The keys are protected by {key_source}: {describe_key_backup(key_source)}.")
        if has_workers:
            session.output.line(
                "The workers now encrypt the stored data again with the new keys, and then destroy the old keys."
            )
        else:
            session.output.verbatim(
                f"To encrypt the stored data again with the new keys and destroy the old ones: {following}"
            )
        for problem in problems:
            session.output.warn(problem)

    session.output.document({"tenants": documents, "problems": problems, "next": following}, text)
    return 1 if problems else 0


def _rotated(endpoint: Endpoint, named: str | None, source: str | None) -> tuple[list[RotatedKeys], list[str]]:
    """Rotate the keys. If one tenant cannot be moved, the endpoint's own source stays unchanged, and the next run moves
    the rest."""
    from lifeboat_endpoint.maintenance import data_key_rotation

    if named is not None:
        tenant = endpoint.control.tenant(named)
        rotated = data_key_rotation.rotate_keys(endpoint, tenant, source)
        if source is not None:
            endpoint.control.set_key_source(tenant.id, source)
        return [rotated], []
    tenants = [one for one in endpoint.control.tenants() if one.state == "active"]
    if source is None:
        return data_key_rotation.rotate_all(endpoint, tenants)
    done, problems = data_key_rotation.rotate_all(endpoint, [one for one in tenants if one.key_source is None], source)
    if not problems:
        data_key_rotation.move_endpoint_keys(endpoint, source)
    return done, problems


def _document(one: RotatedKeys) -> JsonObject:
    return {
        "tenant": one.tenant.name,
        "id": one.tenant.id,
        "key_id": one.key_id,
        "older": one.older,
        "key_source": one.source,
    }
