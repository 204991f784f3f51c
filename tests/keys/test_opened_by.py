"""Which credentials the keys beside them open."""

from __future__ import annotations

from typing import Any

import pytest

from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_keys.signed.unopened_credentials import find_unopened

PUBLIC = bytes(range(32))
KEYS = {"pairs": [{"public": to_base64(PUBLIC)}]}


def credential(recipient: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "one", "label": "tide", "encryption": {"recipient": recipient}, **fields}


def test_a_credential_that_was_sealed_to_a_pair_of_the_keys_is_opened() -> None:
    assert find_unopened([credential(pair_id(PUBLIC))], KEYS) == []


@pytest.mark.parametrize("keys", [None, {}, {"pairs": 7}, {"pairs": [7, {"public": "no base64"}, {"public": None}]}])
def test_without_its_pair_a_credential_is_named_by_its_label(keys: dict[str, Any] | None) -> None:
    assert find_unopened([credential(pair_id(PUBLIC)), credential("ab", label=None)], keys) == ["tide", "one"]


def test_credentials_of_other_programs_are_passed_over() -> None:
    assert find_unopened([{"id": "one"}, {"encryption": None}, credential(None), credential(7)], None) == []
