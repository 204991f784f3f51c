"""Actions on the receipt of a purge, for every screen that shows one: export it, confirm a pending purge on a remote,
and cut text that is only kept out of captures from the live files."""

from __future__ import annotations

import os

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.purge_documents import Purged
from lifeboat_core.documents.receipt_documents import DONE, WAITING, Confirmed, Vault
from lifeboat_core.texts.human_text import count_text, path_text
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen, attempted
from lifeboat_tui.screens.purge.purge_proof_texts import describe_vault_state
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog, TextDialog, require_text

CONFIRMS = (
    "The owner of the endpoint has the token with the scope purge. Lifeboat uses the token once and does not store it.",
    "A purge on the endpoint cannot be undone.",
)


LETS_IN = (
    "These files may still contain the purged text. First remove the text with the program that each file belongs "
    "to. Captures then include the files as they are, and push them to the remotes."
)
LET_IN = UserAction("let_in", "i", "allow files", "Allow captures of files that a purge has excluded", writes=True)


def list_confirmable_vaults(vaults: tuple[Vault, ...]) -> list[Vault]:
    """Return the vaults where a second token would let the purge happen now."""
    return [each for each in vaults if each.state == WAITING or (each.kind == "endpoint" and each.state != DONE)]


class ReceiptActionsScreen(LifeboatScreen):
    """Screen with actions on a receipt. `after_confirming` is called when the state of the purge may have changed."""

    def after_confirming(self) -> None:
        """Reload what is shown."""
        self.reload()

    @attempted
    async def export_receipt(self, receipt_id: str) -> None:
        """Write a receipt to a file for other people."""
        question = TextDialog(
            "Export the receipt",
            ["The receipt contains ids, names of remotes and hashes, but no purged content.", "A new file:"],
            value=f"~/purge-{receipt_id[:13]}.json",
            yes="Export",
            problem=require_text("type the path of a file"),
        )
        file = await self.answer(question)
        if file is None:
            return
        said = await self.ask("receipts", "export", receipt_id, "-o", os.path.expanduser(file.strip()))
        self.say_problem(None)
        path = said.document.get("path", file)
        self.tell_user(f"Exported to {path}. To verify the receipt on any machine: lifeboat receipts verify FILE")

    @attempted
    async def confirm_somewhere(self, receipt_id: str, vaults: tuple[Vault, ...]) -> None:
        """Carry out a pending purge now: ask for the remote and its second token."""
        choices = [
            (each.name, f"{each.name}: {describe_vault_state(each)}") for each in list_confirmable_vaults(vaults)
        ]
        name = await self.choose_one("On which remote should the purge be confirmed?", choices)
        if name is None:
            return
        question = TextDialog(
            f"Purge on {name} now",
            CONFIRMS,
            placeholder="token with the scope purge (not shown while you type)",
            secret=True,
            yes="Purge there",
            problem=require_text("type the token with the scope purge"),
        )
        token = await self.answer(question)
        if token is not None:
            self.tell_user(f"Purging on {name}...")
            self.tell_user(await self.confirm_on_remote(receipt_id, name, token))
            self.after_confirming()

    @attempted
    async def cut_kept_out(self, agent_id: str) -> None:
        """Cut text that was purged earlier from the live files in which it still is."""
        live = (await self.fetch(Purged, "purge", agent_id, "--kept-out", "--dry-run")).live
        files = [f"{path_text(one.path)}: {count_text(one.places, 'place')}" for one in live if one.command is None]
        running = [
            f"{path_text(one.path)} must be cleaned with its own program: {one.command}"
            for one in live
            if one.command is not None
        ]
        if not files:
            self.tell_user("; ".join(running) or "The workspace contains no purged text.")
            return
        lines = [*files, *running, "", "The removal cannot be undone: undo folders do not keep the text."]
        if await self.answer(ConfirmDialog("Remove purged text from the workspace", lines, yes="Cut", phrase="cut")):
            cut = (await self.fetch(Purged, "purge", agent_id, "--kept-out", "--yes")).workspace or ()
            self.tell_user(f"Purged text was removed from {count_text(len(cut), 'file')} of the workspace.")
            self.after_confirming()

    @attempted
    async def let_in(self, agent_id: str) -> None:
        """Capture files again that a purge left out, after the user has confirmed it."""
        files = (await self.fetch(Purged, "purge", agent_id, "--let-in", "--dry-run")).let_in
        if not files:
            self.tell_user("No purge excludes a file from captures.")
            return
        lines = [*(path_text(path) for path in files), "", LETS_IN]
        if await self.answer(ConfirmDialog("Allow captures of these files again", lines, yes="Allow captures")):
            count = count_text(len((await self.fetch(Purged, "purge", agent_id, "--let-in")).let_in), "file")
            self.tell_user(f"Captures include {count} again that a purge had excluded.")
            self.after_confirming()

    async def confirm_on_remote(self, receipt_id: str, name: str, token: str) -> str:
        """Confirm a purge on one remote with a second token, sent on standard input. Returns its new state there, or
        the failure."""
        try:
            said = await self.ask(
                "receipts", "confirm", receipt_id, "--remote", name, "--token-stdin", text=f"{token}\n"
            )
            vault = decode_document(Confirmed, said.document).vault
        except LifeboatError as error:
            self.say_problem(error)
            return f"{name}: {error.title}: {error.message}"
        return f"{name}: {'confirmed' if vault is None else describe_vault_state(vault)}"
