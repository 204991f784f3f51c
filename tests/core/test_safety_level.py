"""The one decision on how safe everything is: each level, and each sentence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.health.safety_level import SafetyFacts, SafetyGap, SafetyJudgement, SafetyLevel, judge_safety
from lifeboat_core.health.state_words import NEEDS_THE_USER, WORST_FIRST

SERVER = RemoteFacts("home-server", "one", state="ok", sequence=14, verified_sequence=14)
STICK = RemoteFacts("stick", "two", optional=True, state="ok", sequence=14)
WELL = SafetyFacts("Juniper", "ok", sequence=14, verified=14, remotes=(SERVER,))


def changed(**fields: Any) -> SafetyFacts:
    return msgspec.structs.replace(WELL, **fields)


def judged(*agents: SafetyFacts, problems: tuple[str, ...] = (), words_proven: bool = True) -> SafetyJudgement:
    return judge_safety(agents or (WELL,), problems, words_proven=words_proven)


def only_gap(*agents: SafetyFacts, **fields: Any) -> SafetyGap:
    found = judged(*agents, **fields)
    assert found.level is SafetyLevel.INCOMPLETE
    (gap,) = found.gaps
    return gap


def test_verified_elsewhere_and_with_proven_words_is_safe() -> None:
    assert judged() == SafetyJudgement(SafetyLevel.SAFE)
    assert judged(changed(state="syncing")).level is SafetyLevel.SAFE


def test_an_optional_remote_counts() -> None:
    assert judged(changed(remotes=(STICK,))).level is SafetyLevel.SAFE


def test_without_an_agent_nothing_is_safe_or_missing() -> None:
    assert judge_safety([], [], words_proven=False) == SafetyJudgement(SafetyLevel.NONE)
    assert judge_safety([], ["the disk is full"], words_proven=False).level is SafetyLevel.PROBLEM


@pytest.mark.parametrize("state", WORST_FIRST)
def test_a_state_that_needs_the_user_is_a_problem_and_any_other_than_ok_or_syncing_is_not_safe(state: str) -> None:
    level = judged(changed(state=state)).level
    expected = SafetyLevel.SAFE if state in ("ok", "syncing") else SafetyLevel.INCOMPLETE
    assert level is (SafetyLevel.PROBLEM if state in NEEDS_THE_USER else expected)


def test_a_problem_of_everything_is_a_problem() -> None:
    assert judged(problems=("the disk is full",)).level is SafetyLevel.PROBLEM


def test_an_agent_whose_vault_could_not_be_opened_is_never_safe_and_nothing_is_claimed_of_it() -> None:
    found = judged(SafetyFacts("Ada", "ok", is_known=False))
    assert found == SafetyJudgement(SafetyLevel.INCOMPLETE)


@pytest.mark.parametrize(
    ("fields", "code", "text", "fix"),
    [
        ({"sequence": None, "verified": None}, "uncaptured", "nothing is captured yet.", "lifeboat sync Juniper"),
        ({"verified": None}, "unverified", "no copy has ever been verified.", "lifeboat verify Juniper"),
        ({"verified": 13}, "unverified", "the newest sequence is not verified yet.", "lifeboat verify Juniper"),
        ({"remotes": ()}, "only_here", "the only copy is on this machine.", "lifeboat remote add NAME URL"),
        (
            {"remotes": (RemoteFacts("home-server", "one"),)},
            "only_here",
            "the only copy is on this machine.",
            "lifeboat sync Juniper",
        ),
        (
            {"remotes": (msgspec.structs.replace(SERVER, sequence=13),)},
            "only_here",
            "the newest sequence is on this machine only.",
            "lifeboat sync Juniper",
        ),
        (
            {"remotes": (msgspec.structs.replace(SERVER, same_disk=True),)},
            "same_disk",
            "all remotes with the newest sequence are on the same disk as the home of Lifeboat.",
            "lifeboat remote add NAME URL",
        ),
    ],
)
def test_each_gap_has_a_sentence_and_a_command(fields: dict[str, Any], code: str, text: str, fix: str) -> None:
    assert only_gap(changed(**fields)) == SafetyGap(code, f"Juniper: {text}", fix)


def test_words_that_were_never_proven_are_a_gap() -> None:
    expected = SafetyGap(
        "words_unproven",
        "You have not yet proven that you have the 24 recovery words of your key.",
        "lifeboat keys init",
    )
    assert only_gap(words_proven=False) == expected


def test_several_agents_share_a_sentence() -> None:
    agents = [changed(name=name, remotes=()) for name in ("Ada", "Bea", "Cleo", "Dan", "Eve")]
    gap = only_gap(*agents)
    assert gap.text == "Ada, Bea, Cleo and 2 more: the only copy is on this machine."
    behind = [msgspec.structs.replace(each, remotes=(RemoteFacts("nas", "n"),)) for each in agents[:2]]
    assert only_gap(*behind) == SafetyGap(
        "only_here", "Ada and Bea: the only copy is on this machine.", "lifeboat sync"
    )


@given(
    st.lists(
        st.builds(
            SafetyFacts,
            name=st.just("Ada"),
            state=st.sampled_from(WORST_FIRST),
            sequence=st.none() | st.integers(0, 3),
            verified=st.none() | st.integers(0, 3),
            remotes=st.lists(
                st.builds(
                    RemoteFacts,
                    name=st.just("nas"),
                    sequence=st.none() | st.integers(0, 3),
                    same_disk=st.booleans(),
                ),
                max_size=2,
            ).map(tuple),
            is_known=st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_green_is_only_what_is_verified_elsewhere_and_proven(agents: list[SafetyFacts], words_proven: bool) -> None:
    is_green = judge_safety(agents, [], words_proven=words_proven).level is SafetyLevel.SAFE
    assert is_green == (
        words_proven
        and all(
            agent.is_known
            and agent.state in ("ok", "syncing")
            and agent.sequence is not None
            and agent.verified is not None
            and agent.verified >= agent.sequence
            and any(
                remote.sequence is not None and remote.sequence >= agent.sequence and not remote.same_disk
                for remote in agent.remotes
            )
            for agent in agents
        )
    )
