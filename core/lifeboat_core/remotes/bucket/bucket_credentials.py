"""Credentials of buckets: those that the user gave, the environment, a profile of the AWS tools, or a role.

Given credentials are one line of JSON, kept where tokens of remotes are kept. Where none are found, the library asks
the identity of the machine or pod.
"""

from __future__ import annotations

import base64
import configparser
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes.bucket.bucket_address import AZURE, GOOGLE, S3

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

GOOD_FOR = timedelta(minutes=5)
"""How long the keys of a profile are used before its file is read again: a tool may have replaced them."""
ADVICE: Mapping[str, str] = {
    S3: "give an access key with --credentials-stdin, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a "
    "profile to ~/.aws/credentials",
    GOOGLE: "give the JSON of a service account with --credentials-stdin, or set GOOGLE_APPLICATION_CREDENTIALS",
    AZURE: "give the account key with --credentials-stdin, or set AZURE_STORAGE_ACCOUNT_KEY",
}
_WORDS: Mapping[str, str] = {
    S3: "an access key id and a secret access key, in two lines, or a profile as the AWS tools write it",
    GOOGLE: "the JSON of a service account",
    AZURE: "the account key, in one line",
}
_FIX = "lifeboat remote add --help"
_ID, _SECRET, _SESSION = "aws_access_key_id", "aws_secret_access_key", "aws_session_token"


def read_credentials(scheme: str, text: str) -> str:
    """Return credentials that a user gave as one line of JSON. Raises BadSetting, which repeats nothing of them."""
    found = {S3: _read_s3, GOOGLE: _read_google, AZURE: _read_azure}[scheme](text.strip())
    if found is None:
        raise BadSetting(f"the credentials of {scheme}:// are {_WORDS[scheme]}", fix=_FIX)
    return json.dumps(found)


def _read_s3(text: str) -> dict[str, str] | None:
    if text.startswith("["):
        return _from_profile(text, None)
    if text.startswith("{"):
        return _from_json(text)
    words = text.split()
    return dict(zip((_ID, _SECRET, _SESSION), words, strict=False)) if len(words) in (2, 3) else None


def _from_json(text: str) -> dict[str, str] | None:
    """Read what `aws configure export-credentials` prints, or the form that is stored here."""
    names = {_ID: "AccessKeyId", _SECRET: "SecretAccessKey", _SESSION: "SessionToken"}
    document = _document(text)
    found = {name: document.get(name) or document.get(other) for name, other in names.items()}
    given = {name: value for name, value in found.items() if isinstance(value, str) and value}
    return given if {_ID, _SECRET} <= given.keys() else None


def _read_google(text: str) -> dict[str, Any] | None:
    document = _document(text)
    return document if "private_key" in document else None


def _read_azure(text: str) -> dict[str, str] | None:
    found = _document(text).get("account_key") if text.startswith("{") else text
    try:
        is_key = isinstance(found, str) and bool(base64.b64decode(found, validate=True))
    except ValueError:
        is_key = False
    return {"account_key": str(found)} if is_key else None


def _document(text: str) -> dict[str, Any]:
    """Return a JSON object, an empty one for any other text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def library_options(context: Context, scheme: str, given: str | None) -> dict[str, Any]:
    """Return the arguments of the library for the credentials in force, none for a role. Raises BadSetting (the
    stored ones cannot be used)."""
    if given is not None:
        kept = json.loads(read_credentials(scheme, given))
        if scheme == S3:
            return {"credential_provider": lambda: _as_library(kept, None)}
        if scheme == GOOGLE:
            return {"service_account_key": json.dumps(kept)}
        # As an argument, the key would come after a token of the environment.
        return {"credential_provider": lambda: {"access_key": kept["account_key"], "expires_at": None}}
    provider = _find_s3(context) if scheme == S3 else None
    return {} if provider is None else {"credential_provider": provider}


def describe_source(context: Context, scheme: str, given: str | None) -> str:
    """Return where the credentials come from, for people."""
    if given is not None:
        return "stored for this remote"
    if scheme == S3 and context.environment.get(_ID.upper()):
        return "from the environment of this command; the environment of the daemon may differ"
    if scheme == S3 and _find_s3(context) is not None:
        return f"from the profile [{_profile(context)}] in {_file(context)}"
    return "from the environment, or from the identity of this machine"


def _find_s3(context: Context) -> Callable[[], dict[str, Any]] | None:
    around = {name: context.environment.get(name.upper(), "") for name in (_ID, _SECRET, _SESSION)}
    if around[_ID] and around[_SECRET]:
        return lambda: _as_library(around, None)
    file, profile = _file(context), _profile(context)
    if _in_file(context.files, file, profile) is None:
        return None
    return lambda: _as_library(
        _in_file(context.files, file, profile) or {_ID: "", _SECRET: ""}, datetime.now(UTC) + GOOD_FOR
    )


def _file(context: Context) -> Path:
    named = context.environment.get("AWS_SHARED_CREDENTIALS_FILE")
    return Path(named) if named else context.user_home / ".aws/credentials"


def _profile(context: Context) -> str:
    return context.environment.get("AWS_PROFILE") or "default"


def _in_file(files: FileOperations, file: Path, profile: str) -> dict[str, str] | None:
    try:
        return _from_profile(read_all(files, file).decode("utf-8", "replace"), profile)
    except OSError:
        return None


def _from_profile(text: str, profile: str | None) -> dict[str, str] | None:
    """Return the keys of a profile, None for the only one there is."""
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    sections = parser.sections()
    name = profile if profile is not None else sections[0] if len(sections) == 1 else None
    if name not in sections:
        return None
    found = {key: parser[name].get(key, "") for key in (_ID, _SECRET, _SESSION)}
    return {key: value for key, value in found.items() if value} if found[_ID] and found[_SECRET] else None


def _as_library(found: Mapping[str, str], expires_at: datetime | None) -> dict[str, Any]:
    return {
        "access_key_id": found[_ID],
        "secret_access_key": found[_SECRET],
        "token": found.get(_SESSION) or None,
        "expires_at": expires_at,
    }
