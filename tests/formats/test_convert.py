"""Conversions between the Agent Life Format and others: contents, questions and losses."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from filelock import FileLock

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_records
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import entry_metas
from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_cli import program
from lifeboat_cli.archives import alf_convert
from lifeboat_cli.doctor import check_instances as instances
from lifeboat_core.agents import locks
from lifeboat_core.errors import Busy, ExchangeError
from lifeboat_core.exchange import ArchiveEncryption, conversion_options
from lifeboat_core.exchange.conversion_run import ConversionOrder, convert_source
from lifeboat_core.exchange.conversion_source import ConversionSource
from lifeboat_core.exchange.instance_notes import open_instance_notes
from lifeboat_core.home.context import Context
from lifeboat_formats.interchange.contract import FormatReading
from lifeboat_formats.interchange.conversion_report import FATES_LIMIT, ConversionReport, group_fates
from lifeboat_formats.interchange.errors import InstanceFailed, NoInstance, SourceRefused, UnknownFormat
from support.alf.raising import raises_code
from support.cli.cli_client import run
from support.core.protected import Protected
from support.formats.plain_format import PlainFormat, PlainInstance, plain_formats
from support.patience import patience

pytestmark = pytest.mark.usefixtures("plain_formats")
__all__ = ["plain_formats"]

FILE = """PLAIN Juniper
tea	2026-01-05T10:00:00Z	Likes green tea.
boat	2025-11-20T12:00:00Z	The boat is red.
"""


class Refused(Exception):
    """The agreement callback of a test declined."""


def never(preview: ConversionReport) -> None:
    raise Refused


def always(preview: ConversionReport) -> None:
    assert preview.loses


@pytest.fixture
def context() -> Context:
    return Context.open()


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "juniper.plain"
    path.write_text(FILE)
    return path


def converted(
    context: Context,
    source: Path | str,
    to: str,
    target: Path | str | None,
    agree: Callable[[ConversionReport], None] = never,
    **more: Any,
) -> ConversionReport:
    order = ConversionOrder(ConversionSource.of(str(source)), to, None if target is None else str(target), **more)
    return convert_source(context, order, agree)


def memories(path: Path) -> dict[str, str]:
    with SnapshotReader(path) as state:
        return {
            record["id"]: record["content"]
            for record in map(memory_records.parse_record, (one.line for one in state.records()))
        }


# In -----------------------------------------------------------------------------------------------------------------


def test_a_file_of_another_system_becomes_a_valid_signed_archive(context: Context, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "juniper.alf"
    done = converted(context, plain, "alf", target)
    assert (done.records, done.agent_name, done.bytes) == (2, "Juniper", target.stat().st_size)
    with target.open("rb") as stream:
        assert validate_archive(stream, strict=True).ok
    with SnapshotReader(target) as state:
        assert state.sequence.signature is not None
        assert state.manifest["agent"]["name"] == "Juniper"
        assert state.manifest["agent"]["source_runtime"] == "plain"
        identity = json_codec.decode_json(state.body("identity.json"))
        assert (identity["agent_id"], identity["version"]) == (done.agent, 1)
    assert sorted(memories(target).values()) == ["Likes green tea.", "The boat is red."]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_the_original_bytes_stand_once_in_the_archive_and_list_their_memories(
    context: Context, plain: Path, tmp_path: Path
) -> None:
    target = tmp_path / "juniper.alf"
    converted(context, plain, "alf", target)
    with SnapshotReader(target) as state:
        (raw,) = state.entries("raw/")
        assert state.body(raw.path) == FILE.encode()
        lines = [memory_records.parse_record(record.line) for record in state.records()]
        assert {f"raw/plain/{memory_records.origin_file(line)}" for line in lines} == {raw.path}
        assert sorted(raw.meta[entry_metas.RECORDS]) == sorted(line["id"] for line in lines)


def test_the_same_source_gives_the_same_ids_days_and_agent_every_time(
    context: Context, plain: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "1.alf", tmp_path / "2.alf"
    one, two = converted(context, plain, "alf", first), converted(context, plain, "alf", second)
    assert (one.agent, memories(first)) == (two.agent, memories(second))
    with SnapshotReader(first) as state:
        files = {memory_records.parse_record(one.line)["content"]: one.partition for one in state.records()}
        dates = {memory_records.parse_record(one.line)["temporal"]["created_at"] for one in state.records()}
        sealed = {item["file"]: item["sealed"] for item in state.manifest["layers"]["memory"]["partitions"]}
    assert files == {
        "The boat is red.": "memory/partitions/2025-Q4.jsonl",
        "Likes green tea.": "memory/partitions/2026-Q1.jsonl",
    }
    assert dates == {"2026-01-05T10:00:00Z", "2025-11-20T12:00:00Z"}
    assert all(sealed.values())


def test_a_memory_of_the_future_stands_under_today_and_is_told_of(context: Context, tmp_path: Path) -> None:
    source, target = tmp_path / "a.plain", tmp_path / "a.alf"
    source.write_text("PLAIN A\nx\t2999-01-01T00:00:00Z\tNot yet.\n")
    done = converted(context, source, "alf", target)
    assert [notice.code for notice in done.notices] == ["dated_ahead"]
    with SnapshotReader(target) as state:
        (record,) = [memory_records.parse_record(one.line) for one in state.records()]
    assert record["temporal"]["created_at"] < "2999"


def test_what_another_system_had_goes_through_unharmed(context: Context, plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    done = converted(context, plain, "plainserver", f"plain://{folder}")
    assert done.read is not None and done.written is not None
    assert {fate.outcome for fate in (*done.read, *done.written)} == {ItemOutcome.ACCEPTED}
    converted(context, f"plain://{folder}", "plain", tmp_path / "again.plain")
    again = (tmp_path / "again.plain").read_text().splitlines()
    assert sorted(again[1:]) == sorted(FILE.splitlines()[1:])


def test_every_object_of_a_source_has_exactly_one_fate(context: Context, tmp_path: Path) -> None:
    source = tmp_path / "a.plain"
    source.write_text(FILE + "tea\t2026-01-05T10:00:00Z\tTwice.\nbroken\n")
    done = converted(context, source, "alf", tmp_path / "a.alf", always)
    assert done.read is not None
    assert len(done.read) == 4
    assert not done.is_whole
    assert done.to_json()["read"] == {
        "accepted": 2, "transformed": 0, "omitted": 0, "unresolved": 0, "rejected": 1, "deduplicated": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "../../etc/passwd"}, "two memories use it"),
        ({"temporal": {}}, "is invalid"),
        ({"temporal": {"created_at": "yesterday"}}, "is invalid"),
        ({"content": 7}, "is invalid"),
        ({"content": "\ud800"}, "cannot be written"),
    ],
)
def test_a_record_that_no_state_can_hold_is_refused_and_nothing_is_left(
    context: Context,
    plain: Path,
    tmp_path: Path,
    plain_formats: dict[str, PlainFormat],
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    said: str,
) -> None:
    whole = PlainFormat._records
    monkeypatch.setattr(PlainFormat, "_records", lambda *given: ({**one, **change} for one in whole(*given)))
    with pytest.raises(SourceRefused, match=said):
        converted(context, plain, "alf", tmp_path / "a.alf")
    assert_nothing_left(context, tmp_path / "a.alf")


@pytest.mark.parametrize(
    "path", ["raw/../../x", "/etc/x", "manifest.json", "credentials.json", "raw/a\\b", "raw/\ud800"]
)
def test_a_file_that_would_lie_elsewhere_is_refused(
    context: Context, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    made = FormatReading("A", [], {path: b"x"})
    monkeypatch.setattr(PlainFormat, "read", lambda *given: _as_context(made))
    with pytest.raises(SourceRefused):
        converted(context, plain, "alf", tmp_path / "a.alf")
    assert_nothing_left(context, tmp_path / "a.alf")


class _as_context:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __enter__(self) -> Any:
        return self._value

    def __exit__(self, *_: object) -> None:
        pass


def assert_nothing_left(context: Context, target: Path) -> None:
    assert not target.exists()
    assert [name for name in os.listdir(target.parent) if name.endswith(".part")] == []
    scratch = context.home.restore_folder / "tmp"
    assert not scratch.exists() or os.listdir(scratch) == []


# Out ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    return made


def test_an_agent_of_this_machine_is_converted_by_its_name(ada: Protected, tmp_path: Path) -> None:
    done = converted(ada.context, f"agent:{ada.agent.name}", "plain", tmp_path / "a.plain", always)
    assert done.source_format == "alf" and done.read is None
    assert done.written is not None
    assert len(done.written) == len(ada.memories())


def test_losses_are_asked_for_before_anything_is_written(ada: Protected, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        converted(ada.context, f"agent:{ada.agent.name}", "plain", tmp_path / "a.plain", never)
    assert_nothing_left(ada.context, tmp_path / "a.plain")


def test_a_dry_run_writes_nothing_and_tells_what_the_real_one_tells(ada: Protected, tmp_path: Path) -> None:
    source, target = f"agent:{ada.agent.name}", tmp_path / "a.plain"
    dry = converted(ada.context, source, "plain", target, never, dry_run=True).to_json()
    assert_nothing_left(ada.context, target)
    real = converted(ada.context, source, "plain", target, always).to_json()
    assert {**dry, "dry_run": False} == real
    assert real["bytes"] == target.stat().st_size


def test_a_dry_run_makes_no_key(context: Context, plain: Path) -> None:
    done = converted(context, plain, "alf", None, dry_run=True)
    assert done.bytes and done.target is None
    assert not (context.home.keys_folder / "device.json").exists() and not list(context.home.keys_folder.iterdir())


def test_an_archive_sealed_as_a_whole_is_read_and_its_conversion_stays_sealed(ada: Protected, tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    source, sealed = f"agent:{ada.agent.name}", tmp_path / "a.alf.age"
    converted(ada.context, source, "alf", sealed, seal=lambda _: ArchiveEncryption())
    target = tmp_path / "a.plain.age"
    done = converted(
        ada.context, sealed, "plain", target, always, seal=lambda archive: ArchiveEncryption() if archive else None
    )
    assert done.encryption is not None and b"PLAIN" not in target.read_bytes()
    back = converted(ada.context, target, "plain", tmp_path / "b.plain")
    assert back.read is not None and len(back.read) == back.records
    assert_nothing_left(ada.context, tmp_path / "no")
    with raises_code(ExchangeError.MISLEADING_NAME):
        converted(ada.context, target, "plain", tmp_path / "c.plain.age")


def test_the_ending_of_a_name_says_that_a_file_is_pressed(context: Context, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.plain.gz"
    converted(context, plain, "plain", target)
    assert gzip.decompress(target.read_bytes()).decode().startswith("PLAIN Juniper\n")


def test_a_file_that_is_there_stays_unless_force_is_given(context: Context, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.alf"
    target.write_text("mine")
    with raises_code(ExchangeError.FILE_EXISTS):
        converted(context, plain, "alf", target)
    assert target.read_text() == "mine"
    converted(context, plain, "alf", target, force=True)
    assert len(memories(target)) == 2


def test_what_stops_a_conversion_leaves_no_file(
    context: Context, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(self: Any, state: Any, target: Any, *more: Any) -> None:
        target.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(PlainFormat, "write", stopped)
    with pytest.raises(KeyboardInterrupt):
        converted(context, plain, "plain", tmp_path / "b.plain")
    assert_nothing_left(context, tmp_path / "b.plain")


# Running instances --------------------------------------------------------------------------------------------------


def test_what_was_sent_is_remembered_and_not_sent_again(context: Context, plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    address = f"plain://{folder}"
    converted(context, plain, "plainserver", address)
    again = converted(context, plain, "plainserver", address)
    assert again.written is not None
    assert {fate.outcome for fate in again.written} == {ItemOutcome.DEDUPLICATED}
    assert len(list(folder.iterdir())) == 2
    (notes,) = context.home.instances_folder.iterdir()
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600
    assert "tea." not in notes.read_text() and str(folder) not in notes.read_text()


def test_an_instance_that_stops_answering_is_gone_on_with_where_it_was(
    context: Context, plain: Path, tmp_path: Path, plain_formats: dict[str, PlainFormat]
) -> None:
    folder, server = tmp_path / "server", plain_formats["plainserver"]
    folder.mkdir()
    assert isinstance(server, PlainInstance)
    server.fails_after = 1
    with pytest.raises(InstanceFailed):
        converted(context, plain, "plainserver", f"plain://{folder}")
    server.fails_after = None
    done = converted(context, plain, "plainserver", f"plain://{folder}")
    assert done.written is not None
    assert sorted(fate.outcome for fate in done.written) == [ItemOutcome.ACCEPTED, ItemOutcome.DEDUPLICATED]
    assert len(list(folder.iterdir())) == 2


def test_a_dry_run_sends_nothing_and_remembers_nothing(context: Context, plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    converted(context, plain, "plainserver", f"plain://{folder}", dry_run=True)
    converted(context, f"plain://{folder}", "plain", None, dry_run=True)
    assert not list(folder.iterdir())
    assert not context.home.instances_folder.exists()


def test_notes_that_do_not_parse_are_named_and_kept(context: Context) -> None:
    with open_instance_notes(context, "plain", "plain://x") as notes:
        notes["ids"] = {"a": 1}
    (path,) = context.home.instances_folder.iterdir()
    path.write_text("{")
    with pytest.raises(ExchangeError, match="cannot be parsed"), open_instance_notes(context, "plain", "plain://x"):
        pass
    assert path.read_text() == "{"
    (finding,) = instances.check(context)
    assert (finding.level, finding.subject) == ("warning", path.name)
    assert finding.fix == f"mv {path} {path}.damaged"


def test_the_doctor_knows_of_instances_only_where_there_are_some(context: Context) -> None:
    assert list(instances.check(context)) == []
    with open_instance_notes(context, "plain", "plain://x") as notes:
        notes["ids"] = {"a": 1}
    assert [finding.level for finding in instances.check(context)] == ["ok"]


def test_notes_are_there_again_and_may_go(context: Context) -> None:
    with open_instance_notes(context, "plain", "plain://x") as notes:
        notes["a"], notes["b"] = 1, 2
        del notes["a"]
    with open_instance_notes(context, "plain", "plain://x") as notes:
        assert dict(notes) == {"b": 2}
    with open_instance_notes(context, "plain", "plain://x#as=ada") as notes:
        assert dict(notes) == {"b": 2}
    with open_instance_notes(context, "plain", "plain://y") as notes:
        assert dict(notes) == {}


# What is refused ----------------------------------------------------------------------------------------------------


def test_options_of_another_format_or_direction_are_refused(context: Context, plain: Path, tmp_path: Path) -> None:
    for to, given in (("alf", {"sign": True}), ("plain", {"nonsense": "x"}), ("plainserver", {"case": "upper"})):
        with raises_code(ExchangeError.OPTION_REFUSED, match=next(iter(given))):
            converted(context, plain, to, tmp_path / "x", given=given)
    with raises_code(ExchangeError.OPTION_REFUSED, match="one of"):
        converted(context, plain, "plain", tmp_path / "x", given={"case": "lower"})
    with raises_code(ExchangeError.OPTION_REFUSED, match="existing file"):
        converted(context, plain, "alf", tmp_path / "x", given={"words": str(tmp_path / "no")})
    with raises_code(ExchangeError.OPTION_REFUSED, match="producer"):
        converted(context, plain, "alf", tmp_path / "x", producer="Évil Name")
    assert not (tmp_path / "x").exists()


def test_options_count_in_their_direction(context: Context, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.plain"
    converted(context, plain, "plain", target, given={"prefix": "Now: ", "case": "upper"})
    assert "NOW: LIKES GREEN TEA." in target.read_text()


def test_what_is_no_source_or_no_target_is_refused_in_words(context: Context, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(NoInstance):
        converted(context, plain, "plain", "plain://x")
    with pytest.raises(NoInstance):
        converted(context, plain, "plainserver", tmp_path / "file")
    with raises_code(ExchangeError.OPTION_REFUSED):
        converted(context, plain, "alf", "https://example.com")
    with pytest.raises(UnknownFormat):
        converted(context, plain, "nonsense", tmp_path / "x")
    with pytest.raises(ExchangeError, match="not an ALF archive"):
        converted(context, plain, "plain", tmp_path / "x", named="alf")
    with pytest.raises(ExchangeError):
        converted(context, tmp_path / "absent", "alf", tmp_path / "x")
    with pytest.raises(ExchangeError):
        converted(context, tmp_path, "alf", tmp_path / "x")
    (tmp_path / "odd").write_bytes(b"\0\1\2")
    with pytest.raises(UnknownFormat):
        converted(context, tmp_path / "odd", "alf", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_an_agent_without_history_has_nothing_to_convert(ada: Protected, tmp_path: Path) -> None:
    from lifeboat_core.agents import manage_agents as registry
    from lifeboat_core.agents.agent import Agent

    empty = Agent("019a0000-0000-7000-8000-00000000eeee", "Empty", "openclaw", tmp_path / "empty")
    registry.register_agent(ada.context, empty)
    ada.context.create_vault(empty.id).close()
    with raises_code(ExchangeError.NOTHING_TO_EXPORT):
        converted(ada.context, "agent:Empty", "alf", tmp_path / "x")


def test_two_conversions_with_one_instance_wait_for_each_other(context: Context) -> None:
    import subprocess
    import sys

    program = (
        "from lifeboat_core.home.context import Context\n"
        "from lifeboat_core.exchange.instance_notes import open_instance_notes\n"
        "with open_instance_notes(Context.open(), 'plain', 'plain://x'): pass\n"
    )
    with open_instance_notes(context, "plain", "plain://x"):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=patience(), check=False)
    assert Busy.__name__ in ended.stderr.decode()


# As a command -------------------------------------------------------------------------------------------------------


def test_the_command_asks_is_refused_and_says_why(
    ada: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.context.home.folder))
    source, target = f"agent:{ada.agent.name}", tmp_path / "a.plain"
    error = run("alf", "convert", source, "--to", "plain", "-o", target, expect=3)["error"]
    assert error["code"] == "would_lose" and "memory" in error["message"]
    assert not target.exists()
    document = run("alf", "convert", source, "--to", "plain", "-o", target, "--yes")
    assert document["target"] == {"name": str(target), "format": "plain"}
    assert document["groups"][0]["code"] == "facts_only"
    assert json.dumps(document)


def test_a_person_is_shown_the_losses_and_asked_and_a_no_writes_nothing(
    ada: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def no(question: str, **_: object) -> None:
        asked.append(question)
        raise click.Abort

    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.context.home.folder))
    monkeypatch.setattr(alf_convert, "can_ask", lambda session: True)
    monkeypatch.setattr(click, "confirm", no)
    target = tmp_path / "a.plain"
    words = ["alf", "convert", f"agent:{ada.agent.name}", "--to", "plain", "-o", str(target)]
    assert program.run_command(words) == program.INTERRUPTED
    assert "3 memories omitted: it holds facts only" in capsys.readouterr().err
    assert len(asked) == 1 and "leave 3 items out" in asked[0]
    assert_nothing_left(ada.context, target)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    assert program.run_command(words) == 0
    said = capsys.readouterr().out
    assert str(target) in said and "Written:" in said and "it holds facts only" in said


def test_what_a_receipt_names_steers_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.plain"
    source.write_text("PLAIN \x1b[31mred\x1b[0m\n\x1b]0;owned\x07\tnever\n")
    assert program.run_command(["alf", "convert", str(source), "--to", "alf", "--dry-run"]) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err


def test_the_command_ends_with_1_where_something_was_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.plain"
    source.write_text(FILE + "broken\n")
    run("alf", "convert", source, "--to", "alf", "-o", tmp_path / "a.alf", "--yes", expect=1)
    run("alf", "convert", source, "--to", "alf", "-o", tmp_path / "b.alf", "--yes", "--allow-partial")
    assert memories(tmp_path / "a.alf") == memories(tmp_path / "b.alf")


def test_the_command_wants_a_target_unless_nothing_is_written(plain: Path) -> None:
    run("alf", "convert", plain, "--to", "alf", expect=2)
    assert run("alf", "convert", plain, "--to", "alf", "--dry-run")["target"] == {"name": None, "format": "alf"}


def test_what_was_converted_is_imported_as_an_agent(plain: Path, tmp_path: Path) -> None:
    run("alf", "convert", plain, "--to", "alf", "-o", tmp_path / "a.alf")
    document = run("alf", "import", tmp_path / "a.alf", "--to", tmp_path / "agent", "--runtime", "openclaw")
    assert document["name"] == "Juniper"
    texts = "".join(path.read_text() for path in (tmp_path / "agent").rglob("*.md"))
    assert "Likes green tea." in texts and "The boat is red." in texts


def test_the_options_of_the_installed_formats_do_not_contradict_each_other() -> None:
    for name, owners in conversion_options.list_options().items():
        assert len({(option.kind, option.choices, option.default) for _, option in owners}) == 1, name
        assert all(len(option.help) <= 62 for _, option in owners), name


def test_a_receipt_lists_so_many_things_and_counts_all(context: Context, tmp_path: Path) -> None:
    source = tmp_path / "a.plain"
    source.write_text(FILE + "broken\n" * (FATES_LIMIT + 5))
    document = converted(context, source, "alf", None, dry_run=True).to_json()
    assert (len(document["fates"]), document["fates_left_out"]) == (FATES_LIMIT, 5)
    assert document["groups"][0]["count"] == FATES_LIMIT + 5
    assert len(group_fates([])) == 0


# Checking -----------------------------------------------------------------------------------------------------------


def test_validate_checks_a_file_of_another_system_by_its_own_rules(tmp_path: Path) -> None:
    file = tmp_path / "a.plain"
    file.write_text(FILE)
    assert run("alf", "validate", file) | {"warnings": []} == {
        "ok": True, "errors": [], "warnings": [], "error_count": 0, "warning_count": 0, "format": "plain",
    }  # fmt: skip
    file.write_text(FILE + "broken\nx\t2026-01-01T00:00:00Z\ty \n")
    document = run("alf", "validate", file, expect=1)
    assert document["errors"] == [{"code": "cells", "message": "a line has three cells", "entry": "a.plain", "line": 4}]
    assert (document["warning_count"], document["warnings"][0]["line"]) == (1, 5)


def test_warnings_of_another_system_count_where_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.plain"
    file.write_text(FILE + "x\t2026-01-01T00:00:00Z\ty \n")
    assert run("alf", "validate", file)["warning_count"] == 1
    assert run("alf", "validate", file, "--strict", expect=1)["ok"] is False


def test_validate_reads_sealed_files_too(ada: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyrage")
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.context.home.folder))
    sealed = tmp_path / "a.plain.age"
    converted(ada.context, f"agent:{ada.agent.name}", "plain", sealed, always, seal=lambda _: ArchiveEncryption())
    assert run("alf", "validate", sealed)["format"] == "plain"
    (tmp_path / "odd").write_bytes(b"\0\1\2")
    assert run("alf", "validate", tmp_path / "odd", expect=1)["format"] == "alf"


def test_two_conversions_into_one_file_write_one_after_the_other(
    context: Context, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "juniper.alf"
    held = FileLock(f"{context.home.locks_folder / locks.make_lock_name(target)}.lock")
    monkeypatch.setattr(locks, "FILE_SECONDS", 0.1)
    converted(context, plain, "alf", tmp_path / "first.alf")
    with held, pytest.raises(Busy):
        converted(context, plain, "alf", target)
    assert not target.exists()
    assert converted(context, plain, "alf", target).records == 2
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.endswith(".lock")) == []
