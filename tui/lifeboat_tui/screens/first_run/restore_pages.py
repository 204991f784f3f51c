"""First-run pages that restore an agent: which one, for which runtime, into which directory; then preview and
restore."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, RadioSet, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.remote_documents import Away, There
from lifeboat_core.documents.restore_documents import Done, Files, Plan
from lifeboat_core.texts.human_text import quote_argument, time_text
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.cell_text import format_short_age, format_size, make_plain
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage, MissingInput, parse_folder
from lifeboat_tui.screens.restore.restore_texts import build_takeover_dialog
from lifeboat_tui.widgets.row_table import RowTable, TableCell, TableColumn, TableRow
from lifeboat_tui.widgets.text_toggles import TextRadioButton

COLUMNS = (
    TableColumn("AGENT", 12, grow=1),
    TableColumn("RUNTIME", 9, rank=2),
    TableColumn("SEQUENCE", 8, right=True),
    TableColumn("WRITTEN", 12),
    TableColumn("BY", 10, grow=1, rank=1),
    TableColumn("SIZE", 9, rank=3, right=True),
    TableColumn("", 12, rank=4),
)


class RestoreAgentPage(FirstRunPage):
    """Page with the agents that the remote holds."""

    STEP = "Agent"
    NEEDED = True

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._agents: tuple[Away, ...] = ()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield RowTable(COLUMNS, glyphs=self.first_run.glyphs, id="there")

    def twin(self) -> tuple[str, ...]:
        return ("agents", "list", "--remote", self.known.remote)

    async def begin(self) -> None:
        self.say(f"Loading the agents on {self.known.remote}...")
        self._agents = (await self.fetch(There, *self.twin())).agents
        table = self.query_one(RowTable)
        table.empty = f"The remote {make_plain(self.known.remote)} contains no agent yet."
        table.show([self._row(one) for one in self._agents])
        self.say("Choose the agent to restore.")

    def _row(self, one: Away) -> TableRow:
        number = "" if one.sequence is None else str(one.sequence)
        when = format_short_age(one.written_at or one.time, self.first_run.link.now())
        here = "" if one.here is None else "on this machine"
        cells = (TableCell(one.name or one.id, "strong"), TableCell(one.runtime, "muted"), number, when, one.machine)
        return TableRow(one.id, (*cells, format_size(one.bytes), TableCell(here, "muted")))

    async def go_on(self, tell: Tell) -> bool:
        row = self.query_one(RowTable).current
        chosen = next((one for one in self._agents if row is not None and one.id == row.key), None)
        if chosen is None:
            raise MissingInput(f"the remote {self.known.remote} contains no agent to restore")
        if chosen.here is not None:
            raise MissingInput(f"{chosen.here} is already on this machine; to restore it, open its timeline")
        if chosen.sequence is None:
            raise MissingInput(f"the remote {self.known.remote} contains no captured state of {chosen.name} yet")
        self.known.agent = chosen
        return True


class RestoreTargetPage(FirstRunPage):
    """Page for runtime and target directory. Its step makes the preview, which writes nothing."""

    STEP = "Folder"
    YES = "Preview"
    NEEDED = True
    DEFAULT_CSS = "RestoreTargetPage > RadioSet { width: 100%; margin-bottom: 1; }"

    def compose(self) -> ComposeResult:
        yield from super().compose()
        agent = self.known.agent
        assert agent is not None
        yield Static("Runtime", classes="label", markup=False)
        with RadioSet(id="runtime", compact=True):
            for runtime in self._runtimes():
                yield TextRadioButton(runtime, value=runtime == agent.runtime, name=runtime)
        yield Static("Folder on this machine", classes="label", markup=False)
        yield Input(agent.folders.get(agent.runtime, ""), id="folder")

    def _runtimes(self) -> list[str]:
        agent = self.known.agent
        assert agent is not None
        return list(agent.folders) or [agent.runtime]

    def twin(self) -> tuple[str, ...]:
        return ("restore", *self._words(), "--dry-run")

    def _words(self) -> tuple[str, ...]:
        agent = self.known.agent
        assert agent is not None
        runtime = self._runtime()
        other = () if runtime == agent.runtime else ("--runtime", runtime)
        folder = parse_folder(self.value("folder"))
        return (agent.id, "--from", self.known.remote, "--to", folder, *other, "--with-credentials")

    def _runtime(self) -> str:
        button = self.query_one(RadioSet).pressed_button
        agent = self.known.agent
        assert agent is not None
        return agent.runtime if button is None or button.name is None else button.name

    async def begin(self) -> None:
        agent = self.known.agent
        assert agent is not None
        self.say(
            f"{agent.name or agent.id} will be restored into this folder, with its memories, files and credentials."
        )

    @on(RadioSet.Changed, "#runtime")
    def _other_runtime(self, event: RadioSet.Changed) -> None:
        """Propose the directory of the chosen runtime unless the user typed one."""
        agent, field = self.known.agent, self.query_one("#folder", Input)
        if agent is not None and field.value in ("", *agent.folders.values()):
            field.value = agent.folders.get(self._runtime(), field.value)

    async def go_on(self, tell: Tell) -> bool:
        if not self.value("folder"):
            raise MissingInput("type the folder for the agent")
        tell(CommandProgress("Downloading from the remote"))
        words = self._words()
        self.known.plan = await self.fetch(Plan, "restore", *words, "--dry-run", tell=tell)
        self.known.restore = words
        return True


class FirstRunRestorePage(FirstRunPage):
    """Page with the preview, which carries out the restore when the user presses the button."""

    STEP = "Restore"
    YES = "Restore"
    NEEDED = True

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._done: Done | None = None

    def twin(self) -> tuple[str, ...]:
        return ("restore", *self.known.restore, "--adopt")

    async def begin(self) -> None:
        plan = self.known.plan
        if self._done is not None:
            self.say(*_told(self._done))
        elif plan is not None:
            self.say(*_preview(plan))

    async def go_on(self, tell: Tell) -> bool:
        if self._done is not None:
            return True
        words = ("restore", *self.known.restore, "--adopt", "--yes")
        tell(CommandProgress("Restoring"))
        try:
            done = await self.fetch(Done, *words, tell=tell)
        except LifeboatError as error:
            if error.code != "moved_elsewhere":
                raise
            machine = await self._ask_takeover(error)
            done = await self.fetch(Done, *words, "--take-over", machine, tell=tell)
        self._done = done
        self.YES, self.NEEDED = "Continue", False
        self.say(*_told(done))
        self.first_run.lifeboat.ask_status()
        return False

    async def _ask_takeover(self, error: LifeboatError) -> str:
        """Ask for the name of the machine that wrote last, to confirm that this one takes over. Raises the error if the
        user declines."""
        agent = self.known.agent
        machine = "" if agent is None else agent.machine
        if not machine or not await self.app.push_screen_wait(build_takeover_dialog(error, machine)):
            raise error
        return machine


def _preview(plan: Plan) -> Iterator[str]:
    yield (
        f"Sequence {plan.sequence}, captured at {time_text(plan.time)}, will be restored to {plan.to} for the "
        f"runtime {plan.runtime}."
    )
    yield f"Files: {_counts(plan.files)}."
    if plan.credentials:
        back = sum(one.outcome == "injected" for one in plan.credentials)
        left = len(plan.credentials) - back
        yield f"Credentials: {back} will be restored{f', {left} will not' if left else ''}."
    if plan.files.overwritten:
        yield "Lifeboat keeps the files that it replaces. For seven days, you can undo the restore: lifeboat undo"
    yield "This machine becomes the writer of the agent; the previous writer can no longer push to the remotes."
    if plan.signature != "signed":
        yield (
            "This sequence has no valid signature, so this screen does not restore it. To restore it anyway: "
            "lifeboat restore ... --accept-unsigned"
        )
        yield from (f"A program on this machine could run: {line}" for line in plan.executable)
    for warning in plan.warnings:
        yield f"Note: {warning}"


def _told(done: Done) -> Iterator[str]:
    yield f"Sequence {done.sequence} of {done.name} was restored to {done.to}."
    yield f"Files: {_counts(done.files)}. Credentials: {done.credentials.injected} restored."
    for warning in done.warnings:
        yield f"Note: {warning}"
    for step in done.next:
        yield f"{step.title}:  {step.command}"
    yield f"To verify the agent:  lifeboat verify {quote_argument(make_plain(done.name))}"


def _counts(files: Files) -> str:
    counts = {
        "new": files.created,
        "overwritten": files.overwritten,
        "the same": files.same,
        "removed": files.removed,
        "left out": files.skipped,
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
