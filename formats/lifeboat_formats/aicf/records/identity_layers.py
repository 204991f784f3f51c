"""Identity and principals of an agent from its files: the file that a restore wrote, and the users that sessions name
(ALF §3.2, §3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_alf.common.json_shapes import as_object, objects_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf import aicf_workspace
from lifeboat_formats.aicf.aicf_mapping import RAW, RUNTIME
from lifeboat_formats.aicf.records import extension, file_memories
from lifeboat_formats.aicf.syntax.document import parse_document
from lifeboat_formats.aicf.syntax.document_parts import AicfDocument, ItemKind
from lifeboat_formats.interchange.errors import SourceRefused

FILE = "identity.aicf"

_STAMPS = ("id", "agent_id", "version", "updated_at", "raw_source")
_PROFILE_STAMPS = ("id", "principal_id", "agent_id", "version", "updated_at", "raw_source")
_NOBODY = frozenset(("", "unknown"))


def strip_stamps(document: JsonObject) -> JsonObject:
    """Return an identity or principals document without the fields that place it in a timeline."""
    kept = {name: value for name, value in document.items() if name not in _STAMPS}
    listed = kept.get("principals")
    if isinstance(listed, list):
        kept["principals"] = [_principal(one) for one in listed if isinstance(one, dict)]
    return kept


def _principal(one: JsonObject) -> JsonObject:
    profile = one.get("profile")
    if not isinstance(profile, dict):
        return one
    return {**one, "profile": {name: value for name, value in profile.items() if name not in _PROFILE_STAMPS}}


def read_stated_documents(text: str) -> dict[str, JsonObject]:
    """Return the identity and principals documents in a file, by section name."""
    if not text:
        return {}
    document = parse_document(text, name=FILE)
    found = {
        name: extension.read_extension_document(document, name) for name in (extension.IDENTITY, extension.PRINCIPALS)
    }
    return {name: said for name, said in found.items() if said is not None}


def is_placeholder(said: dict[str, JsonObject]) -> bool:
    """Return whether documents hold only what a capture of plain files generates: a name, and the users of sessions."""
    identity = said.get(extension.IDENTITY, {})
    names = as_object(identity.get("structured")).keys()
    is_bare = (
        identity.get("source_format", RUNTIME) == RUNTIME and not identity.get("prose") and set(names) <= {"names"}
    )
    principals = objects_in(said.get(extension.PRINCIPALS, {}).get("principals"))
    return is_bare and all(_is_of_a_session(one) for one in principals)


def _is_of_a_session(one: JsonObject) -> bool:
    structured = as_object(as_object(one.get("profile")).get("structured"))
    return one.get("id") == file_memories.principal_id(str(structured.get("name", "")))


def _text_of(files: AgentFiles, path: str) -> str:
    return (files.read(path) or b"").decode("utf-8", "replace")


def _told(files: AgentFiles, name: str) -> JsonObject:
    try:
        return read_stated_documents(_text_of(files, RAW + FILE)).get(name, {})
    except SourceRefused:
        return {}


def derive_identity(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """Derive the identity: the file's document over the previous one, or at least a name."""
    told = _told(files, extension.IDENTITY)
    before = previous or {"structured": {"names": {"primary": context.installation.name}}, "source_format": RUNTIME}
    return {**before, **told}


def derive_principals(files: AgentFiles, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """Derive the principals: those in the file, those known before, and the users of sessions, each once."""
    told = _told(files, extension.PRINCIPALS)
    before = previous or {}
    listed = {str(one.get("id")): one for one in _listed(before)}
    for one in _listed(told):
        known = listed.get(str(one.get("id")), {})
        listed[str(one.get("id"))] = {**known, **one, **_profile(known, one)}
    for user in _users(files):
        listed.setdefault(file_memories.principal_id(user), _person(user))
    if not listed and previous is None:
        return None
    rest = {name: value for name, value in told.items() if name != "principals"}
    return {**before, **rest, "principals": list(listed.values())}


def _listed(document: JsonObject) -> list[JsonObject]:
    return objects_in(document.get("principals"))


def _profile(known: JsonObject, one: JsonObject) -> JsonObject:
    """Merge a stated profile into the known one, so that the known stamps stay."""
    if not isinstance(one.get("profile"), dict):
        return {}
    return {"profile": {**as_object(known.get("profile")), **one["profile"]}}


def _person(user: str) -> JsonObject:
    structured = {"name": user, "principal_type": "human"}
    return {
        "id": file_memories.principal_id(user),
        "principal_type": "human",
        "agent_id": None,
        "profile": {"structured": structured},
    }


def _users(files: AgentFiles) -> Iterator[str]:
    """Yield the `user_id` of every session, ordered by file and line."""
    for path in files.paths(RAW):
        if is_principals_source(path):
            yield from list_users(_text_of(files, path))


def list_users(text: str) -> list[str]:
    """Return the users that the sessions of a file name."""
    if "user_id" not in text:
        return []
    try:
        return _users_of(parse_document(text))
    except SourceRefused:
        return []


def _users_of(document: AicfDocument) -> list[str]:
    pairs = (item for section in document.named("SESSION") for item in section.of_kind(ItemKind.PAIR))
    named = (item.value.strip() for item in pairs if item.key == "user_id")
    return [user for user in dict.fromkeys(named) if user not in _NOBODY]


def is_principals_source(path: str) -> bool:
    """Return whether principals are derived from a raw file."""
    return path.startswith(RAW) and aicf_workspace.is_readable(path)


DERIVATIONS: Sequence[Derivation] = (
    Derivation("identity", (RAW + FILE).__eq__, derive_identity),
    Derivation("principals", is_principals_source, derive_principals),
)


def build_principals(document: AicfDocument) -> JsonObject | None:
    """Return the principals document of a single file: stated principals and users of its sessions. None if it
    names no user."""
    told = extension.read_extension_document(document, extension.PRINCIPALS) or {}
    listed = {str(one.get("id")): one for one in _listed(told)}
    for user in _users_of(document):
        listed.setdefault(file_memories.principal_id(user), _person(user))
    return {**told, "principals": list(listed.values())} if listed else None
