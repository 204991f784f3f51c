"""The tools of `lifeboat mcp` with arguments that no honest client sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from lifeboat_alf.errors import ErrorCode
from lifeboat_cli.mcp.stdio_server import call_tool, serve_agent
from lifeboat_core.errors import ReaderGone, RecordError
from lifeboat_core.grants import agent_grant, proposal_requests, proposal_run
from lifeboat_core.grants.proposal_requests import ServerSession
from support.core.protected import Protected

HALF = "\ud800"
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"  # obviously invented


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    return made


def begin(ada: Protected) -> ServerSession:
    with ada.context.vault(ada.agent.id) as vault:
        grant = agent_grant.read_grant(vault) or agent_grant.give_grant(ada.context, ada.agent)
        return proposal_requests.begin_session(ada.agent, grant, vault, ada.context.now())


def call(ada: Protected, tool: str, **arguments: Any) -> tuple[str, bool]:
    return call_tool(ada.context, begin(ada), tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("diff", {"first": 2**63}),
        ("diff", {"first": 10**5000}),
        ("diff", {"first": 0, "to": 10**30}),
        ("propose_restore_file", {"path": "MEMORY.md", "sequence": 10**30}),
        ("timeline", {"since": "9" * 40}),
        ("timeline", {"since": "0001-01-01T00:00+14:00"}),
        ("changes_since", {"time": "9999-12-31T23:59:59-14:00"}),
        ("timeline", {"until": "²"}),
        ("search", {"words": "tea\0"}),
        ("search", {"words": HALF}),
        ("get_memory", {"id": HALF * 36}),
        ("propose_restore_file", {"path": HALF, "sequence": 0}),
        ("propose_restore_memory", {"id": HALF * 36, "sequence": 0}),
        ("propose_undo", {"id": HALF * 36}),
        ("propose_label", {"label": "trip", "reason": HALF}),
        ("timeline", {HALF: 1}),
        (HALF, {}),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused_with_its_cause(
    ada: Protected, tool: str, arguments: dict[str, Any]
) -> None:
    text, is_error = call(ada, tool, **arguments)
    assert is_error and "unexpected" not in text and "system_refused" not in text
    text.encode()


def test_a_secret_in_the_words_of_a_proposal_is_not_stored(ada: Protected) -> None:
    text, is_error = call(ada, "propose_label", label=f"with {TOKEN}")
    assert is_error and "proposal_refused" in text
    text, is_error = call(ada, "propose_label", label="trip", reason=f"it has {TOKEN}")
    assert not is_error
    (made,) = proposal_run.list_proposals(ada.context, ada.agent)
    assert made.request.reason == "it has [secret]"


@pytest.mark.parametrize(
    ("raised", "expected"), [((BrokenPipeError(),), ReaderGone), ((BrokenPipeError(), ValueError()), ExceptionGroup)]
)
def test_only_a_client_that_ended_first_is_no_error(
    ada: Protected, monkeypatch: pytest.MonkeyPatch, raised: tuple[Exception, ...], expected: type[Exception]
) -> None:
    def run(_: object) -> None:
        raise ExceptionGroup("unhandled errors in a TaskGroup", raised)

    monkeypatch.setattr(anyio, "run", run)
    with pytest.raises(expected):
        serve_agent(ada.context, begin(ada))


@pytest.mark.parametrize("code", [RecordError.MEMORY_CHANGED, RecordError.NOT_IN_FILE])
def test_a_refusal_names_no_file_of_a_memory_which_may_be_outside(
    ada: Protected, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    def refuse(*_: object) -> None:
        raise code("the memory in projects/private.md cannot be undone", fix="lifeboat records show")

    monkeypatch.setattr(proposal_requests, "request_undo", refuse)
    text, is_error = call(ada, "propose_undo", id="x" * 36)
    assert is_error and str(code.code) in text and "private" not in text
