"""A restored file carries a digest of its text; after a purge no passage can be guessed from it."""

from __future__ import annotations

import hashlib
import json

import pytest

from lifeboat_adapters.persona import prose_synthesis
from lifeboat_adapters.zeroclaw.layers import aieos_synthesis
from lifeboat_alf.purging.purge_items import PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import apply_edits
from lifeboat_alf.states import merkle
from lifeboat_alf.testing.sample_states import AGENT_ID

PIN = "482913"


def cut(path: str, body: bytes, paths: int = 1) -> bytes:
    """Return what a purge of the PIN leaves of a file at this many paths."""
    leaf = merkle.new_leaf(body)
    items = [PurgeItem(leaf, lambda: body, f"{path}{'x' * number}", {}) for number in range(paths)]
    plan = plan_cuts(lambda: items, AGENT_ID, (), PurgeTerms(texts=(PIN,)), PurgeOptions(passage=True))
    replacement = plan.leaves[leaf.digest]
    assert replacement is not None
    return apply_edits(body, replacement.edits)


def guessed(mark: str, texts: list[str]) -> bool:
    """Return whether putting the PIN back somewhere gives the digest in a file."""
    return any(hashlib.sha256(text.encode()).hexdigest().startswith(mark) for text in texts)


@pytest.mark.parametrize("paths", [1, 2])
def test_a_persona_that_was_cut_says_the_digest_of_what_is_left(paths: int) -> None:
    text = f"\n## Notes\n\nThe PIN is {PIN}, and the boat is red.\n"
    body = prose_synthesis._marked(text).encode()
    left = cut("raw/openclaw/SOUL.md", body, paths)
    first, _, rest = left.decode().partition("\n")
    mark = first.rpartition("(")[2].partition(")")[0]
    assert prose_synthesis.is_unedited_synthesis(left.decode())
    assert not guessed(mark, [rest[:at] + PIN + rest[at:] for at in range(len(rest) + 1)])


@pytest.mark.parametrize("paths", [1, 2])
def test_a_profile_that_was_cut_says_the_digest_of_what_is_left(paths: int) -> None:
    document = {"identity": {"bio": f"The PIN is {PIN}."}, "names": {"first": "Ada"}}
    digest = aieos_synthesis._digest(document)
    body = json.dumps({aieos_synthesis.MARK: {"digest": digest}, **document}).encode()
    left = json.loads(cut("raw/zeroclaw/IDENTITY.json", body, paths))
    mark = left.pop(aieos_synthesis.MARK)
    assert mark["digest"] == aieos_synthesis._digest(left)
    assert mark["digest"] != digest


def test_a_file_without_a_mark_is_cut_as_it_is() -> None:
    body = f"<!-- nobody's ({'a' * 16}). -->\nThe PIN is {PIN}.\n".encode()
    assert cut("raw/openclaw/SOUL.md", body) == body.replace(PIN.encode(), b"")
