"""Pages of the purge wizard. They hold widgets and the user's choices, and run no command."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, RadioSet, Static

from lifeboat_core.documents.purge_documents import Purged
from lifeboat_core.texts.human_text import count_text
from lifeboat_tui.cell_text import make_plain
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.screens.purge.painted_lines import paint_lines
from lifeboat_tui.screens.purge.purge_command import (
    REASONS,
    PurgeChoices,
    PurgeSubject,
    build_confirmation_phrase,
    is_option_applicable,
)
from lifeboat_tui.screens.purge.purge_plan_texts import (
    COLUMNS,
    REVOKE,
    build_purge_rows,
    describe_purge_plan,
    list_purge_remarks,
)
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.hidden_input import HiddenInput, drop_final_break
from lifeboat_tui.widgets.text_toggles import TextCheckbox, TextRadioButton

NOTHING_BRINGS_BACK = "A purge cannot be undone: it destroys the data on every remote too."
_WHAT = {
    PurgeSubject.TEXT: "a text",
    PurgeSubject.PATTERN: "a pattern (regular expression)",
    PurgeSubject.RECORDS: "memories with these ids",
    PurgeSubject.ALL: "the whole agent",
}
_OPTIONS = {
    "memory": "every memory that contains the text, not only the matching passage",
    "only": "only this version of the memory, not earlier or later versions",
    "derived": "also memories that were derived only from this memory",
    "workspace": "also remove the text from the workspace; otherwise only captures leave it out",
    "keep_print": "keep a fingerprint (hash) of a guessable text, to recognise the text later",
}


class PurgeSearchPage(VerticalScroll, can_focus=False):
    """Page for the subject, the scope and the reason of the purge."""

    DEFAULT_CSS = """
    PurgeSearchPage { padding: 0 1; }
    PurgeSearchPage .revoke { color: $text-warning; height: auto; margin-bottom: 1; }
    PurgeSearchPage Horizontal, PurgeSearchPage Vertical { height: auto; }
    PurgeSearchPage .label { color: $text-muted; }
    PurgeSearchPage .gone { display: none; }
    PurgeSearchPage TextCheckbox { height: 1; }
    """

    def __init__(self, records: tuple[str, ...]) -> None:
        super().__init__(id="search")
        self._records = records

    def compose(self) -> ComposeResult:
        chosen = PurgeSubject.RECORDS if self._records else PurgeSubject.TEXT
        yield Static(REVOKE, classes="revoke", markup=False)
        with Horizontal():
            with Vertical():
                yield Static("What to purge", classes="label", markup=False)
                kinds = (TextRadioButton(said, value=name is chosen, id=name) for name, said in _WHAT.items())
                yield RadioSet(*kinds, id="what", compact=True)
            with Vertical():
                yield Static("Reason (stored in the receipt)", classes="label", markup=False)
                reasons = (
                    TextRadioButton(said, value=at == 0, id=name) for at, (name, said) in enumerate(REASONS.items())
                )
                yield RadioSet(*reasons, id="reason", compact=True)
        yield HiddenInput(
            "hidden while you type, and never written to a log or a file",
            id="text",
            pasted=drop_final_break,
            takes_words=True,
        )
        yield Input(" ".join(self._records), placeholder="ids of memories, separated by spaces", id="records")
        for name, said in _OPTIONS.items():
            yield TextCheckbox(said, id=name, compact=True)

    def on_mount(self) -> None:
        self.suit()

    @on(RadioSet.Changed, "#what")
    def suit(self) -> None:
        """Show only the fields and options that apply to the chosen subject."""
        wanted = self.wanted()
        self.query_one("#text").set_class(not wanted.needs_text, "gone")
        self.query_one("#records").set_class(wanted.what is not PurgeSubject.RECORDS, "gone")
        for name in _OPTIONS:
            self.query_one(f"#{name}").set_class(not is_option_applicable(wanted.what, name), "gone")

    def wanted(self) -> PurgeChoices:
        """Return the choices made so far."""
        what, reason = (self.query_one(name, RadioSet).pressed_button for name in ("#what", "#reason"))
        ticked = {name: self.query_one(f"#{name}", TextCheckbox).value for name in _OPTIONS}
        return PurgeChoices(
            PurgeSubject.TEXT if what is None or what.id is None else PurgeSubject(what.id),
            tuple(self.query_one("#records", Input).value.replace(",", " ").split()),
            reason=next(iter(REASONS)) if reason is None or reason.id is None else reason.id,
            **ticked,
        )

    @property
    def field(self) -> HiddenInput:
        return self.query_one("#text", HiddenInput)

    def focus_first(self) -> None:
        """Focus the field to fill in, or the choice of the subject."""
        for name in ("#text", "#records", "#what"):
            found = self.query_one(name)
            if not found.has_class("gone"):
                found.focus()
                return


class PurgePreviewPage(Vertical):
    """Page with the preview of the purge."""

    DEFAULT_CSS = """
    PurgePreviewPage #headline { height: auto; max-height: 4; padding: 0 1; text-style: bold; }
    PurgePreviewPage #places { height: 1fr; min-height: 4; }
    PurgePreviewPage #remarks { height: auto; max-height: 40%; padding: 0 1; border: round $secondary; }
    PurgePreviewPage #remarks:focus { border: round $border; }
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="preview")
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Static("", id="headline", markup=False)
        yield FilteredTable(
            COLUMNS,
            title="Places",
            empty="The list is empty: no place contains the text.",
            glyphs=self._glyphs,
            id="places",
        )
        with VerticalScroll(id="remarks") as scroll:
            scroll.border_title = "Notes"
            yield Static("", id="remarks-text")

    def show(self, plan: Purged | None, wanted: PurgeChoices) -> None:
        """Show a plan, or that the preview is still running for None."""
        listing = self.query_one("#places", FilteredTable)
        listing.table.empty = _no_place(plan)
        if plan is None:
            self.query_one("#headline", Static).update("Searching...")
            listing.table.show([])
            self.query_one("#remarks-text", Static).update("")
            return
        self.query_one("#headline", Static).update(make_plain(describe_purge_plan(plan)))
        listing.table.show(build_purge_rows(plan))
        self.query_one("#remarks-text", Static).update(paint_lines(list_purge_remarks(plan, wanted), self._glyphs))


def _no_place(plan: Purged | None) -> str:
    if plan is None:
        return ""
    if plan.is_whole:
        return "All data of this agent will be purged, so single places are not listed."
    if plan.is_empty:
        return "The text was not found. Press esc to go back and check the spelling, or search for a pattern."
    return "The memories with these ids will be purged, and also their text in the files that they came from."


class PurgeConfirmPage(VerticalScroll, can_focus=False):
    """Page that asks for the confirmation phrase, and for second tokens of remotes where the purge would be pending."""

    DEFAULT_CSS = """
    PurgeConfirmPage { padding: 0 1; }
    PurgeConfirmPage Static { height: auto; margin-bottom: 1; }
    PurgeConfirmPage #asked { text-style: bold; }
    PurgeConfirmPage .label { margin: 0; color: $text-muted; }
    PurgeConfirmPage #tokens { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__(id="confirm")
        self._phrase = ""
        self._names: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("", id="asked", markup=False)
        yield Static("", id="typed", classes="label", markup=False)
        yield Input(id="phrase", select_on_focus=False)
        yield Vertical(id="tokens")

    async def show(self, plan: Purged) -> None:
        """Ask for the phrase, with token fields for the remotes where the purge would be pending."""
        self._phrase = build_confirmation_phrase(plan)
        self._names = [each.name for each in plan.remotes if each.waits and each.state is None]
        self.query_one("#asked", Static).update(
            "\n".join(map(make_plain, (describe_purge_plan(plan), NOTHING_BRINGS_BACK)))
        )
        self.query_one("#typed", Static).update(make_plain(f"Type  {self._phrase}  to continue:"))
        self.query_one("#phrase", Input).value = ""
        fields = [field for at, name in enumerate(self._names) for field in _token_fields(at, name)]
        await self.query_one("#tokens", Vertical).remove_children()
        await self.query_one("#tokens", Vertical).mount_all(fields)

    @property
    def is_typed(self) -> bool:
        return bool(self._phrase) and self.query_one("#phrase", Input).value.strip() == self._phrase

    @property
    def phrase(self) -> str:
        return self._phrase

    def type(self, letter: str) -> bool:
        """Append a letter typed while the button had the focus. Returns False if the letter does not continue the
        phrase; then it is a key of the screen."""
        field = self.query_one("#phrase", Input)
        if not letter or not self._phrase.startswith(field.value + letter):
            return False
        field.focus()
        field.insert_text_at_cursor(letter)
        return True

    def take_tokens(self) -> dict[str, str]:
        """Return second tokens by name of the remote, and clear the fields."""
        fields = list(self.query("#tokens HiddenInput").results(HiddenInput))
        taken = {name: field.take().strip() for name, field in zip(self._names, fields, strict=True)}
        return {name: token for name, token in taken.items() if token}


def _token_fields(at: int, name: str) -> Sequence[Static | HiddenInput]:
    said = (
        f"The endpoint {name} waits 24 hours before it purges. To purge there immediately, type the token "
        "with the scope purge, which the operator of the endpoint has."
    )
    label = Static(make_plain(said), classes="label", markup=False)
    return label, HiddenInput("hidden; used once and not stored", id=f"token-{at}")


class PurgeProofPage(VerticalScroll, can_focus=True):
    """Page with the result of the purge."""

    DEFAULT_CSS = """
    PurgeProofPage { padding: 0 1; }
    PurgeProofPage Static { height: auto; }
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="proof")
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Static("", id="proof-text")

    def show(self, lines: Sequence[tuple[str, str]]) -> None:
        self.query_one("#proof-text", Static).update(paint_lines(lines, self._glyphs) if lines else Content(""))


def describe_other_agents(names: Sequence[str]) -> str:
    """Return the sentence on the agents that remain to be purged."""
    said = count_text(len(names), "other agent contains the text", "other agents contain the text")
    return f"{said} too. Press o to purge it there." if names else ""
