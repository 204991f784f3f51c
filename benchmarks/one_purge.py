"""One purge in a process of its own, as a command does it.

    python -m benchmarks.one_purge WORKSPACE HOME record|text TOKENS < what is purged

TOKENS is a JSON document, the second token of each endpoint by its name. Prints one JSON document: seconds of the dry
run, of looking again and destroying on this machine (`here`), and of telling each second copy, by name; bytes of the
signed redaction; peak memory in bytes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from lifeboat_alf.common import json_codec
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_core.purge import purge_run
from lifeboat_core.purge.purge_search import PurgeRequest

HERE = "here"


class _Laps:
    """Seconds between the progress reports of a purge."""

    def __init__(self, first: str) -> None:
        self._told = [(first, time.perf_counter())]

    def tell(self, text: str, done: int, total: int | None) -> None:
        if text.startswith(purge_run.TELLING):
            self._told.append((text.removeprefix(purge_run.TELLING), time.perf_counter()))

    def seconds(self) -> dict[str, float]:
        ends = [moment for _, moment in self._told[1:]] + [time.perf_counter()]
        return {name: end - start for (name, start), end in zip(self._told, ends, strict=True)}


def main() -> None:
    workspace, home, kind, tokens = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    wanted = sys.stdin.read()
    from benchmarks.processes import peak
    from benchmarks.subject import reopen

    request = PurgeRequest(record_ids=(wanted,)) if kind == "record" else PurgeRequest(wanted=PurgeTerms((wanted,)))
    subject = reopen(workspace, home)
    start = time.perf_counter()
    found, _ = purge_run.preview_purge(subject.context, subject.agent, request)
    looked = time.perf_counter() - start
    laps = _Laps(HERE)
    done = purge_run.purge_content(subject.context, subject.agent, request, found, tokens, laps.tell)
    seconds = laps.seconds()
    with subject.context.vault(subject.agent.id) as vault:
        redaction = next(one for one in vault.redactions if one.id == done.receipt)
        document = len(json_codec.encode_json(redaction.to_json()))
    remotes = {each.name: each.state for each in done.remotes}
    told = {"look": looked, "purge": seconds, "document": document, "leaves": len(redaction.leaves)}
    searched = done.applied.searched
    print(json.dumps({**told, "remotes": remotes, "searched": searched, "peak": peak(os.getpid())}))


if __name__ == "__main__":
    main()
