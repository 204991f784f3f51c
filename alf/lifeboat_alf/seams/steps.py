"""Every step of capture, replicate, restore, purge, thinning, rotation, migration, the service and the endpoint by
name, so that a test can end the process at each.

A step is reached *before* what its name says is done. In production `reached` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    CAPTURE_SCANNED = "capture.scanned"
    CAPTURE_READ = "capture.read"
    CAPTURE_DERIVED = "capture.derived"
    CAPTURE_BODIES_WRITTEN = "capture.bodies_written"
    CAPTURE_ROWS_WRITTEN = "capture.rows_written"
    CAPTURE_COMMITTED = "capture.committed"
    CAPTURE_CACHED = "capture.cached"
    RESTORE_PLANNED = "restore.planned"
    RESTORE_SAFETY_CAPTURED = "restore.safety_captured"
    RESTORE_STAGED = "restore.staged"
    RESTORE_JOURNAL_WRITTEN = "restore.journal_written"
    RESTORE_MOVED_ASIDE = "restore.moved_aside"
    RESTORE_MOVED_IN = "restore.moved_in"
    RESTORE_RENAMED = "restore.renamed"
    RESTORE_JOURNAL_REMOVED = "restore.journal_removed"
    RESTORE_DELIVERY_NOTED = "restore.delivery_noted"
    RESTORE_DELIVERED = "restore.delivered"
    THIN_PLANNED = "thin.planned"
    THIN_REENCODED = "thin.reencoded"
    THIN_ROWS_DROPPED = "thin.rows_dropped"
    THIN_COMMITTED = "thin.committed"
    THIN_SWEPT = "thin.swept"
    ROTATE_KEY_KEPT = "rotate.key_kept"
    ROTATE_JOURNAL_WRITTEN = "rotate.journal_written"
    ROTATE_AGENT_WRAPPED = "rotate.agent_wrapped"
    ROTATE_DEVICE_CERTIFIED = "rotate.device_certified"
    ROTATE_KEY_REPLACED = "rotate.key_replaced"
    ROTATE_JOURNAL_REMOVED = "rotate.journal_removed"
    ROTATE_HISTORY_SIGNED = "rotate.history_signed"
    ROTATE_EPOCH_RAISED = "rotate.epoch_raised"
    ROTATE_SEALED_AGAIN = "rotate.sealed_again"
    ROTATE_SETTLED = "rotate.settled"
    MIGRATE_LOCKED = "migrate.locked"
    MIGRATE_COPYING = "migrate.copying"
    MIGRATE_COPIED = "migrate.copied"
    MIGRATE_DONE = "migrate.done"
    MIGRATE_NOTED = "migrate.noted"
    DAEMON_LOCKED = "daemon.locked"
    DAEMON_LISTENING = "daemon.listening"
    DAEMON_SIGNALLED = "daemon.signalled"
    DAEMON_QUEUED = "daemon.queued"
    DAEMON_SENT = "daemon.sent"
    DAEMON_ANSWERED = "daemon.answered"
    DAEMON_NOTED = "daemon.noted"
    DAEMON_STOPPING = "daemon.stopping"
    WORKER_READY = "worker.ready"
    WORKER_BEGUN = "worker.begun"
    WORKER_DONE = "worker.done"
    WORKER_TOLD = "worker.told"
    REPLICATE_DECIDED = "replicate.decided"
    REPLICATE_BUNDLED = "replicate.bundled"
    REPLICATE_SENT = "replicate.sent"
    REPLICATE_OBJECTS_SENT = "replicate.objects_sent"
    REPLICATE_NOTED = "replicate.noted"
    ADOPT_PULLED = "adopt.pulled"
    ADOPT_SET_ASIDE = "adopt.set_aside"
    ADOPT_EPOCH_RAISED = "adopt.epoch_raised"
    ADOPT_SETTLED = "adopt.settled"
    SEALED_FILE_WRITTEN = "sealed.file_written"
    SEALED_HEAD_REPLACED = "sealed.head_replaced"
    SEALED_SWEPT = "sealed.swept"
    ENDPOINT_RECEIVED = "endpoint.received"
    ENDPOINT_CHECKED = "endpoint.checked"
    ENDPOINT_ACCEPTED = "endpoint.accepted"
    ENDPOINT_COUNTED = "endpoint.counted"
    ENDPOINT_ANSWERED = "endpoint.answered"
    REENCRYPT_KEY_MADE = "reencrypt.key_made"
    REENCRYPT_BODIES_WRITTEN = "reencrypt.bodies_written"
    REENCRYPT_COMMITTED = "reencrypt.committed"
    REENCRYPT_KEY_DESTROYED = "reencrypt.key_destroyed"
    TENANT_MARKED = "tenant.marked"
    TENANT_KEYS_DESTROYED = "tenant.keys_destroyed"
    TENANT_FILES_REMOVED = "tenant.files_removed"
    TENANT_ROWS_REMOVED = "tenant.rows_removed"


hook: Callable[[Step], None] | None = None


def reached(step: Step) -> None:
    """Say that a step is reached; a test's hook may end the process here."""
    if hook is not None:
        hook(step)
