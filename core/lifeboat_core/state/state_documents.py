"""Documents of a state. Another program may have written them: items with an unknown shape are skipped."""

from __future__ import annotations

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State

WORKSPACE_MODE = "workspace_mode"
"""In the manifest: the nine bits of the workspace's own rights as three octal digits; absent for 755."""
HOME_MODE = "runtime_folder_mode"
"""In the manifest: the same of the runtime's own folder; absent for 700, which its programs make it with."""

RIGHTS, ALL = "rights", "all"
"""In the manifest, of an agent whose every state keeps all nine bits: an entry without `mode` has the usual rights."""


PROFILES = "runtime_profiles"
"""In the manifest: the text of each folder profile of the user that describes a runtime of the agent, by runtime."""


def load_profiles(state: State) -> dict[str, str]:
    """Return the texts of the folder profiles in a state, by runtime."""
    listed = load_document(state, archive_layout.MANIFEST).get(PROFILES)
    texts = listed if isinstance(listed, dict) else {}
    return {runtime: text for runtime, text in texts.items() if isinstance(text, str)}


def keeps_all_rights(state: State) -> bool:
    """Return whether the rights of every entry are known. Earlier releases kept two bits alone."""
    return load_document(state, archive_layout.MANIFEST).get(RIGHTS) == ALL


def find_workspace_mode(state: State) -> int:
    """Return the mode with which a workspace is created."""
    return _mode(state, WORKSPACE_MODE, "755")


def find_home_mode(state: State) -> int:
    """Return the mode with which the runtime's own folder is created."""
    return _mode(state, HOME_MODE, "700")


def _mode(state: State, name: str, usual: str) -> int:
    written = load_document(state, archive_layout.MANIFEST).get(name, usual)
    return entry_metas.mode_of(entry_metas.check_meta(archive_layout.MANIFEST, {"type": "folder", "mode": written}))


def parse_document(data: bytes | None) -> JsonObject:
    """Return the document in these bytes, an empty one for None."""
    document = {} if data is None else json_codec.decode_json(data)
    return document if isinstance(document, dict) else {}


def load_document(state: State, path: str) -> JsonObject:
    """Return a document of a state, an empty one if there is none."""
    return parse_document(None if state.entry(path) is None else state.body(path))


def list_credentials(document: JsonObject) -> list[JsonObject]:
    """Return the credential records that have an id."""
    listed = document.get("credentials")
    return [each for each in listed if isinstance(each, dict) and "id" in each] if isinstance(listed, list) else []


def load_credentials(state: State) -> dict[str, JsonObject]:
    """Return the credential records of a state by id."""
    return {str(each["id"]): each for each in list_credentials(load_document(state, archive_layout.CREDENTIALS))}


def list_capabilities(identity: JsonObject) -> list[JsonObject]:
    """Return the agent's own capabilities that have a name."""
    structured = identity.get("structured")
    listed = structured.get("capabilities") if isinstance(structured, dict) else None
    found = listed if isinstance(listed, list) else []
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("name"), str)]


def filter_texts(value: object) -> list[str]:
    """Return the texts in what should be a list of them."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
