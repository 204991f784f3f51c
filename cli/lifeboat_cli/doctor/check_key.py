"""Check the user's key: its store, whether that can be reached, and how well it protects the key."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.home.context import Context
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.stores.key_environment import PASSPHRASE, is_in_temporary_folder
from lifeboat_keys.stores.store_kinds import StoreKind

TITLE = "The key that decrypts the credentials"


def check(context: Context) -> Iterator[DoctorFinding]:
    keys = context.keys()
    status = keys.status(thorough=True)
    if status.key_id is None and status.state is not KeyState.ERROR:
        if agent_files.all_ids(context):
            result = (
                "this home has no key although agents are protected, so the credentials of the agents cannot "
                "be decrypted"
            )
            yield DoctorFinding(DoctorLevel.ERROR, "key", result, "lifeboat keys recover")
        else:
            yield DoctorFinding(DoctorLevel.WARNING, "key", "no key was created yet", "lifeboat keys init")
        return
    subject = f"key {status.key_id or ''}".rstrip()
    if status.state is KeyState.OK:
        yield _reached(subject, status.description, status.store)
    else:
        yield from _away(keys, subject)
    yield from _better(context, keys, subject)
    yield from _exposed(context, keys, subject)


def _reached(subject: str, description: str, store: StoreKind) -> DoctorFinding:
    if store is StoreKind.FILE:
        result = f"{description}; anyone who can read the key file can decrypt all credentials"
        return DoctorFinding(DoctorLevel.WARNING, subject, result, "lifeboat keys init --store passphrase")
    return DoctorFinding(DoctorLevel.OK, subject, f"{description}, available")


def _away(keys: HomeKeys, subject: str) -> Iterator[DoctorFinding]:
    problem: LifeboatError | None
    try:
        keys.user_key()
        problem = keys.damage()
    except KeysError as error:
        problem = error
    if problem is not None:
        yield DoctorFinding(DoctorLevel.ERROR, subject, f"{problem.title}: {problem.message}", problem.fix)


def _better(context: Context, keys: HomeKeys, subject: str) -> Iterator[DoctorFinding]:
    """Return whether a keyring that was missing when the store was chosen exists now."""
    if keys.store is not StoreKind.FILE or keys.store_is_chosen or is_in_temporary_folder(context.home.folder):
        return
    if keys.store_problem(StoreKind.KEYRING) is None:
        fix = "lifeboat keys init --store keyring"
        yield DoctorFinding(DoctorLevel.WARNING, subject, "the OS keyring is available, but the key is not in it", fix)


def _exposed(context: Context, keys: HomeKeys, subject: str) -> Iterator[DoctorFinding]:
    left = keys.left_open()
    if left and keys.store is not StoreKind.KEY_FILE:
        result = f"an unprotected copy of the key is in {', '.join(left)}"
        yield DoctorFinding(DoctorLevel.WARNING, subject, result, f"lifeboat keys init --store {keys.store}")
    if context.environment.get(PASSPHRASE):
        result = f"the environment variable {PASSPHRASE} is set, and all your processes can read it"
        yield DoctorFinding(
            DoctorLevel.WARNING,
            subject,
            result,
            ("write the passphrase to a private file and set LIFEBOAT_PASSPHRASE_FILE to the path of that file"),
        )
    if is_in_temporary_folder(context.home.folder) and keys.store is StoreKind.FILE:
        result = "the home is in a temporary directory, so its key is not stored in the OS keyring"
        yield DoctorFinding(DoctorLevel.OK, subject, result)
