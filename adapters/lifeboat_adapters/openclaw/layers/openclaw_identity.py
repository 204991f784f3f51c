"""Derive the identity of the agent from OpenClaw's files and configuration (ALF §2.1, §3.2)."""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_adapters.contract import AgentFiles, Derivation, DerivationContext
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.openclaw.layers import heartbeat, subagents
from lifeboat_adapters.openclaw.openclaw_config import captured_config_of
from lifeboat_adapters.persona import persona_identity, subagent_roster
from lifeboat_alf.common.json_types import JsonObject

PERSONA = persona_identity.PersonaLayout(
    openclaw_paths.RUNTIME,
    openclaw_paths.RAW,
    openclaw_paths.HOME,
    openclaw_paths.CUSTOM_BLOCKS,
    (f"{openclaw_paths.RAW}skills/", f"{openclaw_paths.HOME}skills/"),
)
_ELSEWHERE = frozenset(
    (
        openclaw_paths.HOME + openclaw_paths.CONFIG,
        openclaw_paths.HELPERS,
        openclaw_paths.CRON_JOBS,
        openclaw_paths.CRON_SCRATCH,
    )
)
_HEARTBEAT = ("prose", "custom_blocks", "heartbeat_checklist")


def is_read_for_openclaw_identity(path: str) -> bool:
    """Return whether a file contributes to the identity."""
    return path in _ELSEWHERE or PERSONA.reads(path)


def derive_openclaw_identity(
    files: AgentFiles, previous: JsonObject | None, context: DerivationContext
) -> JsonObject | None:
    """Return the identity document, without id, version and time."""
    installed = context.installation

    def fresh(files: AgentFiles, own: Collection[str]) -> JsonObject:
        texts = persona_identity.read_prose_files(PERSONA, files, own)
        return {
            "structured": read_openclaw_structured(files, texts, installed.native_id),
            "prose": read_openclaw_prose(files, texts),
        }

    unsaid = (_HEARTBEAT,) if files.read(openclaw_paths.CRON_JOBS) is None else ()
    return persona_identity.make_identity_document(PERSONA, files, previous, fresh, name=installed.name, unsaid=unsaid)


DERIVATION = Derivation("identity", is_read_for_openclaw_identity, derive_openclaw_identity)


def read_openclaw_structured(files: AgentFiles, texts: dict[str, str], native_id: str) -> JsonObject:
    """Return the structured fields from prose files (`texts`), skills and the configuration."""
    values = captured_config_of(files)
    said = persona_identity.read_structured_identity(
        texts["identity_profile"], texts["operating_instructions"], PERSONA.every_skill(files)
    )
    helpers = subagents.list_configured_subagents(values, native_id, files.read(openclaw_paths.HELPERS) or b"")
    return {
        **said,
        "names": {**said["names"], "primary": configured_name(values, native_id) or said["names"]["primary"]},
        "sub_agents": subagent_roster.merge_roster(helpers, said["sub_agents"]),
    }


def configured_name(values: JsonObject, native_id: str) -> str | None:
    """Return the name in the configuration. It takes precedence over the name in IDENTITY.md, as in OpenClaw itself."""
    own = openclaw_config.find_openclaw_agent(values, native_id)
    return openclaw_config.get_nested_text(own.values, "identity", "name") if own else None


def read_openclaw_prose(files: AgentFiles, texts: dict[str, str]) -> JsonObject:
    """Return the prose files. The checklist of 2026.9 comes from the notes of a job."""
    found = persona_identity.make_identity_prose(PERSONA, files, texts)
    blocks = found["custom_blocks"]
    checklist = blocks.get("heartbeat_checklist") or heartbeat.heartbeat_checklist(files)
    return {**found, "custom_blocks": {**blocks, **({"heartbeat_checklist": checklist} if checklist.strip() else {})}}
