"""Converts between bundles and states for tests, as the product does."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager

from lifeboat_alf.common import json_codec
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem.convert import bundle_export, bundle_import, existing_memories
from lifeboat_formats.aimem.convert.bundle_options import ConsumerOptions, ProducerOptions
from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import LIMITS, AimemBundle, BundleLimits
from lifeboat_formats.interchange.contract import ConversionContext, WriterIdentity

NOW = "2026-11-22T00:00:00Z"
OURS = "alf-0a1b2c3d"
AROUND = ConversionContext(NOW, WriterIdentity(OURS))


def exported(state, around=AROUND, **options):
    """Return the bundle of a state as bytes, with the fates of everything."""
    stream = io.BytesIO()
    with bundle_export.produce_bundle(state, ProducerOptions(**options), around) as produced:
        produced.writer.write_json(stream)
        return stream.getvalue(), produced


def bundle_of(state, **options):
    """Return the bundle of a state after reading it back."""
    return bundle_reading.parse_bundle(exported(state, **options)[0], own_namespace=not options.get("preserve_ids"))


def planned(state, document, erased=(), namespace=OURS, **options):
    """Return the plan of importing a bundle (an object, bytes, or one that was read) into a state."""
    bundle = document if hasattr(document, "envelope") else bundle_reading.parse_bundle(as_bytes(document))
    existing = existing_memories.index_state(state, erased=lambda name: name in erased)
    return bundle_import.plan_import(existing, bundle, ConsumerOptions(namespace=namespace, **options))


def as_bytes(document):
    return document if isinstance(document, bytes) else json_codec.encode_json(document)


def apply(state, plan):
    """Write a plan into a state of a test, as a vault would."""
    for record in plan.inserts:
        state.add({**record, "agent_id": sample_states.AGENT_ID})
    for record_id, fields in plan.updates:
        record = {**json_codec.decode_json(state.record(record_id).line), **fields}
        state.update({name: value for name, value in record.items() if value is not None})
    for path, body in plan.entries.items():
        state.put(path, body)
    return plan


def taken(document, state=None, **options):
    """Return a state after importing a bundle."""
    made = MemoryState() if state is None else state
    apply(made, planned(made, document, **options))
    return made


def records_of(state):
    return {record.id: json_codec.decode_json(record.line) for record in state.records()}


def only(state):
    (record,) = records_of(state).values()
    return record


def counts(plan):
    return {name: plan.summary[name] for name in ("inserted", "updated", "skipped", "rejected")}


def codes(plan):
    return [each["code"] for each in plan.summary["chunks_rejected_conflict"]]


def open_bundle_bytes(data: bytes, *, limits: BundleLimits = LIMITS) -> AbstractContextManager[AimemBundle]:
    """Open a bundle in memory, a document or a stream."""
    return bundle_reading.open_bundle(io.BytesIO(data), limits=limits)
