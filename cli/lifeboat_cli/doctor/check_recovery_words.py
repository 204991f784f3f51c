"""Check the 24 words of the key: without them, the credentials are lost with the machine."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import time_text

TITLE = "Recovery words"


def check(context: Context) -> Iterator[DoctorFinding]:
    keys = context.keys()
    if keys.key_id is None:
        return
    subject = f"recovery words of key {keys.key_id}"
    if keys.proven_at is None:
        result = (
            "you never proved that you have the recovery words: if this machine is lost, the credentials "
            "cannot be decrypted"
        )
        yield DoctorFinding(DoctorLevel.WARNING, subject, result, "lifeboat keys init")
    else:
        yield DoctorFinding(
            DoctorLevel.OK, subject, f"you proved on {time_text(keys.proven_at)} that you have the recovery words"
        )
