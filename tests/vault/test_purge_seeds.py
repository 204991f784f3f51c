"""The seed of purged ids is destroyed with the content, so that no guess can be tested against remaining ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common import ids, times
from lifeboat_alf.redaction.redactions import RECORDS, Redaction
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_vault.vault import Draft, Vault
from lifeboat_vault.vault.vault_creation import RECORD_SEED
from support.vault.vaults import START, commit, create, new_vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = new_vault(tmp_path / "vault")
    commit(made, Draft(records=[create("The PIN is 482913."), create("The boat is red.")]))
    return made


def purge(vault: Vault) -> None:
    (leaf,) = [item.leaf.digest for item in vault.history() if b"PIN" in vault.read_object(item.object)]
    now = times.to_text(START)
    vault.redact(Redaction(ids.make_id(now), AGENT_ID, RECORDS, "user_request", now, AGENT_ID, leaves={leaf: None}))


def test_a_purge_replaces_what_ids_of_records_are_minted_with(vault: Vault) -> None:
    before = vault.record_seed
    assert before != vault.seed
    purge(vault)
    assert vault.record_seed not in (before, vault.seed)


def test_ids_of_what_is_known_by_its_name_stay(vault: Vault) -> None:
    before = vault.seed
    purge(vault)
    assert vault.seed == before


def test_a_vault_of_an_earlier_release_gets_another_seed_and_still_knows_its_memories(vault: Vault) -> None:
    vault.set(RECORD_SEED, None)
    before = vault.seed
    assert vault.record_seed == before
    purge(vault)
    assert vault.seed != before and vault.record_seed not in (before, vault.seed)
    assert len(vault.records_with_content("The boat is red.")) == 1


def test_a_redaction_that_waits_replaces_nothing(vault: Vault) -> None:
    before, now = vault.record_seed, times.to_text(START)
    redaction = Redaction(ids.make_id(now), AGENT_ID, RECORDS, "user_request", now, AGENT_ID)
    vault.redact(redaction, waits_until=START)
    assert vault.record_seed == before
