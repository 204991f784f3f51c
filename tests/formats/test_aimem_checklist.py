"""The 77 requirements of draft-vu-aimem-bundle-00 for producers and consumers, and the tests of each."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import MemoryState
from support.endpoint.served_apps import bearer
from support.endpoint.served_apps import served as served  # a fixture
from support.formats import aimem_bundles as made
from support.formats.aimem_states import apply, counts, exported, planned, records_of, taken
from support.formats.brain_servers import BrainServer
from support.formats.brain_servers import brain as brain  # a fixture
from support.patience import patience

_HERE = Path(__file__).parent

SHOWN: dict[int, str] = {
    1: "strict_json::what_is_not_strict_json_is_malformed envelope::what_is_written_is_utf_8_without",
    2: "envelope::a_root_that_is_no_object_is_refused",
    3: "envelope::another_format_is_refused envelope::the_name_before_the_draft_is_taken_with_a_word",
    4: "envelope::another_version_is_refused",
    5: "envelope::a_producer_that_is_no_namespace_is_refused envelope::a_member_that_is_missing_is_named",
    6: "envelope::a_tenant_that_is_neither_uuid_nor_uri_is_refused envelope::a_uuid_a_uri_and_a_did",
    7: "envelope::a_time_that_is_none_or_not_utc_is_refused envelope::every_time_in_utc_is_taken",
    8: "envelope::another_scope_is_refused envelope::all_three_scopes_are_taken",
    9: "envelope::a_window_needs_a_beginning envelope::a_beginning_counts_in_a_window_only",
    10: "envelope::all_eleven_members_are_written envelope::what_is_no_array_is_refused",
    11: "envelope::a_bundle_without_a_checksum_is_refused",
    12: "envelope::an_embedding_needs_its_length envelope::an_embedding_needs_its_model",
    13: "envelope::unknown_members_are_kept_and_covered",
    14: "checksum::the_empty_bundle_has_the_checksum_that_others_compute checksum::what_is_written_has",
    15: "checksum::a_change_anywhere_does_not_fit_the_checksum",
    16: "checksum::a_checksum_in_another_form_does_not_fit",
    17: "checksum::what_cannot_be_hashed_is_told strict_json::a_number_that_nobody_writes_again_alike",
    18: "checksum::the_order_of_members_and_white_space_do_not_matter",
    19: "chunk::a_chunk_has_what_it_has_to_have chunk::what_is_no_text_is_refused",
    20: "chunk::65536_code_points_are_taken_whatever_the_bytes producing::a_long_memory_goes_in_parts",
    21: "chunk::a_hash_of_something_else_is_refused chunk::a_hash_may_be_missing_and_is_always_written",
    22: "chunk::another_memory_type_is_refused chunk::all_eight_memory_types_are_taken",
    23: "chunk::another_zone_is_refused chunk::every_zone_and_none_is_taken",
    24: "chunk::pinned_is_true_or_false",
    25: "chunk::the_time_of_a_chunk_is_utc chunk::the_time_of_a_chunk_stays_as_it_was_said",
    26: "chunk::tags_are_texts_of_1_to_64_code_points checklist::tags_are_written_in_lower_case",
    27: "chunk::an_id_stands_once entity::an_entity_stands_once",
    28: "chunk::what_is_no_embedding_is_refused",
    29: "urn::a_chunk_with_another_name_is_refused urn::our_own_names_have_no_character",
    30: "urn::a_name_of_another_producer_is_taken_with_a_word urn::a_writer_names_what_it_writes_after",
    31: "urn::local_names_are_compared_byte_for_byte",
    32: "urn::a_record_gets_a_name_and_the_name_gives_it_back urn::a_namespace_is_lower_case_ascii",
    33: "edge::another_type_of_edge_is_refused edge::the_four_types_and_those_of_ones_own_are_taken",
    34: "edge::a_weight_is_a_number_from_0_to_1 edge::every_number_from_0_to_1_is_taken",
    35: "edge::both_ends_are_in_the_bundle",
    36: "edge::an_edge_has_what_it_has_to_have edge::an_edge_has_a_time",
    37: "producing::since_is_inclusive_and_drops_and_counts_the_edges_that_lead_out edge::an_edge_without",
    38: "entity::an_entity_has_a_name entity::another_kind_is_refused",
    39: "entity::both_ends_of_a_link_are_in_the_bundle",
    40: "embedding::what_is_not_base64_is_refused embedding::an_embedding_of_another_length_is_refused",
    41: "consuming::vectors_that_are_left_out_are_warned_of_by_their_model",
    42: "consuming::vectors_are_taken_as_they_are_under_the_model_of_the_bundle",
    43: "producing::vectors_leave_only_when_they_are_asked_for http::vectors_go_only_when_they_are_asked",
    44: "checklist::vectors_are_kept_like_what_they_are_of",
    45: "producing::a_bundle_has_vectors_of_one_model_and_the_others_are_told_of",
    46: "idempotency::the_same_chunk_again_is_skipped",
    47: "idempotency::another_content_at_the_same_time_is_rejected_and_the_others_are_taken",
    48: "idempotency::a_newer_chunk_changes_no_protected_memory dna::with_leave_it_does_and_the_history",
    49: "idempotency::an_older_chunk_with_another_content_is_stale_and_with_the_same_one_skipped",
    50: "idempotency::other_fields_at_the_same_time_change_nothing_and_are_named",
    51: "idempotency::a_bundle_taken_twice_changes_nothing http::the_same_bundle_twice_is_one_state",
    52: "idempotency::057_what_we_export_is_here_already http::an_own_export_is_taken_back_as_nothing_new",
    53: "idempotency::edges_entities_and_links_are_known_again_and_new_ones_added",
    54: "erasure::an_erased_chunk_is_not_taken_again idempotency::what_was_erased_does_not_come_back",
    55: "round_trip::a_bundle_of_ours_comes_back_the_same_from_an_empty_store http::what_came_in_goes_out",
    56: "envelope::what_is_wrong_in_one_way envelope::what_is_at_the_edge http::what_is_odd_but",
    57: "checklist::what_was_taken_is_given_and_taken_again_as_nothing_new",
    58: "http::an_export_is_a_bundle_in_its_own_media_type http::head_says_the_same_without_the_body",
    59: "http::without_a_token http::a_token_without_the_scope http::a_wrong_scope_is_400",
    60: "http::a_stream_is_the_envelope stream::the_checksum_is_that_of_the_whole_document",
    61: "stream::the_order_of_arrival stream::nothing_is_seen_of_a_stream http::a_stream_that_was",
    62: "http::a_bundle_is_taken http::other_media_types_are_415 http::what_is_too_large_is_413",
    63: "http::what_is_malformed_is_422_as_a_problem_document",
    64: "http_signatures::the_key_of_the_endpoint_is_published_as_a_cose_key",
    65: "http::a_connection_that_ends_in_the_middle stream::a_bundle_is_there_whole_or_not_at_all",
    66: "dna::every_background_job_is_listed dna::no_job_of_a_machine dna::no_job_of_an_endpoint",
    67: "dna::a_kept_memory_goes_when_its_user_says_so dna::a_purge_of_a_kept_memory_is_carried_out",
    68: "dna::two_machines_that_contradict_each_other_both_keep_what_they_wrote",
    69: "erasure::what_was_purged_is_in_no_export erasure::no_row_of_any_audit_says_what_it_was",
    70: "erasure::nothing_is_left_that_nobody_names_and_the_vault_is_whole",
    71: "erasure::a_purge_in_the_middle_ends_the_answer erasure::a_purge_while_the_bundle_is_made",
    72: "erasure::the_erasure_stands_in_an_audit_whose_chain_is_whole",
    73: "http_signatures::an_export_is_signed_and_the_signature_holds_by_hand signing::what_is_signed_here",
    74: "http_signatures::a_signature_that_does_not_hold http_signatures::an_unknown_key_is_422",
    75: "http_signatures::skipping_the_check_stands_in_the_audit format::a_bundle_that_nobody_vouches_for",
    76: "signing::another_payload_inside_is_refused signing::an_algorithm_that_is_not_allowed_is_refused",
    77: "envelope::a_later_major_version_is_never_taken envelope::what_is_written_is_version_one",
}
"""Number -> the tests that show it: `FILE::REST` is `test_NUMBER_REST...` of test_aimem_FILE.py."""


@cache
def collected() -> frozenset[str]:
    """Return all tests of the format that would run, as `FILE::NAME`."""
    files = sorted(map(str, _HERE.glob("test_aimem_*.py")))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    found = subprocess.run(
        command, cwd=_HERE.parents[1], capture_output=True, text=True, timeout=patience(240), check=False
    )
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    told = re.findall(r"test_aimem_(\w+)\.py::(test_\w+)", found.stdout)
    return frozenset(f"{file}::{name}" for file, name in told)


def test_every_number_is_there_once() -> None:
    assert list(SHOWN) == list(range(1, 78))


def test_every_number_is_shown_by_tests_that_run() -> None:
    known = collected()
    assert len(known) > 300
    missing = [
        (number, file, rest)
        for number, shown in SHOWN.items()
        for file, _, rest in (each.partition("::") for each in shown.split())
        if not any(name.startswith(f"{file}::test_{number:03}_{rest}") for name in known)
    ]
    assert missing == []


def test_every_number_is_in_the_name_of_a_test_and_no_other_number_is() -> None:
    told = {int(number) for name in collected() for number in re.findall(r"_(0[0-9]{2})(?=_)", name)}
    assert told == set(SHOWN)


def test_none_of_these_tests_is_passed_over() -> None:
    files = {wanted.partition("::")[0] for names in SHOWN.values() for wanted in names.split()} - {"checklist"}
    for file in sorted(files):
        text = (_HERE / f"test_aimem_{file}.py").read_text()
        assert not re.search(r"mark\.(skip|skipif|xfail)|pytest\.(skip|xfail)\(", text), file


# What no other file shows ---------------------------------------------------------------------------------------------


def test_026_tags_are_written_in_lower_case_and_come_back_as_they_were() -> None:
    state = taken(made.with_chunk(tags=["Db", "ÄB"]))
    (record,) = records_of(state).values()
    state.update({**record, "tags": ["Travel", "ÄB", "x" * 65]})
    data, produced = exported(state)
    (chunk,) = planned(MemoryState(), data).inserts
    assert chunk["tags"] == ["Travel", "ÄB", "x" * 65]
    assert b'"tags":["travel","\xc3\x84B"]' in data.replace(b" ", b"")
    assert produced.figures["chunks"] == 1


def test_044_vectors_are_kept_like_what_they_are_of(brain: BrainServer) -> None:
    agent = brain.agent()
    numbers = (0.8173519, -0.4421738, 0.1298351)
    content = "Met Quillon Marsh at the pier."
    chunk = made.chunk(content=content, embedding=made.packed(*numbers))
    brain.taken(made.bundle(chunks=[chunk], embedding_dim=3, embedding_model=made.MODEL))
    assert made.packed(*numbers) in brain.fetch(embeddings=True).text
    # Whoever may not have the one may not have the other.
    for headers in (bearer(brain.served.new_token("push")), bearer(brain.served.new_token(tenant="office"))):
        answer = brain.client.get("/v1/brain/export", headers=headers, params={"agent": agent, "embeddings": True})
        assert answer.status_code in (403, 404) and "0.8173" not in answer.text
    # Neither lies on the disk in clear.
    told = [content.encode(), b"0.8173519", made.packed(*numbers).encode(), made.packed(*numbers)[:12].encode()]
    files = [path for path in (brain.served.folder / "data").rglob("*") if path.is_file()]
    assert len(files) > 2
    for path in files:
        data = path.read_bytes()
        assert not any(each in data for each in told), path.name
    # Both go together.
    brain.purge(agent, content)
    assert "0.8173" not in brain.fetch(embeddings=True).text
    assert made.packed(*numbers) not in brain.fetch(embeddings=True).text


@pytest.mark.parametrize("what", made.ODD)
@pytest.mark.parametrize("options", [{}, {"preserve_ids": True}, {"embeddings": True}, {"pure": True}], ids=str)
def test_057_what_was_taken_is_given_and_taken_again_as_nothing_new(what: str, options: dict[str, bool]) -> None:
    state = taken(made.ODD[what])
    before = records_of(state)
    data, _ = exported(state, **options)
    plan = apply(state, planned(state, data))
    assert counts(plan)["inserted"] == counts(plan)["updated"] == counts(plan)["rejected"] == 0
    assert plan.summary["edges_inserted"] == plan.summary["entities_inserted"] == 0
    assert not plan.entries and records_of(state) == before
