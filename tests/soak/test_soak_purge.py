"""The whole proof over a long history: 200 sequences, three second copies, one of them off while it happens."""

from __future__ import annotations

from pathlib import Path

from support.core.purge_story import prove, told
from support.endpoint.endpoint_servers import running_endpoint

SEQUENCES = 200


def test_a_text_is_gone_from_two_hundred_sequences_and_every_second_copy(tmp_path: Path) -> None:
    with running_endpoint(tmp_path / "home") as home, running_endpoint(tmp_path / "away") as away:
        prove(told(tmp_path, home, away, SEQUENCES))
