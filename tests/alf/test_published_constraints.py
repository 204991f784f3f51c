"""`alf validate --strict` refuses what the published schemas refuse: one document per constraint."""

from __future__ import annotations

from typing import Any

import pytest

from lifeboat_alf import schemas
from lifeboat_alf.validation import shape_checks
from lifeboat_alf.validation.record_checks import RecordChecks
from lifeboat_alf.validation.shape_checks import DocumentPlace
from lifeboat_alf.validation.validation_findings import Validation
from support.alf.published_schemas import list_published_schemas, load_published_schema, validate_as_published
from support.alf.schema_violations import UUID, full_document, violations
from support.json_schemas import jsonschema


def _is_strictly_valid(name: str, document: Any) -> bool:
    found = Validation(strict=True)
    if name == "memory-record":
        _check_record(found, document)
    else:
        shape_checks.check_shape(found, document, schemas.DOCUMENTS[name], DocumentPlace(name))
    return found.ok


def _check_record(found: Validation, record: Any) -> None:
    """Check a record line. A line that is not an object ends the reading of its file before its shape is checked."""
    if not isinstance(record, dict):
        found.error("shape", "it is not an object")
        return
    checks = RecordChecks(found, UUID)
    checks.known.add(UUID if record.get("id") != UUID else "")  # the links of the document lead to it
    checks.add(record, DocumentPlace("memory-record"))
    checks.finish()


def _obeys(name: str, document: Any) -> bool:
    try:
        validate_as_published(name, document)
    except jsonschema.ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", list_published_schemas())
def test_a_document_with_every_field_is_valid_under_both(name: str) -> None:
    whole = full_document(load_published_schema(name))
    assert (_obeys(name, whole), _is_strictly_valid(name, whole)) == (True, True)


@pytest.mark.parametrize("name", list_published_schemas())
def test_a_document_that_breaks_one_constraint_is_refused_by_both(name: str) -> None:
    broken = list(violations(load_published_schema(name)))
    assert len(broken) > 100
    passed = [each.name for each in broken if _is_strictly_valid(name, each.document) or _obeys(name, each.document)]
    assert passed == []
