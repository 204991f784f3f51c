"""Snapshots of agents of which something was purged."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from random_states import Script, archive, assert_same, redactions_of

from lifeboat_alf import merkle
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.testing import MemoryState


@given(st.data())
@settings(max_examples=60)
def test_a_purged_state_comes_back_with_the_digest_it_had_before(data):
    state = Script(data.draw).run(MemoryState())
    digest = state.sequence.digest
    state.redact(data.draw(redactions_of(state)))
    with SnapshotReader(io.BytesIO(archive(state))) as found:
        found.check()
        assert merkle.state_digest(found) == digest
        assert_same(found, state)
