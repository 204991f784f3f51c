"""Something an agent memorised is gone everywhere, at every sequence, in every second copy, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.purge import purge_run
from support.core.purge_story import (
    Story,
    an_old_delta_is_sent_again,
    an_old_machine_comes_back,
    an_old_workspace_comes_back,
    nothing_is_left,
    prove,
    the_proof_holds,
    told,
)
from support.core.purged import leaks_below, owner_token, purge, request, vaults_of
from support.endpoint.endpoint_servers import running_endpoint

SEQUENCES = 12


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    with running_endpoint(tmp_path / "home") as home, running_endpoint(tmp_path / "away") as away:
        yield told(tmp_path, home, away, SEQUENCES)


def test_a_text_is_gone_from_everything_and_nothing_else_is(story: Story) -> None:
    prove(story)


def test_it_does_not_come_back(story: Story, tmp_path: Path) -> None:
    """Not by what was sent once and is sent again, by a machine that was off, or by an old copy of the workspace."""
    laptop = story.laptop
    owners = {"home": owner_token(story.home), "away": owner_token(story.away)}
    purge(laptop, request(workspace=True), owners)
    an_old_delta_is_sent_again(story)
    an_old_machine_comes_back(story)
    an_old_workspace_comes_back(story)
    nothing_is_left(story)


def test_a_whole_agent_is_gone_everywhere(story: Story) -> None:
    laptop = story.laptop
    agent = laptop.known_agent
    owners = {"home": owner_token(story.home), "away": owner_token(story.away)}
    done = purge_run.purge_agent(laptop.context, agent, "gdpr_article_17", owners)
    assert {each.state for each in done.remotes} == {"done"}
    assert leaks_below(laptop.folder / "home", story.stick, story.home.data, story.away.data) == []
    assert [path for path in (story.stick / "agents" / agent.id).glob("*.age")] == []
    for endpoint in (story.home, story.away):
        assert list(vaults_of(endpoint)) == []
    the_proof_holds(story, done.receipt)
