"""Encrypt secrets in files of an archive for another installation.

An archive holds the decrypted value of a secret and its original spelling. With the key that it was encrypted with, the
original spelling is restored. With another key it is encrypted again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import CredentialRefusal, EncryptionKeyFile, ReencryptedFile, UnparsableSecrets
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.secrets import json5_leaves, toml_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption, zeroclaw_auth_profiles, zeroclaw_secrets
from lifeboat_alf.common.reason_codes import Reason

LOCKED = Reason(CredentialRefusal.LOCKED, runtime="ZeroClaw", key=zeroclaw_paths.SECRET_KEY)


def load_key_file(installation: Installation) -> EncryptionKeyFile | None:
    """Return the key beside the configuration, a new one when there is none, None when the installation does not
    encrypt or has no such folder. Raises BadSecretKey."""
    folder = installation.state_dir
    if folder is None:
        return None
    found = secret_encryption.read_key_file(folder)
    if found is not None:
        secret_encryption.parse_key_file(found)
        return EncryptionKeyFile(zeroclaw_paths.SECRET_KEY, found, is_new=False)
    return (
        EncryptionKeyFile(zeroclaw_paths.SECRET_KEY, secret_encryption.new_key(), is_new=True)
        if is_encryption_enabled(installation)
        else None
    )


def is_encryption_enabled(installation: Installation) -> bool:
    """Return whether an installation encrypts its secrets, which is the default."""
    if installation.state_dir is None:
        return False
    try:
        values = zeroclaw_config.read_zeroclaw_config(
            installation.config or installation.state_dir / zeroclaw_paths.CONFIG
        )
    except RuntimeConfigError:
        return True
    return zeroclaw_config.get_nested(values, "secrets", "encrypt") is not False


def reencrypt_file(
    installation: Installation,
    path: str,
    data: bytes,
    values: Mapping[Path, str],
    key: EncryptionKeyFile | None,
    *,
    translated: bool = False,
) -> ReencryptedFile:
    """Implement `CredentialSupport.reencrypt`."""
    name = path.removeprefix(zeroclaw_paths.HOME)
    if name not in (zeroclaw_paths.CONFIG, zeroclaw_paths.AUTH_PROFILES):
        return ReencryptedFile(data)
    secret = None if key is None else secret_encryption.parse_key_file(key.data)
    target = secret if is_encryption_enabled(installation) else None
    unreadable: dict[Path, Reason] = {}
    pieces: list[bytes] = []
    at = 0
    for leaf in _leaves(name, data):
        if not isinstance(leaf.value, str):
            continue
        spelled = _spelled(leaf, leaf.value, values.get(leaf.path), (secret, target), translated=translated)
        if spelled is None:
            unreadable[leaf.path] = LOCKED
        elif spelled != leaf.value:
            pieces += [data[at : leaf.start], string_literal(spelled)]
            at = leaf.end
    return ReencryptedFile(b"".join([*pieces, data[at:]]), unreadable)


def string_literal(text: str) -> bytes:
    """Return a string in a spelling that is valid in JSON and TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").encode("utf-8", "replace")


def _leaves(name: str, data: bytes) -> list[ParsedLeaf]:
    try:
        return toml_leaves.scan_toml(data) if name == zeroclaw_paths.CONFIG else json5_leaves.scan_json5(data)
    except UnparsableSecrets as error:
        raise ValueError(str(error)) from None


def _spelled(
    leaf: ParsedLeaf, found: str, value: str | None, keys: tuple[bytes | None, bytes | None], *, translated: bool
) -> str | None:
    """Return the spelling of a value in an installation, None for one that cannot be decrypted there. The first key
    decrypts, the second one encrypts; it is None when the installation does not encrypt."""
    key, target = keys
    if not secret_encryption.is_encrypted_secret(found):
        is_secret = translated and (
            zeroclaw_secrets.credential_type_of_setting(leaf) is not None
            or leaf.path[2:] in zeroclaw_auth_profiles.MEMBERS
        )
        return secret_encryption.encrypt_secret(found, target) if is_secret and target is not None and found else found
    if _opens(found, key):
        return found
    plain = _member(value, leaf)
    if plain is None or secret_encryption.is_encrypted_secret(plain):
        return None
    return plain if target is None else secret_encryption.encrypt_secret(plain, target)


def _opens(value: str, key: bytes | None) -> bool:
    try:
        secret_encryption.decrypt_secret(value, key)
    except secret_encryption.UnreadableSecret:
        return False
    return True


def _member(value: str | None, leaf: ParsedLeaf) -> str | None:
    """Return the part of a login at a place, or the whole value of another credential."""
    if value is None or leaf.path[2:] not in zeroclaw_auth_profiles.MEMBERS:
        return value
    try:
        members = json.loads(value)
    except (ValueError, RecursionError):
        return value
    member = members.get(str(leaf.path[2])) if isinstance(members, dict) else None
    return member if isinstance(member, str) else value
