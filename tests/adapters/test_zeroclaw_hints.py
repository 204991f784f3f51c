"""The models of a ZeroClaw agent, and the manifest fields about its runtime (ALF §3.2.5, §4.2)."""

from __future__ import annotations

from typing import Any

import pytest

from support.adapters import zeroclaw_derived as derived
from support.adapters.zeroclaw_derived import CURRENT, NOVA, WITH_AIEOS, files, text_of

EARLY = 'default_provider = "anthropic"\ndefault_model = "claude-example-1"\n'


def hints(config: str | None, previous: Any = None) -> Any:
    return derived.derive("runtime_hints", files({}, config), previous)


def manifest(config: str | None, workspace: dict[str, str] | None = None) -> Any:
    return derived.derive("manifest", files(workspace or {}, config))


@pytest.mark.parametrize(
    "config",
    [
        CURRENT,
        EARLY,
        EARLY.replace("default_provider", "default_model_provider"),
        f"schema_version = 2\n{EARLY}",
        f"schema_version = 2\n[providers]\n{EARLY}",
    ],
)
def test_the_hints_are_the_configured_model(config: str) -> None:
    model = "anthropic/claude-example-1"
    assert hints(config) == {"primary_model": model, "last_model": model, "provider": "anthropic"}


def test_a_model_behind_a_router_keeps_the_name_of_both() -> None:
    config = 'default_provider = "openrouter"\ndefault_model = "anthropic/claude-example-1"\n'
    assert hints(config)["last_model"] == "openrouter/anthropic/claude-example-1"


def test_a_model_that_names_its_provider_is_not_named_twice() -> None:
    assert hints('default_provider = "openai"\ndefault_model = "openai/gpt-example"\n')["last_model"] == (
        "openai/gpt-example"
    )


def test_the_first_model_ever_seen_stays_the_primary_one() -> None:
    before = {"primary_model": "openai/old", "last_model": "openai/old", "provider": "openai", "notes": "kept"}
    found = hints(CURRENT, before)
    assert (found["primary_model"], found["last_model"]) == ("openai/old", "anthropic/claude-example-1")
    assert (found["provider"], found["notes"]) == ("anthropic", "kept")


@pytest.mark.parametrize(
    "config",
    [
        *(None, "[[", "default_model = 5\n", "schema_version = 3\n"),
        'schema_version = 3\n[agents.ada]\nmodel_provider = "anthropic.gone"\n',
        'schema_version = 3\n[agents.ada]\nmodel_provider = "anthropic"\n',
    ],
)
def test_without_a_configured_model_the_hints_stay(config: str | None) -> None:
    before = {"primary_model": "openai/old", "last_model": "openai/old"}
    assert hints(config, before) == before


def test_the_manifest_says_how_the_agent_is_configured_and_remembers() -> None:
    memory = (
        'backend = "sqlite"\nvector_weight = 0.6\nkeyword_weight = 0.4\nauto_save = false\n'
        'embedding_provider = "openai"\nembedding_model = "text-example-3"\nembedding_dimensions = 256\n'
        "conversation_retention_days = 90\nhygiene_enabled = true\n"
    )
    found = manifest(f"{CURRENT}\n[memory]\n{memory}")["adapter_hints"]["zeroclaw"]
    assert found == {
        "alias": "ada",
        "layout": "agents",
        "backend": "sqlite",
        "vector_weight": 0.6,
        "keyword_weight": 0.4,
        "auto_save": False,
        "embedding": {"provider": "openai", "model": "text-example-3", "dimensions": 256},
        "memory": {"conversation_retention_days": 90, "hygiene_enabled": True},
    }


def test_texts_of_the_memory_settings_are_not_told() -> None:
    found = manifest(f'{CURRENT}\n[memory]\napi_key = "sk-fake-0123456789"\n[memory.qdrant]\nurl = "x"\n')
    assert "sk-fake" not in str(found)


@pytest.mark.parametrize(
    ("workspace", "name"),
    [
        ({"identity.json": text_of(NOVA), "IDENTITY.md": "- **Name:** Other\n"}, "Nova"),
        ({"IDENTITY.md": "- **Name:** Other\n"}, "Other"),
        ({}, "Nameless"),
    ],
)
def test_the_manifest_names_the_agent_as_it_names_itself(workspace: dict[str, str], name: str) -> None:
    assert manifest(WITH_AIEOS, workspace)["agent"]["name"] == name


def test_a_configuration_that_cannot_be_read_tells_the_manifest_nothing() -> None:
    assert manifest("[[") is None
