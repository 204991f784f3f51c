"""Another service of ALF is named for what it is; what answers nonsense is still damaged."""

from __future__ import annotations

import pytest

from lifeboat_daemon.remotes import endpoint_shapes as shapes
from lifeboat_endpoint.errors import RemoteDamaged, RemoteUnreachable


@pytest.mark.parametrize("answer", [{"version": "1.4.0"}, {"api_version": "v1", "status": "ok"}])
def test_another_service_of_alf_is_called_one(answer: dict[str, str]) -> None:
    with pytest.raises(RemoteUnreachable, match="another ALF service") as refused:
        shapes.about(answer)
    assert refused.value.fix


@pytest.mark.parametrize("answer", [{}, [], None, {"version": 1}, {"id": 7, "version": "1.4.0"}])
def test_an_answer_that_says_nothing_is_damaged(answer: object) -> None:
    with pytest.raises(RemoteDamaged):
        shapes.about(answer)
