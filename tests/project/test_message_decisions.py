"""No control flow of the product reads a message: a reason has a code, and its text is made where it is shown."""

from __future__ import annotations

import textwrap
from functools import cache

import pytest

from support.message_decisions import Decision, decisions
from support.packages import PACKAGES
from support.paths import ROOT

LIBRARIES = {
    "lifeboat_keys.age_format.age_encryption _of_header": "pyrage has one exception for every failure to decrypt",
    "lifeboat_keys.age_format.age_encryption _of_passphrase": "pyrage has one exception for every failure to decrypt",
    "lifeboat_adapters.zeroclaw.server_memories.postgres_memories _is_refusal": "no SQLSTATE for a failed connection",
    "lifeboat_endpoint.engines.postgres.postgres_failures _without_state": "no SQLSTATE without a connection",
    "lifeboat_endpoint.engines.postgres.postgres_failures is_of_pooler": "a pooler sends PostgreSQL's SQLSTATE",
    "lifeboat_endpoint.engines.postgres.postgres_failures translate_error": "0A000 is any unsupported feature",
    "lifeboat_vault.store.object_store_answers answer_in": "obstore gives status and code in its text alone",
    "lifeboat_vault.at_rest.key_sources.transit_source _Transit._refusal": "Vault answers 400 to every refusal",
    "lifeboat_daemon.watch.overflow_log OverflowLog.emit": "watchdog only logs that events were lost",
    "lifeboat_adapters.database_checks find_damage": "`pragma quick_check` answers in sentences, or with `ok`",
}
"""Where a third party gives a text and nothing else. Each is one place."""
NO_MESSAGES = {
    "lifeboat_keys.recovery.recovery_kit key_in": "the heading of a recovery kit",
    "lifeboat_keys.recovery.recovery_kit _read_remotes": "a heading of a recovery kit",
    "lifeboat_cli.doctor _name_no_agent": "a placeholder in a command",
    "lifeboat_cli.status.status_text _show_gaps": "the same command is printed once",
    "lifeboat_core.capture.secret_lookalikes has_former_label": "a field of a credential that was sealed earlier",
    "lifeboat_formats.aicf.syntax.file_checks _line_of": "a place in the notation of the format",
    "lifeboat_formats.aimem.aimem_format _line": "a place in the notation of the format",
    "lifeboat_formats.aionforge.text_form _next": "a text in the notation of the other system",
    "lifeboat_adapters.persona.persona_principals _custom": "the title of a section of a note",
    "lifeboat_adapters.persona.persona_principals _name_in_title": "the title of a section of a note",
    "lifeboat_adapters.persona.markdown_fields text_under_headings": "the title of a section of a note",
    "lifeboat_adapters.persona.prose_synthesis is_marked_as_synthesis": "the mark at the top of a made file",
    "lifeboat_vault.legacy.line_ends written_lines": "the lines of a note",
    "lifeboat_endpoint.engines.postgres.statement_translation is_query": "a statement of SQL",
    "lifeboat_daemon.control.json_rpc _checked": "a message of JSON-RPC, which is an object",
    "lifeboat_daemon.watch.inotify_limits _watches": "a file of /proc",
    "lifeboat_cli.status.status_watch _StatusLines.show": "a sentence is printed once, whatever it says",
    "lifeboat_tui.command_palette ActionCommands.search": "what the user types is searched in the titles",
    "lifeboat_tui.command_palette _highlighted": "what the user types is searched in the titles",
}
"""What is named like a message, or written like one, and is none."""


@cache
def _of_product() -> list[Decision]:
    sources = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT / package).with_suffix("").parts
            sources[".".join(parts).removesuffix(".__init__")] = path.read_text()
    return decisions(sources)


def test_nothing_in_the_product_decides_by_the_text_of_a_message() -> None:
    allowed = LIBRARIES.keys() | NO_MESSAGES.keys()
    found = [each for each in _of_product() if f"{each.module} {each.function}" not in allowed]
    assert not found, "give the reason a code, and decide by that:\n" + "\n".join(
        f"{each.module}, line {each.line}: {each.source}" for each in found
    )


def test_no_exception_is_listed_that_nothing_needs() -> None:
    needed = {f"{each.module} {each.function}" for each in _of_product()}
    assert sorted((LIBRARIES.keys() | NO_MESSAGES.keys()) - needed) == []


OTHERS = {
    "other": """
        BOUND = "bound to the machine it was captured on"
        NOT_KEPT, BY_HAND = "it is none of the files that are kept", "lifeboat daemon start"
        REASONS = ("could not be read", "kept changing")
        JOINS, LABEL, PHRASE = "joins ", "looks like ", "credential provider"
        MISSING = "the folder is not there"
    """
}
"""Constants that the snippets import."""
OLD = [
    # As it was before reasons had codes.
    "reason.startswith(other.BOUND)",
    "reason.partition('; ')[2]",
    "'expired' in reason",
    "'no key' in reason or 'sealed' in reason",
    "[warning for warning in report['warnings'] if '--with-credentials puts them back' in warning]",
    "[each for each in details if 'not on PATH' in (each['reason'] or '')]",
    "f'{name} is not written: {reason}' in report['warnings']",
    "each['reissue'] not in (each['reason'] or '')",
    "bool(group['reason']) and group['reason'] in said",
    "next(words for words in other.REASONS if f' {words}: ' in reason)",
    "reason in {other.NOT_KEPT: 'not_kept'}",
    "{other.NOT_KEPT: 'not_kept'}[reason]",
    "{other.NOT_KEPT: 'not_kept'}.get(reason, 'credentials')",
    "reason if reason == other.NOT_KEPT else ''",
    "error.message.removeprefix(f'{where}: ')",
    "problem.message.removeprefix(f'{problem.where}: ')",
    "warning.removeprefix(f'{place}: ')",
    "reason is not None and reason.startswith('not found: ')",
    "path.startswith('raw/') and body.text != 'as it came'",
    "{path: why for path, why in skipped.items() if why in (other.NOT_KEPT, other.BOUND)}",
    "found.reason != other.MISSING",
    "str(label or '').startswith(other.LABEL)",
    "document['note'].removeprefix('key: ')",
    "any(key.note in one.reasons for one in agents)",
    "[reason for reason in seen.reasons if not any(reason in each for each in said)]",
    "service.command not in (None, other.BY_HAND)",
    "step.command == 'lifeboat daemon start'",
    "None if agent.fix == 'lifeboat doctor' else agent.fix",
    "error.fix == type(error).fix",
    "(error.fix or '').startswith('lifeboat doctor --remote ')",
    "problem.partition(': ')",
    "note.message.startswith(other.JOINS)",
    "warning not in self._warnings",
    "'CERTIFICATE_VERIFY_FAILED' in str(error)",
    "any(words in str(error).upper() for words in SIGNS)",
    "any(absent.filename in warning for warning in plan.warnings)",
    "warning.endswith('nothing is written as long as it runs')",
    "', lifeboat ' in found.fix",
    "found.fix.startswith('lifeboat agents cut ')",
    "self.connection.message == message",
    # Other ways to write it.
    "error.args[0] == 'locked out'",
    "re.match('no key', error.message)",
    "PATTERN.search(str(error))",
    "document.get('title').lower().find('expired')",
    "'cached plan' not in (error.diag.message_primary or '')",
]


@pytest.mark.parametrize("source", OLD)
def test_a_decision_by_a_text_is_found(source: str) -> None:
    module = f"import re\nfrom somewhere import other\ndef decides(self):\n    return {source}\n"
    assert _in_snippet(module)


@pytest.mark.parametrize(
    "source",
    [
        "said = error.message\n    return said == other.BOUND",
        "said = str(error)\n    return 'expired' in said",
        "if (said := error.message) and said.startswith('x'):\n        return 1",
        "match reason:\n        case 'it is not there':\n            return 1",
        "text = record.getMessage().lower()\n    return 'lost' in text",
    ],
)
def test_a_decision_by_a_variable_that_got_a_text_is_found(source: str) -> None:
    assert _in_snippet(f"from somewhere import other\ndef decides(error, record):\n    {source}\n")


def test_a_decision_in_a_function_that_is_called_with_a_text_is_found() -> None:
    assert _in_snippet(
        "def kind(said):\n    return said.startswith('No')\ndef call(error):\n    return kind(str(error))\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "reason.code == Code.BOUND",
        "each['reason_code'] == 'expired'",
        "reason is None or not message",
        "reason == 'user_request'",
        "document['kind'] == 'agent lifeboat vault key'",
        "' '.join(error.message.split())",
        "f'{name}: {reason}'",
        "{'moved': 1}[reason]",
    ],
)
def test_a_decision_by_a_code_is_none(source: str) -> None:
    assert not _in_snippet(f"def decides(self):\n    return {source}\n")


def _in_snippet(module: str) -> list[Decision]:
    others = {f"somewhere.{name}": textwrap.dedent(text) for name, text in OTHERS.items()}
    return [each for each in decisions({"snippet": module, **others}) if each.module == "snippet"]
