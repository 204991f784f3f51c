from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.openclaw import ADAPTER as OPENCLAW
from lifeboat_adapters.persona import document_shapes
from lifeboat_adapters.zeroclaw import zeroclaw_rendering
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_derived as derived
from support.adapters.zeroclaw_derived import NOVA, WITH_AIEOS, files, text_of

KEYS = st.sampled_from(["name", "primary", "scores", "catchphrases", "zeroclaw", "read", "@alf", "projects", "x"])
RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def having(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, RUBBISH))


FIELDS = ("names", "role", "goals", "psychology", "linguistics", "capabilities", "sub_agents", "aieos_extensions")
IDENTITIES = st.fixed_dictionaries(
    {},
    optional={
        "structured": having(*FIELDS),
        "prose": having("soul", "custom_blocks"),
        "raw_source": having("zeroclaw") | RUBBISH,
    },
)


def test_what_fits_stays_as_it_is() -> None:
    document = {"structured": {"names": {"primary": "A", "own": 5}, "goals": ["a"], "other": [1]}, "more": 1}
    assert document_shapes.well_formed_identity(document) == document


@pytest.mark.parametrize(
    ("structured", "left"),
    [
        ({"role": 5}, {}),
        ({"goals": ["a", 5, None]}, {"goals": ["a"]}),
        ({"goals": "a"}, {"goals": []}),
        ({"names": ["A"]}, {"names": {}}),
        ({"capabilities": ["x", {"name": "y", "description": 5}]}, {"capabilities": [{"name": "y"}]}),
        ({"aieos_extensions": "x"}, {"aieos_extensions": {}}),
    ],
)
def test_what_does_not_fit_is_passed_over(structured: Any, left: Any) -> None:
    assert document_shapes.well_formed_identity({"structured": structured}) == {"structured": left}


@given(IDENTITIES, having("structured", "prose"))
@example({"raw_source": {"zeroclaw": {"read": True}}}, {})
@example({"raw_source": ["zeroclaw"]}, {"structured": {"names": 1}})
def test_documents_of_any_shape_are_written_and_read_in_every_runtime(identity: Any, profile: Any) -> None:
    state = MemoryState()
    principals = {"principals": [{"id": "p-1", "principal_type": "human", "profile": profile}]}
    state.put_document("identity.json", identity).put_document("principals.json", principals)
    captured = files({"identity.json": text_of(NOVA), "USER.md": "- **Name:** Bo\n"}, WITH_AIEOS)
    for render in (OPENCLAW.render, zeroclaw_rendering.render_zeroclaw_files):
        assert all(isinstance(made.data, bytes) for made in render(state))
    assert derived.derive("identity", captured, identity)["structured"]["names"]["nickname"] == "N"
    assert derived.derive("principals", captured, principals)["principals"][0]["profile"]["structured"]["name"] == "Bo"
