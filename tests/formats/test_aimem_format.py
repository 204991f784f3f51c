"""AIMEM bundles as files: detected, read, checked, written and signed."""

from __future__ import annotations

import io
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lifeboat_alf.common import ids
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem.aimem_format import FORMAT
from lifeboat_formats.aimem.wire import bundle_reading, bundle_signatures
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import ConversionContext, WriterIdentity
from lifeboat_formats.interchange.errors import InterchangeError, SourceRefused
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import AROUND, NOW, OURS, open_bundle_bytes, records_of


@pytest.fixture
def source(tmp_path):
    def write(data, name="one.aimem.json"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else bundles.document(data))
        return path

    return write


def read(path, around=AROUND, **options):
    with FORMAT.read(str(path), options, around) as found:
        return found, list(found.records)


def written(state, around=AROUND, **options):
    stream = io.BytesIO()
    return stream, FORMAT.write(state, stream, options, around)


def test_a_bundle_is_recognised_by_its_name_or_by_what_it_says():
    whole = bundles.document(bundles.sample())
    assert FORMAT.recognises("x.aimem.json", b"") and FORMAT.recognises("X.AIMEM.NDJSON", b"")
    assert FORMAT.recognises("x.json", whole) and FORMAT.recognises("x", bundles.stream(bundles.sample()))
    assert not FORMAT.recognises("x.json", b'{"format": "other"}') and not FORMAT.recognises("x.aicf", b"$AICF")
    assert format_registry.load_format("aimem") is FORMAT


@pytest.mark.parametrize("name", ["one.aimem.json", "one.aimem.ndjson"])
def test_a_file_is_read_as_records_and_kept_whole(source, name):
    sample = bundles.sample()
    data = bundles.stream(sample) if name.endswith("ndjson") else bundles.document(sample)
    path = source(data, name)
    found, made = read(path)
    assert [record["content"] for record in made] == [chunk["content"] for chunk in sample["chunks"]]
    (kept,) = [path for path in found.entries if path != "raw/aimem/entities.jsonl"]
    assert found.entries[kept] == data and kept.endswith(name.removeprefix("one"))
    assert {record["source"]["origin_file"] for record in made} == {kept.removeprefix("raw/aimem/")}
    assert len(found.fates) == sum(len(sample[name]) for name in bundles.ARRAYS)
    assert found.agent_name == "one"


def test_the_same_tenant_is_always_the_same_agent(source):
    one, _ = read(source(bundles.sample(), "a.aimem.json"))
    two, _ = read(source(bundles.bundle(), "b.aimem.json"))
    other, _ = read(source(bundles.bundle(tenant_id="did:web:example.com"), "c.aimem.json"))
    assert one.agent_id == two.agent_id != other.agent_id and ids.is_version_7(one.agent_id)


def test_what_we_wrote_is_read_as_the_agent_that_it_is_of(source):
    state = sample_states.make_full_state()
    stream, _ = written(state)
    found, made = read(source(stream.getvalue()))
    assert found.agent_id == sample_states.AGENT_ID and found.agent_name == "Ada"
    assert [record["id"] for record in made] == list(records_of(state))


@pytest.mark.parametrize("stream", [False, True])
def test_a_document_and_a_stream_say_the_same(source, stream):
    state = sample_states.make_full_state()
    out, done = written(state, stream=stream)
    assert (len(out.getvalue().splitlines()) > 1) and done.figures["chunks"] == 2
    with open_bundle_bytes(out.getvalue()) as bundle:
        assert bundle.envelope.checksum == bundle_reading.parse_bundle(written(state)[0].getvalue()).envelope.checksum


def test_options_reach_the_bundle():
    state = sample_states.make_full_state()
    out, _ = written(state, scope="SINCE", since="2026-11-01T00:00:00Z", tenant="did:web:example.com", pure=True)
    found = json.loads(out.getvalue())
    assert found["scope"] == "SINCE" and found["tenant_id"] == "did:web:example.com" and "x_alf" not in found
    assert [chunk["content"] for chunk in found["chunks"]] == ["Likes tea."]
    assert FORMAT.losses(state, {"scope": "FULL", "pure": True}) and len(FORMAT.options) > 10
    assert all(len(option.help) <= 62 for option in FORMAT.options)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "malformed_json"),
        (b"[]", "not_object"),
        (b'{"format": "x"}', "bad_format"),
        (bundles.document({**bundles.sample(), "producer": "changed"}), "checksum_mismatch"),
    ],
)
def test_what_is_no_bundle_is_refused_and_the_check_names_it(source, data, code):
    path = source(data)
    with pytest.raises(SourceRefused) as refused:
        read(path)
    (finding,) = FORMAT.check(str(path), strict=False)
    assert refused.value.format_code == finding.code == code and finding.is_error


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SourceRefused):
        read(tmp_path / "nowhere.aimem.json")
    (finding,) = FORMAT.check(str(tmp_path), strict=False)
    assert finding.is_error and finding.code == "unreadable"


def test_the_check_warns_and_with_strict_refuses_foreign_names(source):
    path = source(bundles.bundle(producer="another", chunks=[bundles.chunk("c1")]))
    (finding,) = FORMAT.check(str(path), strict=False)
    assert finding.code == "foreign_namespace" and not finding.is_error
    (finding,) = FORMAT.check(str(path), strict=True)
    assert finding.code == "invalid_urn" and finding.is_error
    assert list(FORMAT.check(str(source(bundles.sample())), strict=True)) == []


# Signatures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


def signer(key):
    return ConversionContext(NOW, WriterIdentity(OURS, key.sign, key.public_key().public_bytes_raw()))


@pytest.fixture
def signed(source, key, tmp_path):
    pytest.importorskip("cwt")
    around = signer(key)
    stream, done = written(sample_states.make_full_state(), around, sign=True)
    path = source(stream.getvalue())
    ending, signature = done.signature
    (tmp_path / (path.name + ending)).write_bytes(signature)
    document, _ = bundle_signatures.public_document([bundle_signatures.ed25519_key(around.identity.public)])
    trusted = tmp_path / "key.cose"
    trusted.write_bytes(document)
    return path, trusted


def test_073_a_signature_beside_the_file_is_checked_with_the_trusted_key(signed):
    path, trusted = signed
    found, made = read(path, **{"trusted-key": str(trusted)})
    assert len(made) == 2 and "signature_valid" in {notice.code for notice in found.notices}


def test_073_whoever_signs_is_told_the_key_that_checks_it(source, key, tmp_path):
    pytest.importorskip("cwt")
    stream, done = written(sample_states.make_full_state(), signer(key), sign=True)
    path = source(stream.getvalue())
    ending, signature = done.signature
    (tmp_path / (path.name + ending)).write_bytes(signature)
    trusted = tmp_path / "key.txt"
    trusted.write_text(next(each.text for each in done.notices if each.code == "signed_with").rpartition(" ")[2] + "\n")
    found, _ = read(path, **{"trusted-key": str(trusted)})
    assert "signature_valid" in {notice.code for notice in found.notices}


def test_a_finding_tells_its_place_once(source):
    stream, _ = written(sample_states.make_full_state())
    path = source(stream.getvalue().replace(b'"checksum":"sha256:', b'"checksum":"sha256:0', 1))
    (found,) = FORMAT.check(str(path), strict=False)
    assert found.where == "checksum" and found.text and not found.text.startswith("checksum")


def test_074_nothing_is_read_under_a_wrong_an_unknown_or_no_signature(signed, tmp_path):
    path, trusted = signed
    stranger = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    unknown = tmp_path / "stranger.cose"
    unknown.write_bytes(bundle_signatures.public_document([bundle_signatures.ed25519_key(stranger)])[0])
    with pytest.raises(SourceRefused) as refused:
        read(path, **{"trusted-key": str(unknown)})
    assert refused.value.format_code == "signature_unknown_key"
    stream, _ = written(MemoryState())
    path.write_bytes(stream.getvalue())
    with pytest.raises(SourceRefused) as refused:
        read(path, **{"trusted-key": str(trusted)})
    assert refused.value.format_code == "signature_invalid"
    path.with_name(path.name + ".sig").unlink()
    with pytest.raises(SourceRefused) as refused:
        read(path, **{"trusted-key": str(trusted)})
    assert refused.value.format_code == "signature_invalid"


def test_075_a_bundle_that_nobody_vouches_for_says_so(signed, source):
    path, _ = signed
    assert "signature_check_skipped" in {notice.code for notice in read(path)[0].notices}
    with pytest.raises(SourceRefused):
        read(path, signature=str(path))


def test_without_a_key_nothing_is_signed_and_nothing_written():
    stream = io.BytesIO()
    with pytest.raises(InterchangeError):
        FORMAT.write(sample_states.make_full_state(), stream, {"sign": True}, AROUND)
    assert stream.getvalue() == b""
