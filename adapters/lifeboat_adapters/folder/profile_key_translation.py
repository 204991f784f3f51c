"""Translate keys of model providers from other runtimes to the variables, or places in JSON, that a profile names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lifeboat_adapters.additive_merging import MissingValues, merge_dotenv
from lifeboat_adapters.contract import HomeFileMerge, Installation, MergedHomeFile, refuse_credentials
from lifeboat_adapters.credential_purposes import (
    DEFAULT,
    TAKEN,
    CredentialPurpose,
    CredentialUse,
    NoPlaceForCredential,
    place_credentials,
)
from lifeboat_adapters.credential_types import (
    CredentialRefusal,
    ForeignCredential,
    Place,
    TranslatedCredentials,
)
from lifeboat_adapters.folder.folder_profile import FolderProfile, ProviderKeys
from lifeboat_adapters.json5_editing import edit_json5, parse_json5_object
from lifeboat_adapters.secrets.dotenv_leaves import dotenv_line
from lifeboat_adapters.secrets.json5_leaves import scan_json5
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

NOT_A_LINE = Reason(CredentialRefusal.NOT_A_LINE)


def translate_provider_keys(
    profile: FolderProfile, installation: Installation, credentials: Sequence[ForeignCredential]
) -> TranslatedCredentials:
    """Return the keys of providers as values of the profile's file for them. All other credentials have no place."""
    keys, path = profile.keys, keys_path(profile)
    if not keys.file or (path.startswith(profile.raw_home) and installation.state_dir is None):
        return refuse_credentials(installation, credentials)
    no_place = Reason(CredentialRefusal.NO_PLACE, runtime=installation.runtime)
    values: dict[str, str] = {}

    def put(use: CredentialUse, credential: ForeignCredential) -> Place:
        variable = keys.names.get(use.name.lower())
        if use.purpose is not CredentialPurpose.PROVIDER or variable is None:
            raise NoPlaceForCredential(no_place)
        # Not every reader of dotenv files knows back quotes, the only ones around a value with a single quote.
        if not keys.is_json and ("'" in credential.value or dotenv_line(variable, credential.value) is None):
            raise NoPlaceForCredential(NOT_A_LINE)
        if values.setdefault(variable, credential.value) != credential.value:
            raise NoPlaceForCredential(TAKEN)
        return path, keys.place_of(variable)

    places, reasons = place_credentials(credentials, _order, put)
    data = _json_of(keys, values) if keys.is_json else _lines_of(values)
    return TranslatedCredentials({path: data} if values else {}, places, reasons)


def merge_provider_keys(profile: FolderProfile, merge: HomeFileMerge) -> MergedHomeFile | None:
    """Merge translated keys into the file of an installation; None for any other file. Raises ValueError when either
    does not parse."""
    keys = profile.keys
    # A file of the workspace may have come from another runtime, as an artifact.
    if not keys.file or merge.path not in (keys_path(profile), archive_layout.ARTIFACTS + keys.file):
        return None
    if not keys.is_json:
        return merge_dotenv(merge.found or b"", merge.wanted, merge.left_out)
    if not {leaf.path for leaf in scan_json5(merge.wanted)} <= {*map(keys.place_of, keys.names.values())}:
        return None  # the runtime's own file, as it was captured
    there = {} if merge.found is None else parse_json5_object(merge.found)
    missing = MissingValues(dict(merge.left_out), merge.left_out)
    missing.walk(there, parse_json5_object(merge.wanted), ())
    changed = edit_json5(b"{}\n" if merge.found is None else merge.found, missing.changes)
    return MergedHomeFile(changed.data, missing.decided, rewritten=changed.rewritten and bool(there))


def keys_path(profile: FolderProfile) -> str:
    """Return the archive path of the file with the keys."""
    is_around = profile.keys.file in profile.home_files
    return (profile.raw_home if is_around else profile.raw) + profile.keys.file


def _lines_of(values: Mapping[str, str]) -> bytes:
    return b"".join(dotenv_line(name, value) or b"" for name, value in values.items())


def _json_of(keys: ProviderKeys, values: Mapping[str, str]) -> bytes:
    made: JsonObject = {}
    for name, value in values.items():
        *above, last = keys.place_of(name)
        inner = made
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return json.dumps(made, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _order(each: tuple[CredentialUse, ForeignCredential]) -> tuple[bool, str, str, str]:
    """Order the usual account of a provider before others."""
    use, credential = each
    return use.account != DEFAULT, use.name, use.account, credential.id
