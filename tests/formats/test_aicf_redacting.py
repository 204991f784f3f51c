from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.interchange.errors import SecretsFound
from support.formats import aicf_files
from support.formats import aicf_states as states

MAIL, PHONE, SSN = "ada@example.com", "+1 (555) 234-5678", "123-45-6780"
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2


def _state(*texts: str) -> MemoryState:
    return MemoryState().add_all(make_record(text) for text in texts)


def test_what_is_found_is_counted_always() -> None:
    data, made = states.written(_state(f"Write to {MAIL}.", f"Call {PHONE} or {MAIL}."))
    assert MAIL.encode() in data
    assert (made.figures["found_email"], made.figures["found_phone"]) == (2, 1)


@pytest.mark.parametrize("dialect", ["v3.1", "compiled", "blocks"])
def test_what_is_found_is_redacted_when_asked(dialect: str) -> None:
    state = _state(f"Write to {MAIL}.\nCall {PHONE}.", "Nothing here.")
    state.add(make_record("Tagged.", tags=[MAIL], x_other={"mail": f"line\n{MAIL}"}))
    data, made = states.written(state, dialect=dialect, redact=True)
    assert MAIL.encode() not in data and b"234-5678" not in data
    texts = states.contents(each for _, each in file_memories.read_memories(data, "x.aicf").memories())
    assert "Write to [redacted:email].\nCall [redacted:phone]." in texts
    assert [fate.code for fate in made.fates].count("redacted") == 1


def test_a_file_is_redacted_in_place(tmp_path: Path) -> None:
    rows = f"@INSIGHTS\n@INSIGHTS ask\\n{MAIL} first|DATA|LOW|LOW\n@INSIGHTS sea|DATA|LOW|LOW\n"
    text = f"# by {MAIL}\n{rows}@MYSTERY:{MAIL}\nmail={MAIL}\ncall:555-234-5678=1\n"
    state = states.state_in(tmp_path, "a.aicf", text.encode())
    data, _ = states.written(state, redact=True)
    assert data.decode() == text.replace(MAIL, "[redacted:email]").replace("555-234-5678", "[redacted:phone]")


def test_a_number_behind_an_escaped_line_end_is_found(tmp_path: Path) -> None:
    text = "@INSIGHTS\n@INSIGHTS her number:\\n555-234-5678|DATA|LOW|LOW\n"
    data, made = states.written(states.state_in(tmp_path, "a.aicf", text.encode()), redact=True)
    assert b"234-5678" not in data and made.figures["found_phone"] == 1


@pytest.mark.parametrize("name", ["D10b-json-web", "D11-xml", "D6-escaped-blocks"])
def test_forms_that_cannot_be_changed_in_place_are_clean_as_well(tmp_path: Path, name: str) -> None:
    words = {"D10b-json-web": b"Wood bends in the sun", "D11-xml": b"Fish", "D6-escaped-blocks": b"Diesel"}
    data = aicf_files.FILES[name].replace(words[name], MAIL.encode())
    assert MAIL.encode() in data
    file = "a.json" if "json" in name else "a.aicf"
    made, _ = states.written(states.state_in(tmp_path, file, data), redact=True)
    assert MAIL.encode() not in made and b"[redacted:email]" in made


def test_words_of_the_user_are_redacted(tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    listed.write_text("Tanglewood\n")
    data, made = states.written(_state("The boat is the Tanglewood."), detect=str(listed), redact=True)
    assert b"Tanglewood" not in data and made.figures["found_listed"] == 1


def test_a_secret_stops_everything() -> None:
    with pytest.raises(SecretsFound):
        states.written(_state(f"The key is {KEY}"))


def test_a_secret_goes_where_the_user_says_so() -> None:
    data, made = states.written(_state(f"The key is {KEY}"), **{"allow-secrets": True})
    assert KEY.encode() in data and made.figures["found_secret"] == 1


def test_a_secret_in_a_comment_of_a_file_stops_everything(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", f"# api_key={KEY}\n@INSIGHTS\n@INSIGHTS sea|A|B|C\n".encode())
    with pytest.raises(SecretsFound):
        states.written(state)


def test_vectors_and_ids_are_no_personal_numbers(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    for dialect in ("same", "v3.1"):
        _, made = states.written(state, dialect=dialect)
        assert {name: count for name, count in made.figures.items() if name.startswith("found_") and count} == {}
