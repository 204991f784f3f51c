from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter, Placement
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.persona.derivation_files import TextFiles
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_adapters.testing.sample_installation import derivation_context
from lifeboat_alf.testing.sample_states import MemoryState, make_identity, make_principals, make_record
from lifeboat_core.memories import edit_records
from lifeboat_core.testing import RuntimeConformance
from lifeboat_core.testing.runtime_harness import Harness
from lifeboat_formats.aicf import ADAPTER
from lifeboat_formats.aicf.aicf_mapping import RAW
from lifeboat_formats.aicf.records import identity_layers
from support.adapters import openclaw_workspaces as workspaces
from support.formats import aicf_files


class TestAicf(RuntimeConformance):
    def adapter(self) -> Adapter:
        return ADAPTER

    def make(self, folder: Path) -> SampleInstallation:
        workspace = folder / ".aicf"
        workspace.mkdir()
        for name in ("D1-specified", "D4-compiled", "D3-blocks"):
            (workspace / f"{name}.aicf").write_bytes(aicf_files.FILES[name])
        (workspace / "chart.png").write_bytes(b"\x89PNG not really")
        (workspace / "settings.json").write_text('{"api_key": "sk-0123456789abcdefghijklmnop"}\n')
        return SampleInstallation(workspace=workspace, user_home=folder)

    def remember(self, made: SampleInstallation, text: str) -> None:
        file = made.workspace / "D4-compiled.aicf"
        file.write_bytes(file.read_bytes() + f"\n@INSIGHTS:\n{text}|GENERAL|LOW|0.5\n".encode())


def _made(folder: Path, files: dict[str, bytes]) -> SampleInstallation:
    workspace = folder / "installed" / ".aicf"
    workspace.mkdir(parents=True)
    for name, data in files.items():
        (workspace / f"{name}.aicf").write_bytes(data)
    return SampleInstallation(workspace=workspace, user_home=folder / "installed")


def _begun(folder: Path, files: dict[str, bytes]) -> Harness:
    return Harness.begin(ADAPTER, _made(folder, files), folder / "home")


def _files(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(workspace.iterdir())}


def test_files_of_every_dialect_come_back_byte_for_byte(tmp_path: Path) -> None:
    every = {
        **aicf_files.FILES,
        "packed": aicf_files.packed(aicf_files.FILES["D1-specified"]),
        "broken": b"\xff\xfe@X\n",
    }
    harness, target = _begun(tmp_path, every), tmp_path / "restored" / "workspace"
    harness.restore(target)
    assert _files(target) == _files(harness.made.workspace)


def test_a_memory_of_an_aicf_file_keeps_the_id_that_follows_from_it(tmp_path: Path) -> None:
    harness = _begun(tmp_path, {"a": aicf_files.FILES["D1-specified"]})
    sections = ADAPTER.split(f"{RAW}a.aicf", aicf_files.FILES["D1-specified"].decode()) or []
    assert set(harness.memories()) == {each.record_id for each in sections if each.text}


def test_an_edited_line_is_an_edited_memory(tmp_path: Path) -> None:
    harness = _begun(tmp_path, {"a": b"@INSIGHTS\n@INSIGHTS sea|DATA|LOW|LOW\n@INSIGHTS sky|GENERAL|LOW|LOW\n"})
    before = harness.memories()
    file = harness.made.workspace / "a.aicf"
    file.write_bytes(file.read_bytes().replace(b"sea", b"lake"))
    harness.capture()
    after = harness.memories()
    assert after.keys() == before.keys()
    assert sorted(after.values()) == ["lake", "sky"]


def test_a_changed_memory_changes_its_own_span_of_a_restored_file(tmp_path: Path) -> None:
    data = aicf_files.FILES["D1-specified"]
    harness, target = _begun(tmp_path, {"a": data}), tmp_path / "restored" / "workspace"
    with harness.context.vault(harness.agent.id) as vault:
        own = vault.state()
        state = MemoryState(agent_id=harness.agent.id)
        for entry in own.entries(RAW):
            state.put(entry.path, own.body(entry.path), **entry.meta)
        for line in own.records():
            state.add(line.line.replace(b"the quay floods at spring tide", b"the quay stays dry"))
        state.set_head(agent={**state.head["agent"], "source_runtime": "aicf"})
    harness.import_(state, target)
    assert (target / "a.aicf").read_bytes() == data.replace(b"the quay floods at spring tide", b"the quay stays dry")


def test_a_folder_without_such_files_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotAWorkspace):
        ADAPTER.locate(tmp_path, {}, tmp_path)


def test_a_workspace_of_another_runtime_stays_one_whatever_files_lie_in_it(tmp_path: Path) -> None:
    workspace = workspaces.make_workspace(tmp_path / "ws", large=False)
    (workspace / "notes.aicf").write_bytes(aicf_files.FILES["D1-specified"])
    assert adapter_registry.recognise_workspace(workspace).runtime == "openclaw"
    assert ADAPTER.locate(workspace, {}, tmp_path).runtime == "aicf"


def test_a_folder_of_such_files_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "notes.aicf").write_bytes(aicf_files.FILES["D4-compiled"])
    assert adapter_registry.recognise_workspace(tmp_path).runtime == "aicf"


def test_locks_and_half_written_files_are_left_out() -> None:
    assert ADAPTER.place(f"{RAW}a.aicf.lock", is_folder=False) is Placement.EXCLUDED
    assert ADAPTER.place(f"{RAW}a.aicf.1234.tmp", is_folder=False) is Placement.EXCLUDED
    assert ADAPTER.place(f"{RAW}a.aicf.gz", is_folder=False) is Placement.MANAGED
    assert ADAPTER.place(f"{RAW}photo.png", is_folder=False) is Placement.ARTIFACT


def test_keys_beside_the_files_are_cut_out() -> None:
    (found,) = ADAPTER.credentials.find(f"{RAW}.env", b"API_KEY=sk-0123456789abcdefghijklmnop\n") or []
    assert found.value == "sk-0123456789abcdefghijklmnop"
    assert ADAPTER.credentials.find(f"{RAW}a.aicf", b"1|@AICF_VERSION\n") is None


def test_users_of_sessions_are_principals(tmp_path: Path) -> None:
    made = _made(tmp_path, {"a": aicf_files.FILES["D1-specified"]})
    files = TextFiles({f"{RAW}a.aicf": aicf_files.FILES["D1-specified"]})
    context = derivation_context(ADAPTER.locate(made.workspace, {}, tmp_path))
    found = identity_layers.derive_principals(files, None, context)
    assert found is not None
    assert [one["profile"]["structured"]["name"] for one in found["principals"]] == ["skipper_4"]
    sections = ADAPTER.split(f"{RAW}a.aicf", aicf_files.FILES["D1-specified"].decode()) or []
    namespaces = {each.fields["namespace"] for each in sections if each.text}
    assert f"principal_context:{found['principals'][0]['id']}" in namespaces


def test_who_an_agent_is_and_whom_it_serves_travels_in_a_file_of_its_own(tmp_path: Path) -> None:
    state = MemoryState().add_all([make_record("Sails dry by noon.")])
    state.put_document("identity.json", make_identity()).put_document("principals.json", make_principals())
    files = {each.path: each.data for each in ADAPTER.render(state)}
    assert set(files) == {f"{RAW}memory.aicf", f"{RAW}identity.aicf"}
    found = TextFiles(files)
    context = derivation_context(ADAPTER.locate(_made(tmp_path, {"a": b"@X\n"}).workspace, {}, tmp_path))
    said, people = (
        identity_layers.derive_identity(found, None, context),
        identity_layers.derive_principals(found, None, context),
    )
    assert said is not None and people is not None
    assert said["prose"] == make_identity()["prose"] and said["structured"] == make_identity()["structured"]
    assert [one["id"] for one in people["principals"]] == [one["id"] for one in make_principals()["principals"]]
    assert people["principals"][0]["profile"]["prose"] == make_principals()["principals"][0]["profile"]["prose"]


def test_a_file_is_made_whole_again_when_a_memory_was_forgotten() -> None:
    data = aicf_files.FILES["D1-specified"].decode()
    sections = [each for each in ADAPTER.split(f"{RAW}a.aicf", data) or [] if each.text]
    ids = [str(each.record_id) for each in sections]
    kept = [(name, each.text) for name, each in zip(ids, sections, strict=True) if "cat fell in" not in each.text]
    text = ADAPTER.rejoin(f"{RAW}a.aicf", data, ids, kept)
    assert text is not None and "cat fell in" not in text
    lines = [line.partition("|")[2] for line in text.splitlines()]
    assert lines == [line.partition("|")[2] for line in data.splitlines() if "cat fell in" not in line]


def test_a_text_that_its_place_cannot_hold_is_put_behind() -> None:
    data = aicf_files.FILES["D1-specified"].decode()
    sections = [each for each in ADAPTER.split(f"{RAW}a.aicf", data) or [] if each.text]
    ids = [str(each.record_id) for each in sections]
    now = {name: each.text for name, each in zip(ids, sections, strict=True)}
    key = next(name for name, text in now.items() if text.startswith("login count"))
    text = ADAPTER.rejoin(f"{RAW}a.aicf", data, ids, list({**now, key: "Nobody counts logins"}.items()))
    assert text is not None and "login_count" not in text
    again = [each.text for each in ADAPTER.split(f"{RAW}a.aicf", text) or [] if each.text]
    assert sorted(again) == sorted([*(value for name, value in now.items() if name != key), "Nobody counts logins"])


def test_forgetting_a_memory_takes_its_line_out_of_a_restored_file(tmp_path: Path) -> None:
    data = aicf_files.FILES["D4-compiled"]
    harness, target = _begun(tmp_path, {"a": data}), tmp_path / "restored" / "workspace"
    one = next(name for name, text in harness.memories().items() if text == "Print labels")
    edit_records.forget_records(harness.context, harness.agent, [one])
    harness.restore(target)
    assert (target / "a.aicf").read_bytes() == b"".join(
        line for line in data.splitlines(keepends=True) if b"Print labels" not in line
    )
