"""Find the secrets of one captured file: those of the adapter, and those of files that any program may write."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.secrets.settings_files import find_settings_secrets
from lifeboat_alf.archive import archive_layout


def find_file_secrets(adapter: Adapter, path: str, data: bytes) -> list[FileSecret] | None:
    """Return the spans to cut in a file by its archive path, None for a file without secrets.

    A file of the workspace may be the agent's own, which a runtime need not know. If the adapter does not search it, it
    is searched as a credential file or settings file of any program. Raises UnparsableSecrets.
    """
    found = adapter.credentials.find(path, data) if adapter.credentials is not None else None
    if found is None and path.startswith((archive_layout.ARTIFACTS, archive_layout.raw_prefix(adapter.runtime))):
        return find_settings_secrets(path.rpartition("/")[2], data)
    return found
