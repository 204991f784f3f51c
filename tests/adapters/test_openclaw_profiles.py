"""Auth profiles as a file of 2026.2 and as the rows of later releases."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles

FILE = "raw/openclaw-home/agents/main/agent/auth-profiles.json"
KEY = {"type": "api_key", "provider": "orchard", "key": "sk-fake-orchard"}
LOGIN = {"type": "oauth", "provider": "meadow", "access": "fake-a", "refresh": "fake-r", "expires": 1_900_000_000_000}


def test_the_file_of_february_holds_the_profiles_of_its_agent_by_id() -> None:
    data = json.dumps({"version": 1, "profiles": {"orchard:b": KEY, "meadow:a": LOGIN}}).encode()

    found = openclaw_auth_profiles.profiles_in(FILE, data)

    assert found == [
        openclaw_auth_profiles.OpenClawProfile("agent", "meadow:a", LOGIN),
        openclaw_auth_profiles.OpenClawProfile("agent", "orchard:b", KEY),
    ]


def test_rows_say_whose_store_a_profile_is_in() -> None:
    rows = [{"store": "shared", "id": "orchard:b", "credential": KEY}, {"store": "agent", "id": "x", "credential": {}}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    found = openclaw_auth_profiles.profiles_in(openclaw_paths.AUTH_PROFILES, data)

    assert [(one.store, one.id) for one in found] == [("shared", "orchard:b"), ("agent", "x")]


def test_an_oauth_profile_says_when_it_expires() -> None:
    assert openclaw_auth_profiles.OpenClawProfile("agent", "meadow:a", LOGIN).expires_at == "2030-03-17T17:46:40.000Z"


def test_a_profile_that_names_no_provider_is_for_the_one_in_its_id() -> None:
    assert openclaw_auth_profiles.OpenClawProfile("agent", "meadow:a", {"type": "token"}).provider == "meadow"


@pytest.mark.parametrize("value", [None, True, "soon", -1, 0, 1e300, float("nan"), [], 10**40])
def test_what_is_no_time_is_no_expiry(value: object) -> None:
    assert openclaw_auth_profiles.expiry_timestamp(value) is None


def test_another_file_holds_no_profiles_whatever_is_in_it() -> None:
    assert openclaw_auth_profiles.profiles_in("raw/openclaw/auth-profiles.json", b"not even json") == []


@pytest.mark.parametrize("line", [b"[]", b'{"store":"agent"}', b"{", b'{"store":1,"id":"a","credential":{}}'])
def test_a_line_that_is_no_profile_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        openclaw_auth_profiles.profiles_in(openclaw_paths.AUTH_PROFILES, line)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda one: st.dictionaries(st.text(), one) | st.lists(one)))
def test_a_store_of_any_shape_gives_only_profiles(document: object) -> None:
    for store in (document, {"profiles": document}):
        assert all(
            isinstance(one.credential, dict) for one in openclaw_auth_profiles.profiles_of_store(store, "shared")
        )
