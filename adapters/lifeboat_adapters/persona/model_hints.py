"""Record which models an agent ran on (ALF §3.2.5)."""

from __future__ import annotations

from lifeboat_adapters.persona import identity_overlay
from lifeboat_alf.common.json_types import JsonObject


def update_model_hints(previous: JsonObject | None, model: str | None, known: JsonObject) -> JsonObject | None:
    """Return the hints with the configured model (`provider/model`) as `last_model` and its known settings, or the
    previous hints when no model is configured.

    The first model ever seen stays `primary_model`, because no runtime records which model an agent used most.
    """
    if model is None:
        return previous
    before = previous or {}
    said = {**before, "primary_model": before.get("primary_model") or model, "last_model": model}
    carried = {key: value for key, value in said.items() if key not in known}
    return {**carried, **identity_overlay.without_empty(known)}
