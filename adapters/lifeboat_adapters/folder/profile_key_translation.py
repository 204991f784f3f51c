"""Translate keys of model providers from other runtimes to the variables that a profile names."""

from __future__ import annotations

from collections.abc import Sequence

from lifeboat_adapters.contract import Installation, refuse_credentials
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
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.secrets.dotenv_leaves import dotenv_line
from lifeboat_alf.common.reason_codes import Reason

NOT_A_LINE = Reason(CredentialRefusal.NOT_A_LINE)


def translate_provider_keys(
    profile: FolderProfile, installation: Installation, credentials: Sequence[ForeignCredential]
) -> TranslatedCredentials:
    """Return the keys of providers as variables of the profile's dotenv file. All other credentials have no place."""
    keys, path = profile.keys, profile.raw + profile.keys.file
    if not keys.file:
        return refuse_credentials(installation, credentials)
    no_place = Reason(CredentialRefusal.NO_PLACE, runtime=installation.runtime)
    values: dict[str, str] = {}

    def put(use: CredentialUse, credential: ForeignCredential) -> Place:
        variable = keys.variables.get(use.name.lower())
        if use.purpose is not CredentialPurpose.PROVIDER or variable is None:
            raise NoPlaceForCredential(no_place)
        # Not every reader of dotenv files knows back quotes, the only ones around a value with a single quote.
        if "'" in credential.value or dotenv_line(variable, credential.value) is None:
            raise NoPlaceForCredential(NOT_A_LINE)
        if values.setdefault(variable, credential.value) != credential.value:
            raise NoPlaceForCredential(TAKEN)
        return path, (variable,)

    places, reasons = place_credentials(credentials, _order, put)
    lines = b"".join(dotenv_line(name, value) or b"" for name, value in values.items())
    return TranslatedCredentials({path: lines} if lines else {}, places, reasons)


def _order(each: tuple[CredentialUse, ForeignCredential]) -> tuple[bool, str, str, str]:
    """Order the usual account of a provider before others."""
    use, credential = each
    return use.account != DEFAULT, use.name, use.account, credential.id
