"""What an agent ran on (ALF §3.2.5)."""

from __future__ import annotations

from lifeboat_adapters.persona import identity_overlay
from lifeboat_alf.common.json_types import JsonObject


def update_model_hints(previous: JsonObject | None, model: str | None, known: JsonObject) -> JsonObject | None:
    """The hints with the configured model (`provider/model`) as `last_model`, and what else is known of it now; the
    previous ones where none is configured.

    The first one ever seen stays `primary_model`: no runtime writes down which model an agent lived on.
    """
    if model is None:
        return previous
    before = previous or {}
    said = {**before, "primary_model": before.get("primary_model") or model, "last_model": model}
    carried = {key: value for key, value in said.items() if key not in known}
    return {**carried, **identity_overlay.without_empty(known)}
