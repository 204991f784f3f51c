"""Who the agent is, from OpenClaw's files and configuration (ALF §2.1, §3.2)."""

from __future__ import annotations

from collections.abc import Collection

from lifeboat_adapters.contract import Derivation, DerivationContext, Files
from lifeboat_adapters.openclaw import config, paths
from lifeboat_adapters.openclaw.documents import config_of
from lifeboat_adapters.openclaw.layers import heartbeat, subagents
from lifeboat_adapters.persona import identity, roster
from lifeboat_alf.json_types import JsonObject

PERSONA = identity.Persona(
    paths.RUNTIME, paths.RAW, paths.HOME, paths.CUSTOM_BLOCKS, (f"{paths.RAW}skills/", f"{paths.HOME}skills/")
)
_ELSEWHERE = frozenset((paths.HOME + paths.CONFIG, paths.HELPERS, paths.CRON_JOBS, paths.CRON_SCRATCH))
_HEARTBEAT = ("prose", "custom_blocks", "heartbeat_checklist")


def reads(path: str) -> bool:
    """Whether a file says something about who the agent is."""
    return path in _ELSEWHERE or PERSONA.reads(path)


def derive(files: Files, previous: JsonObject | None, context: DerivationContext) -> JsonObject | None:
    """The identity document, without id, version and time."""
    installed = context.installation

    def fresh(files: Files, own: Collection[str]) -> JsonObject:
        texts = identity.texts(PERSONA, files, own)
        return {"structured": structured(files, texts, installed.native_id), "prose": prose(files, texts)}

    unsaid = (_HEARTBEAT,) if files.read(paths.CRON_JOBS) is None else ()
    return identity.document(PERSONA, files, previous, fresh, name=installed.name, unsaid=unsaid)


DERIVATION = Derivation("identity", reads, derive)


def structured(files: Files, texts: dict[str, str], native_id: str) -> JsonObject:
    """What prose files (`texts`), skills and the configuration say."""
    values = config_of(files)
    said = identity.structured(texts["identity_profile"], texts["operating_instructions"], PERSONA.every_skill(files))
    helpers = subagents.configured(values, native_id, files.read(paths.HELPERS) or b"")
    return {
        **said,
        "names": {**said["names"], "primary": configured_name(values, native_id) or said["names"]["primary"]},
        "sub_agents": roster.merged(helpers, said["sub_agents"]),
    }


def configured_name(values: JsonObject, native_id: str) -> str | None:
    """The name in the configuration: it counts before that of IDENTITY.md, as it does in OpenClaw itself."""
    own = config.agent(values, native_id)
    return config.text(own.values, "identity", "name") if own else None


def prose(files: Files, texts: dict[str, str]) -> JsonObject:
    """The files as they stand; the checklist of 2026.9 is in the notes of a job."""
    found = identity.prose(PERSONA, files, texts)
    blocks = found["custom_blocks"]
    checklist = blocks.get("heartbeat_checklist") or heartbeat.checklist(files)
    return {**found, "custom_blocks": {**blocks, **({"heartbeat_checklist": checklist} if checklist.strip() else {})}}
