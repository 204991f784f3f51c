"""Cut what looks like a secret out of the files and rows that the user names, and stop cutting it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.secrets import secret_cutting
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.entry_metas import is_file
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.capture.secret_cutter import DECISION as SECRETS
from lifeboat_core.capture.secret_cutter import EXPOSED, is_cut_for_look
from lifeboat_core.capture.secret_lookalikes import LookalikePlace, Places
from lifeboat_core.errors import AgentError
from lifeboat_core.home.context import Context
from lifeboat_core.state import state_documents
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import file_name
from lifeboat_core.texts.safe_text import name_text
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class CutLookalikes:
    """What was `cut` and what is `left` in plain text, by name. `exposed` is the last kept sequence that has one of
    the cut
    values in plain text, None when there is none."""

    report: CaptureReport
    cut: Places
    left: Places
    exposed: int | None


def cut_lookalikes(context: Context, agent: Agent, names: Iterable[str]) -> CutLookalikes:
    """Cut what looks like a secret in these files and rows, named as `doctor` names them, and capture immediately.
    Raises AgentError.UNKNOWN_PATH and what a capture raises."""
    known = _read(context, agent)
    with context.vault(agent.id) as vault:
        entries = [entry.path for entry in vault.state().entries() if is_file(entry.meta)] if vault.head() else []
        chosen = [_chosen(name, [*known, *entries]) for name in names]
        _add(vault, secret_lookalikes.DECISION, chosen)
        _drop(vault, secret_lookalikes.UNCUT, chosen)
    report = capture_agent(context, agent, full=True)
    left = {path: places for path, places in _read(context, agent).items() if path in chosen}
    with context.vault(agent.id) as vault:
        exposed = vault.get(EXPOSED) or {}
        kept = [row.number for row in vault.sequences()]
    lasts = [exposed[path] for path in chosen if path in exposed and any(number <= exposed[path] for number in kept)]
    cut: Places = {path: places for path, places in known.items() if path in chosen and path not in left}
    return CutLookalikes(report, cut, left, max(lasts, default=None))


@dataclass(frozen=True, slots=True)
class UncutLookalikes:
    """What is `in_clear` from now on, and which files and rows have something `still_cut`, because it is known as a
    secret from elsewhere."""

    report: CaptureReport
    in_clear: Places
    still_cut: list[str]


def uncut_lookalikes(context: Context, agent: Agent, names: Iterable[str]) -> UncutLookalikes:
    """Stop cutting these files and rows for their look, and capture immediately. Values learned from them are
    forgotten, unless another file that is cut has them too. Raises AgentError.UNKNOWN_PATH for what is not cut for its
    look, and what a capture raises."""
    with context.vault(agent.id) as vault:
        chosen = [
            _chosen(name, _cut_for_looks(vault), "contains no text that was cut because it looks like a secret")
            for name in names
        ]
        _drop(vault, secret_lookalikes.DECISION, chosen)
        _add(vault, secret_lookalikes.UNCUT, chosen)
        vault.change(SECRETS, lambda before: _without_learned(before, chosen), kind="secrets")
    report = capture_agent(context, agent, full=True)
    found = _read(context, agent)
    with context.vault(agent.id) as vault:
        entries = [vault.state().entry(path) for path in chosen] if vault.head() else []
    still = [entry.path for entry in entries if entry is not None and entry.meta.get(entry_metas.CUTS)]
    return UncutLookalikes(report, {path: found[path] for path in chosen if path in found}, still)


def _cut_for_looks(vault: Vault) -> list[str]:
    """Return the files and rows that are cut for their look, on this machine or before the agent came here."""
    decided = set(vault.get(secret_lookalikes.DECISION) or ())
    if vault.head() is None:
        return sorted(decided)
    state = vault.state()
    documents = state_documents.list_credentials(state_documents.load_document(state, archive_layout.CREDENTIALS))
    known = {one["id"]: one for one in documents}
    for entry in state.entries():
        cut = (known.get(item.get(secret_cutting.CREDENTIAL), {}) for item in entry.meta.get(entry_metas.CUTS, ()))
        if any(is_cut_for_look(document, entry.path) for document in cut):
            decided.add(entry.path)
    return sorted(decided)


def _without_learned(memory: Any, names: Iterable[str]) -> Any:
    """Return the vault's memory of secrets without the prints learned from these files and rows."""
    values = (memory or {}).get("values", {})
    kept = {
        mark: known
        for mark, known in values.items()
        if tuple(known[:2]) != secret_lookalikes.SERVICE_AND_TYPE
        or not any(secret_lookalikes.is_label_of(str(known[2]), name) for name in names)
    }
    return memory if len(kept) == len(values) else {**memory, "values": kept}


def _add(vault: Vault, decision: str, names: Iterable[str]) -> None:
    vault.change(decision, lambda before: sorted({*(before or ()), *names}), kind="secrets")


def _drop(vault: Vault, decision: str, names: Iterable[str]) -> None:
    vault.change(decision, lambda before: sorted({*(before or ())}.difference(names)) or None, kind="secrets")


def _read(context: Context, agent: Agent) -> dict[str, list[LookalikePlace]]:
    path = context.home.state_file(agent.id)
    with context.vault(agent.id) as vault:
        if not path.exists():
            return {}
        with StateDb.open(path, vault.id) as db:
            return secret_lookalikes.read_lookalikes(db)


def _chosen(
    name: str,
    known: Iterable[str],
    problem: str = "is neither a captured file of the agent nor a database row that `lifeboat doctor` lists",
) -> str:
    """Return the archive path that a user's name stands for. Raises AgentError.UNKNOWN_PATH."""
    found = [path for path in known if name in (path, file_name(path))]
    if not found:
        raise AgentError.UNKNOWN_PATH(f"{name_text(name)} {problem}")
    return found[0]
