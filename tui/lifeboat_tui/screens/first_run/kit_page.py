"""First-run page that restores every agent from the recovery kit."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.widgets import Input, Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.setup_documents import KitAgentResult, KitRemoteResult, KitReturn
from lifeboat_core.texts.human_text import count_text, join_names
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage, MissingInput, parse_folder
from lifeboat_tui.screens.restore.restore_texts import build_takeover_dialog
from lifeboat_tui.widgets.hidden_input import HiddenInput


class RecoveryKitPage(FirstRunPage):
    """Page that reads the kit first, shows what it holds, and restores its agents when the user presses the button."""

    STEP = "Kit"
    YES = "Read the recovery kit"
    NEEDED = True

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._plan: KitReturn | None = None
        self._done: KitReturn | None = None

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static("File of the recovery kit", classes="label of-kit", markup=False)
        yield Input(placeholder="/media/stick/kit.txt", id="kit", compact=True)
        yield Static("Passphrase, if the kit is encrypted (not shown)", classes="label of-passphrase", markup=False)
        yield HiddenInput(id="passphrase", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("setup", "--kit", self.value("kit") or "FILE")

    async def begin(self) -> None:
        if self._done is not None:
            self.say(*_describe_done(self._done))
        elif self._plan is not None:
            self.say(*_describe_plan(self._plan))
        else:
            self.say(
                "A recovery kit restores your agents. It is a file that the command lifeboat keys export-kit has "
                "written.",
                "The kit contains your 24 words and the addresses of your remotes. Nothing is written before you "
                "confirm.",
            )

    def step_back(self) -> bool:
        """Choose another kit. A restore that was done stays."""
        if self._plan is None or self._done is not None:
            return False
        self._plan, self.YES = None, "Read the recovery kit"
        self.show(["kit", "passphrase"], shown=True)
        self.first_run.reload()
        return True

    async def go_on(self, tell: Tell) -> bool:
        if self._done is not None and not _list_failed(self._done):
            return True
        if self._plan is None:
            await self._read(tell)
        else:
            await self._restore(tell)
        await self.begin()
        return False

    async def _read(self, tell: Tell) -> None:
        if not self.value("kit"):
            raise MissingInput("type the path of the recovery kit")
        self._plan = await self._run("--dry-run", tell=tell)
        self.YES = "Restore my agents"
        self.show(["kit", "passphrase"], shown=False)

    async def _restore(self, tell: Tell) -> None:
        """Restore the agents. Another machine that wrote one within 24 hours must be named by the user."""
        tell(CommandProgress("Restoring your agents"))
        done = await self._run("--yes", tell=tell)
        machines = sorted({one.machine for one in done.agents if one.error and one.machine})
        for machine in machines:
            (error,) = [one.error for one in done.agents if one.error and one.machine == machine][:1]
            if await self.app.push_screen_wait(build_takeover_dialog(_make_error(error), machine)):
                done = await self._run("--yes", "--take-over", machine, tell=tell)
        self._done = done
        failed = _list_failed(done)
        self.YES, self.NEEDED = ("Try again" if failed else "Continue"), False
        if not failed:
            self.leave()
        self.first_run.lifeboat.ask_status()

    async def _run(self, *options: str, tell: Tell) -> KitReturn:
        passphrase = self.query_one("#passphrase", Input).value
        stdin = ("--passphrase-stdin",) if passphrase else ()
        words = ("setup", "--kit", parse_folder(self.value("kit")), *options, *stdin)
        return await self.fetch(KitReturn, *words, text=f"{passphrase}\n" if passphrase else "", tell=tell)


def _make_error(document: JsonObject) -> LifeboatError:
    return LifeboatError(str(document.get("message", "")))


def _list_failed(done: KitReturn) -> list[KitAgentResult | KitRemoteResult]:
    return [*(one for one in done.remotes if one.error), *(one for one in done.agents if one.error)]


def _describe_plan(plan: KitReturn) -> Iterator[str]:
    yield f"The recovery kit contains the key {plan.key_id} and {count_text(len(plan.remotes), 'remote')}:"
    for one in plan.remotes:
        needs = "(the kit contains no token for this remote)" if one.needs_join_line and one.state != "known" else ""
        yield f"  {one.name}: {one.url}{needs}"
    lacking = [one.name for one in plan.remotes if one.needs_join_line and one.state != "known"]
    if lacking:
        yield (
            f"To restore from {join_names(lacking)} too, add each one later with a join line: lifeboat remote "
            f"add {lacking[0]}"
        )
    yield "Every agent on these remotes will be restored into its usual directory, with its credentials."
    yield ("This machine becomes the writer of these agents. Other machines can then no longer push them.")


def _describe_done(done: KitReturn) -> Iterator[str]:
    for one in done.agents:
        if one.state == "restored":
            yield f"{one.name} was restored to {one.to}: {one.summary}."
        elif one.state == "here":
            yield f"{one.name} was not restored, because it is already on this machine: {one.to}"
    if not done.agents:
        yield "No agent was restored."
    for each in _list_failed(done):
        yield f"{each.name} failed: {(each.error or {}).get('message', '')}"
    for command in done.commands:
        yield f"Run this command next:  {command}"
    for one in done.agents:
        for step in one.next:
            yield f"{step['title']}:  {step['command']}"
