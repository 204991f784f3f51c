"""Files of an agent in memory, for ZeroClaw's derivations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import DerivationContext, Installation
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.adapter import DERIVATIONS
from support.adapters.openclaw_derived import AGENT_ID, FileMap

ALIAS = "ada"
CURRENT = f"""schema_version = 3

[providers.models.anthropic.main]
model = "claude-example-1"

[agents.{ALIAS}]
enabled = true
model_provider = "anthropic.main"
"""
WITH_AIEOS = f'{CURRENT}\n[agents.{ALIAS}.identity]\nformat = "aieos"\naieos_path = "identity.json"\n'

NOVA: dict[str, Any] = {
    "standard": {"protocol": "AIEOS", "version": "1.1.0", "schema_url": "https://example.com/aieos.json"},
    "metadata": {"entity_id": "0198f7a0-0000-7000-8000-0000000000aa", "created_at": "2026-02-03"},
    "identity": {
        "names": {"first": "Nova", "middle": "", "last": "Brandt", "nickname": "N"},
        "bio": {"gender": "none", "age_biological": 0, "birthday": "2026-02-03"},
        "origin": {"nationality": "Norwegian", "birthplace": {"city": "Bergen", "country": "NO"}},
        "residence": {"current_city": "Oslo"},
    },
    "physicality": {"face": {"shape": "oval"}, "style": {"aesthetic_archetype": "lighthouse keeper"}},
    "psychology": {
        "neural_matrix": {"creativity": 0.9, "logic": 0.8, "chaos": 1.7},
        "traits": {
            "ocean": {"openness": 0.9, "conscientiousness": 0.75, "extraversion": 0.6, "neuroticism": 0.2},
            "mbti": "ENTP",
            "temperament": "sanguine",
        },
        "moral_compass": {"alignment": "Neutral Good", "core_values": ["candour", "care"]},
    },
    "linguistics": {
        "text_style": {"formality_level": 0.4, "slang_usage": False, "style_descriptors": ["warm", "dry"]},
        "idiolect": {"catchphrases": ["noted", "tide waits for nobody"], "forbidden_words": ["honestly"]},
    },
    "history": {"origin_story": "Found in a lighthouse.", "occupation": "pilot"},
    "interests": {"hobbies": ["knots"]},
    "motivations": {
        "core_drive": "Bring every boat home",
        "goals": {"short_term": ["Learn the harbour"], "long_term": ["Chart the coast", "Rest"]},
        "fears": {"rational": ["fog"], "irrational": []},
    },
    "capabilities": {
        "skills": [{"name": "writing", "description": "Writes logs", "uri": "skill://writing", "priority": 2}, "maths"],
        "tools": ["docker", "charts"],
    },
}


def text_of(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def files(workspace: dict[str, str], config: str | None = CURRENT) -> FileMap:
    """Return what is captured of a workspace and a configuration."""
    found = {zeroclaw_paths.RAW + name: text.encode() for name, text in workspace.items()}
    if config is not None:
        found[zeroclaw_paths.HOME + zeroclaw_paths.CONFIG] = config.encode()
    return FileMap(found)


def context(alias: str = ALIAS, layout: str = zeroclaw_paths.CURRENT) -> DerivationContext:
    installed = Installation(zeroclaw_paths.RUNTIME, Path("/invented/workspace"), alias, "Nameless", layout=layout)
    return DerivationContext(installed, AGENT_ID, lambda *parts: "-".join(parts))


def derive(document: str, files: FileMap, previous: Any = None, alias: str = ALIAS) -> Any:
    found = next(each for each in DERIVATIONS if each.document == document)
    return found.derive(files, previous, context(alias))
