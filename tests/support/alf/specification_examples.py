"""Archives with documents as in the examples in the text of ALF 1.0, with invented values."""

from __future__ import annotations

import io
import json
import zipfile

from lifeboat_alf.common.json_types import JsonObject

AGENT_ID = "019b0000-0000-7000-8000-00000000a001"
OTHER_ID = "019b0000-0000-7000-8000-00000000a002"
PRINCIPAL_ID = "019b0000-0000-7000-8000-00000000b001"
CREDENTIAL_ID = "019b0000-0000-7000-8000-00000000c001"
RECORD_ID = "019b0000-0000-7000-8000-00000000d001"
OLDER_ID = "019b0000-0000-7000-8000-00000000d000"


def record() -> JsonObject:
    """Return a memory with every field of §3.1."""
    return {
        "id": RECORD_ID,
        "agent_id": AGENT_ID,
        "content": "Robin moved the garden plan to Friday.",
        "memory_type": "episodic",
        "category": "daily_log",
        "source": {
            "runtime": "openclaw",
            "runtime_version": "2026.9.6",
            "origin": "daily_log",
            "origin_file": "memory/2026-10-02.md",
            "extraction_method": "agent_written",
            "session_id": "session-7",
            "interaction_id": "interaction-3",
            "identity_version": 3,
        },
        "temporal": {
            "created_at": "2026-10-02T08:00:00Z",
            "updated_at": "2026-10-02T09:00:00Z",
            "observed_at": "2026-10-02T08:00:00Z",
            "valid_from": "2026-10-02T00:00:00Z",
            "valid_until": None,
            "last_accessed_at": "2026-10-03T08:00:00Z",
            "access_count": 2,
        },
        "status": "active",
        "supersedes": OLDER_ID,
        "confidence": 0.9,
        "entities": [{"name": "Robin", "type": "person", "role": "gardener"}],
        "tags": ["garden"],
        "namespace": "default",
        "related_records": [{"id": OLDER_ID, "relation": "elaborates"}],
        "raw_source_format": {"openclaw": {"line": 1}},
    }


def older() -> JsonObject:
    """Return the memory that `record` replaces."""
    temporal = {"created_at": "2026-10-01T08:00:00Z"}
    plain = {name: value for name, value in record().items() if name not in ("supersedes", "related_records")}
    return plain | {"id": OLDER_ID, "content": "The garden plan is due.", "status": "superseded", "temporal": temporal}


def identity() -> JsonObject:
    """Return §3.2.2 with the outer object of the text, and the roster of §3.2.4."""
    capability = {
        "name": "repository_reader",
        "description": "Reads repositories",
        "priority": 2,
        "portability": "host_dependent",
        "host_requirements": "A shell",
        "credential_ids": [CREDENTIAL_ID],
    }
    sub_agent = {
        "agent_id": None,
        "name": "Research",
        "description": "Looks things up",
        "capabilities": [{"name": "web_research", "description": "Finds sources", "priority": 1}],
        "model_hints": {"primary_model": "example/large", "last_model": "example/small"},
        "routing_hints": "For questions with several sources.",
        "status": "active",
        "last_invoked_at": "2026-10-01T11:00:00Z",
        "performance_notes": "Thorough.",
    }
    structured = {
        "names": {"primary": "Juniper", "nickname": "Juno", "full": "Juniper Assistant"},
        "role": "Garden assistant",
        "goals": ["Keep the garden alive"],
        "psychology": {
            "neural_matrix": {"creativity": 0.7},
            "personality_traits": {"framework": "OCEAN", "scores": {"openness": 0.8}},
            "moral_alignment": "Neutral Good",
            "mbti": "INFJ",
        },
        "linguistics": {
            "formality_level": 0.4,
            "verbosity": 0.5,
            "humor_level": 0.2,
            "slang_usage": False,
            "preferred_language": "en",
            "idiolect": {"catchphrases": [], "verbal_tics": [], "avoided_words": ["basically"]},
        },
        "capabilities": [capability],
        "sub_agents": [sub_agent],
        "aieos_extensions": {},
    }
    prose = {
        "soul": "# Juniper\n\nPatient.\n",
        "operating_instructions": "Water in the morning.\n",
        "identity_profile": "- Name: Juniper\n",
        "custom_blocks": {"boot_checklist": "Look outside.\n"},
    }
    inner = {
        "id": "019b0000-0000-7000-8000-00000000e001",
        "agent_id": AGENT_ID,
        "version": 3,
        "updated_at": "2026-10-01T09:00:00Z",
        "structured": structured,
        "prose": prose,
        "source_format": "openclaw",
        "raw_source": {},
    }
    return {"identity": inner}


def principals() -> JsonObject:
    """Return §3.3.1 with the profile of §3.3.3."""
    structured = {
        "name": "Robin",
        "principal_type": "human",
        "timezone": "Europe/Lisbon",
        "locale": "en-GB",
        "communication_preferences": {"tone": "casual", "response_length": "concise", "formatting": "plain"},
        "work_context": {"role": "Gardener", "company": "Example Gardens", "projects": ["Herbs"]},
        "relationships": [],
        "custom_fields": {},
    }
    profile = {
        "id": "019b0000-0000-7000-8000-00000000b002",
        "agent_id": AGENT_ID,
        "principal_id": PRINCIPAL_ID,
        "version": 5,
        "updated_at": "2026-10-01T11:00:00Z",
        "structured": structured,
        "prose": {"user_profile": "Robin likes mint.\n"},
        "source_format": "openclaw",
        "raw_source": {},
    }
    return {"principals": [{"id": PRINCIPAL_ID, "principal_type": "human", "agent_id": None, "profile": profile}]}


def credential() -> JsonObject:
    """Return §3.4.2 with the outer object of the text."""
    inner = {
        "id": CREDENTIAL_ID,
        "agent_id": AGENT_ID,
        "service": "example",
        "credential_type": "api_key",
        "label": "Example key",
        "capabilities_granted": ["repository_reader"],
        "encrypted_payload": "bm90IGEgcmVhbCBzZWNyZXQ=",
        "encryption": {
            "algorithm": "xchacha20-poly1305",
            "kdf": "argon2id",
            "kdf_params": {"memory_cost": 65536, "time_cost": 3, "parallelism": 4},
            "nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        },
        "created_at": "2026-09-15T00:00:00Z",
        "updated_at": "2026-09-16T00:00:00Z",
        "last_rotated_at": "2026-09-16T00:00:00Z",
        "expires_at": None,
        "tags": ["test"],
    }
    return {"credential": inner}


def manifest() -> JsonObject:
    """Return §4.2 with the hints of §3.2.5."""
    partition = {"file": "memory/partitions/2026-Q4.jsonl", "from": "2026-10-01", "to": None}
    return {
        "alf_version": "1.0.0",
        "created_at": "2026-10-04T12:00:00Z",
        "agent": {
            "id": AGENT_ID,
            "name": "Juniper",
            "source_runtime": "openclaw",
            "source_runtime_version": "2026.9.6",
        },
        "runtime_hints": {
            "primary_model": "example/large",
            "last_model": "example/large",
            "provider": "example",
            "context_window": 200000,
            "notes": None,
        },
        "sync": {"last_sequence": 7, "last_sync_at": "2026-10-04T12:00:00Z"},
        "layers": {
            "identity": {"version": 3, "file": "identity.json"},
            "principals": {"count": 1, "file": "principals.json"},
            "credentials": {"count": 1, "file": "credentials.json"},
            "memory": {
                "record_count": 2,
                "index_file": "memory/index.json",
                "has_embeddings": False,
                "has_raw_source": False,
                "partitions": [{**partition, "record_count": 2, "sealed": False}],
            },
        },
        "raw_sources": [],
    }


def entries() -> dict[str, bytes]:
    """Return {name: bytes} of an archive that holds all of it."""
    documents = {"identity": identity(), "principals": principals(), "credentials": credential()}
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in (older(), record()))
    found = {f"{name}.json": json.dumps(document, indent=2).encode() for name, document in documents.items()}
    return found | {
        "memory/partitions/2026-Q4.jsonl": lines,
        "memory/index.json": b'{"files":{}}',
        "manifest.json": json.dumps(manifest()).encode(),
    }


def delta_entries() -> dict[str, bytes]:
    """Return {name: bytes} of a delta (§4.3) with the documents of the text and one memory."""
    changes = {
        "identity": {"file": "identity.json", "new_version": 3},
        "credentials": {"file": "credentials.json"},
        "memory": {"file": "memory/delta.jsonl", "record_count": 1},
    }
    document = {
        "alf_version": "1.0.0",
        "created_at": "2026-10-04T12:00:00Z",
        "agent": {"id": AGENT_ID, "source_runtime": "openclaw"},
        "sync": {
            "base_sequence": 7,
            "new_sequence": 8,
            "base_timestamp": "2026-10-04T12:00:00Z",
            "new_timestamp": "2026-10-04T13:00:00Z",
        },
        "changes": changes,
    }
    renamed = identity()
    renamed["identity"]["structured"]["names"]["primary"] = "Rowan"
    changed = {"operation": "update", **older(), "content": "The plan is late."}
    return {
        "identity.json": json.dumps(renamed).encode(),
        "credentials.json": json.dumps(credential()).encode(),
        "memory/delta.jsonl": json.dumps(changed).encode() + b"\n",
        "manifest.json": json.dumps(document).encode(),
    }


def archive(found: dict[str, bytes]) -> bytes:
    """Return a ZIP of these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, body in found.items():
            file.writestr(name, body)
    return out.getvalue()
