"""Drop the parts of a foreign document that do not have the shape that ALF prescribes (ALF §3.2.2, §3.3.3), before
files are written from it."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.common.json_types import JsonObject

_NUMBER = (int, float)
_CAPABILITY = {"name": str, "description": str, "portability": str, "host_requirements": str}
_STRUCTURED = {
    "names": {"primary": str, "nickname": str, "full": str},
    "role": str,
    "goals": [str],
    "psychology": {
        "neural_matrix": dict,
        "personality_traits": {"scores": dict},
        "moral_alignment": str,
        "mbti": str,
    },
    "linguistics": {
        "formality_level": _NUMBER,
        "verbosity": _NUMBER,
        "humor_level": _NUMBER,
        "slang_usage": bool,
        "preferred_language": str,
        "idiolect": {"catchphrases": [str], "verbal_tics": [str], "avoided_words": [str]},
    },
    "capabilities": [_CAPABILITY],
    "sub_agents": [
        {
            "name": str,
            "description": str,
            "routing_hints": str,
            "status": str,
            "model_hints": {"primary_model": str, "last_model": str},
            "capabilities": [_CAPABILITY],
        }
    ],
    "aieos_extensions": dict,
}
_IDENTITY = {"structured": _STRUCTURED, "prose": {"custom_blocks": dict}}
_PROFILE = {
    "structured": {
        "name": str,
        "timezone": str,
        "locale": str,
        "communication_preferences": dict,
        "work_context": {"role": str, "company": str, "projects": [str]},
        "relationships": [{"name": str, "relation": str, "notes": str}],
        "custom_fields": dict,
    },
    "prose": dict,
}


def well_formed_identity(document: Any) -> JsonObject:
    """Return an identity document whose known fields have their types. Unknown fields stay as they are."""
    found: JsonObject = _fitting(document, _IDENTITY)
    return found


def well_formed_profile(document: Any) -> JsonObject:
    """Return a principal's profile whose known fields have their types."""
    found: JsonObject = _fitting(document, _PROFILE)
    return found


def _fitting(value: Any, shape: Any) -> Any:
    """Return a value without the parts that do not fit, None for a plain value that does not."""
    if isinstance(shape, dict):
        fields = value if isinstance(value, dict) else {}
        fitted = {key: _fitting(item, shape[key]) if key in shape else item for key, item in fields.items()}
        return {key: item for key, item in fitted.items() if item is not None}
    if isinstance(shape, list):
        (inner,) = shape
        kind = dict if isinstance(inner, dict) else inner
        items = value if isinstance(value, list) else []
        return [_fitting(item, inner) for item in items if isinstance(item, kind)]
    return value if isinstance(value, shape) else ({} if shape is dict else None)
