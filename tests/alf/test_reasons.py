"""Reasons are codes with parameters, from which the text is made."""

from __future__ import annotations

import pytest

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_alf.common.reason_codes import Reason, ReasonCode, reason_code, reason_text
from lifeboat_core.restore.left_out_reasons import LeftOutCode, ReissueCode

PARAMETERS = {
    name: name.upper() for name in ("id", "key", "kind", "message", "name", "problem", "reason", "runtime", "target")
}


class _Code(ReasonCode):
    GONE = "gone", "{what} is not there"


def test_the_text_is_made_of_the_parameters() -> None:
    reason = Reason(_Code.GONE, what="a {brace}")
    assert (str(reason), reason_text(reason), reason_code(reason)) == ("a {brace} is not there",) * 2 + ("gone",)


def test_reasons_with_the_same_code_and_parameters_are_equal() -> None:
    same, other = Reason(_Code.GONE, what="a"), Reason(_Code.GONE, what="b")
    assert same == Reason(_Code.GONE, what="a") and len({same, Reason(_Code.GONE, what="a"), other}) == 2


def test_no_reason_has_neither_text_nor_code() -> None:
    assert reason_text(None) is None and reason_code(None) is None


@pytest.mark.parametrize("codes", [CredentialRefusal, LeftOutCode, ReissueCode])
def test_every_code_is_one_word_and_has_a_text_of_known_parameters(codes: type[ReasonCode]) -> None:
    for code in codes:
        assert str(code).isidentifier() and str(code).islower() and Reason(code, **PARAMETERS)
        assert "{" not in str(Reason(code, **PARAMETERS))


def test_a_code_of_two_subjects_means_one_thing() -> None:
    assert {*map(str, CredentialRefusal)}.isdisjoint(map(str, LeftOutCode))
