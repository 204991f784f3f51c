"""An action happens as it was shown and confirmed: to that agent, once, and not at all with `--readonly`."""

from __future__ import annotations

import copy

import pytest
from textual.widgets import Button

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.link.read_only_link import ReadOnlyLink, ReadOnlyRefusal
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens import screen_registry
from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard
from support.tui.pilots import dashboard, notes, press, recorded, settled

pytestmark = pytest.mark.anyio
WRITE = (
    *(("sync",), ("undo", "a"), ("restore", "a", "--yes"), ("purge", "a", "--all", "--yes"), ("label", "a", "1", "x")),
    *(("records", "forget", "a", "m"), ("agents", "accept", "a"), ("agents", "add", "/w"), ("agents", "pause", "a")),
    *(("keys", "init"), ("keys", "rotate", "--yes"), ("keys", "unlock"), ("keys", "export-kit", "-o", "/k")),
    *(("config", "set", "a", "b"), ("remote", "add", "a", "b"), ("remote", "remove", "a"), ("remote", "test", "a")),
    *(("receipts", "confirm", "r"), ("receipts", "export", "r", "-o", "/f"), ("doctor", "--bundle", "/f")),
    *(("daemon", "start"), ("daemon", "stop"), ("service", "install"), ("restore", "a", "--dry-run", "--yes")),
    *(("proposals", "accept", "a", "1"), ("proposals", "reject", "a", "1"), ("review", "a", "--approve", "m")),
    *(("review", "a", "--approve-all"), ("review", "a", "--undo", "m")),
)


def status_of(link: RecordedLink) -> JsonObject:
    return copy.deepcopy(link._answers[("status",)].document)


async def test_what_is_confirmed_of_an_agent_never_happens_to_the_one_that_took_its_place() -> None:
    link = recorded()
    status = status_of(link)
    held = next(one for one in status["agents"] if one["state"] == "held")
    link.answers(["agents", "accept"], {})
    async with dashboard(link, agent=held["id"]) as pilot:
        await press(pilot, "A")
        link.answers(["status"], {**status, "agents": [one for one in status["agents"] if one["id"] != held["id"]]})
        link.happens({"event": "gone", "agent": held["id"]})
        await settled(pilot)
        await settled(pilot)
        await press(pilot, "right", "enter")
        said = [words for words, _ in link.asked if words[:2] == ("agents", "accept")]
        assert said == [("agents", "accept", held["id"])]


async def test_a_restore_is_done_once_however_often_its_key_was_pressed() -> None:
    link = recorded()
    agent = status_of(link)["agents"][0]["id"]
    async with dashboard(link) as pilot:
        pilot.app.push_screen(RestoreWizard(agent, at="44", paths=("*",)))
        await settled(pilot)
        for _ in range(5):
            pilot.app.screen.do_run()  # type: ignore[attr-defined]
        await settled(pilot)
        assert len([words for words, _ in link.asked if words[0] == "restore" and "--yes" in words]) == 1


@pytest.mark.parametrize("words", WRITE, ids=" ".join)
async def test_a_link_that_only_looks_runs_nothing_that_changes_something(words: tuple[str, ...]) -> None:
    link = recorded()
    for run in (ReadOnlyLink(link).run, ReadOnlyLink(link).run_text):
        with pytest.raises(ReadOnlyRefusal):
            await run(*words)
    assert not link.asked


@pytest.mark.parametrize(
    "words",
    (("review", "a", "--limit", "5"), ("proposals", "list", "a"), ("proposals", "show", "a", "1")),
    ids=" ".join,
)
async def test_a_link_that_only_looks_shows_changes_and_proposals(words: tuple[str, ...]) -> None:
    link = recorded()
    link.answers(words, {"a": 1})
    assert (await ReadOnlyLink(link).run(*words)).document == {"a": 1}


async def test_a_link_that_only_looks_shows_what_would_be_done() -> None:
    link = recorded()
    link.answers(["purge"], {"a": 1})
    assert await ReadOnlyLink(link).run("purge", "a", "--dry-run", "--text-stdin", text="x\n") == CommandAnswer(
        0, {"a": 1}
    )
    assert link.asked == [(("purge", "a", "--dry-run", "--text-stdin"), "x\n")]


@pytest.mark.parametrize("name", sorted(screen_registry.PLACES))
async def test_with_readonly_no_key_and_no_button_of_a_screen_asks_for_a_change(name: str) -> None:
    link = recorded()
    async with dashboard(link, screen=name, agent=status_of(link)["agents"][0]["id"], readonly=True) as pilot:
        screen = pilot.app.screen
        for act in screen.acts():  # type: ignore[attr-defined]
            if act.writes:
                await screen.action_act(act.name)  # type: ignore[attr-defined]
                await settled(pilot)
        for button in screen.query(Button):
            if button.id not in ("cancel", "close"):
                button.post_message(Button.Pressed(button).set_sender(button))
                await settled(pilot)
        looking = ReadOnlyLink(recorded())
        for words, text in link.asked:
            try:
                await looking.run(*words, text=text)
            except ReadOnlyRefusal:
                pytest.fail(f"{words} was asked for")


async def test_a_mistake_beside_the_screen_is_told_without_its_text_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = recorded()

    async def mistaken(self: object) -> None:
        raise ValueError("swordfish")

    async with dashboard(link) as pilot:
        monkeypatch.setattr(type(pilot.app.screen), "load", mistaken)
        await press(pilot, "ctrl+r")
        assert "An internal error occurred" in notes(pilot)[-1] and "ValueError" in notes(pilot)[-1]
        assert not any("swordfish" in note for note in notes(pilot))


async def test_the_dashboard_hears_of_what_happens_after_a_screen_could_not_take_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link, heard = recorded(), []

    def handle_event(self: object, event: JsonObject) -> None:
        heard.append(event["event"])
        if event["event"] == "strange":
            raise KeyError("swordfish")

    async with dashboard(link) as pilot:
        monkeypatch.setattr(type(pilot.app.screen), "handle_event", handle_event)
        link.happens({"event": "strange"})
        link.happens({"event": "capture"})
        await settled(pilot)
        assert "capture" in heard
        assert any("KeyError" in note for note in notes(pilot))
