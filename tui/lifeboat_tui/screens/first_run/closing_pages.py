"""Last pages of the first-run wizard: the service, and the summary."""

from __future__ import annotations

import shlex

from textual.app import ComposeResult
from textual.widgets import Static

from lifeboat_core.documents.setup_documents import Setup, Step
from lifeboat_core.documents.status_documents import Status
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import FirstRunChoices, FirstRunPage


class ServicePage(FirstRunPage):
    """Page for automatic capture: the service at every login, or the daemon until the computer shuts down."""

    STEP = "Service"

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._step: Step | None = None

    def twin(self) -> tuple[str, ...]:
        step = self._step
        return ("service", "status") if step is None or step.command is None else tuple(shlex.split(step.command)[1:])

    async def begin(self) -> None:
        self._step = (await self.fetch(Setup, "setup")).step("service")
        step = self._step
        if step is None or step.state != "missing":
            self.say("" if step is None else step.text)
        elif step.action == "start_daemon":
            self.say(step.text, "Press Continue to start the daemon. The daemon runs until this computer shuts down.")
        else:
            self.say(
                step.text,
                "Press Continue to install the background service. The service starts at every "
                "login and captures every change.",
            )

    async def go_on(self, tell: Tell) -> bool:
        step = self._step
        if step is None or step.state != "missing" or step.command is None:
            return True
        tell(CommandProgress("Starting"))
        said = await self.ask(*shlex.split(step.command)[1:], tell=tell)
        await self.begin()
        for advice in said.document.get("advice", []):
            self.first_run.tell_user(str(advice))
        return True


class DonePage(FirstRunPage):
    """Page with the verdict and the remaining steps."""

    STEP = "Done"
    YES = "Open the dashboard"
    NEEDED = True
    DEFAULT_CSS = "DonePage > #said { text-style: bold; }"

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static("", id="steps-left", markup=False)

    async def begin(self) -> None:
        status = await self.fetch(Status, "status")
        found = await self.fetch(Setup, "setup")
        missing = [step for step in found.steps if step.state == "missing"]
        protected = any(agent.sequence is not None for agent in status.agents)
        self.say(
            "Your agents are protected." if protected and not missing else status.verdict,
            *self._verdict(status, missing),
        )
        self.say(*self._lines(found), where="steps-left")

    def _verdict(self, status: Status, missing: list[Step]) -> list[str]:
        return [] if missing else [status.verdict]

    def _lines(self, found: Setup) -> list[str]:
        glyphs = self.first_run.glyphs
        lines = []
        for step in found.steps:
            sign = glyphs.sign({"done": "done", "missing": "warning"}.get(step.state, "pending"))
            lines.append(f"{sign} {step.text}")
            if step.state == "missing" and step.command:
                lines.append(f"    {step.command}")
        return lines
