"""Every SQL statement over the tables of purges, in portable SQL with `?` parameters."""

from __future__ import annotations

# Purges that wait
_WAITING = "select agent_id, redaction_id, applies_at from purge_waiting"
LEAVES = "select leaves from purge_waiting where agent_id = ? and redaction_id = ?"
_ORDER = "order by applies_at, agent_id, redaction_id"
WAITING = f"{_WAITING} {_ORDER}"
WAITING_OF = f"{_WAITING} where agent_id = ? {_ORDER}"
ADD_WAITING = "insert into purge_waiting(agent_id, redaction_id, applies_at, leaves) values (?, ?, ?, ?)"
DROP_WAITING = "delete from purge_waiting where agent_id = ? and redaction_id = ?"
DROP_WAITING_OF = "delete from purge_waiting where agent_id = ?"

# Receipts of applied purges
RECEIPT = "select document from purge_receipt where agent_id = ? and redaction_id = ?"
RECEIPTS = "select agent_id, redaction_id, document from purge_receipt order by agent_id, redaction_id"
ADD_RECEIPT = "insert into purge_receipt(agent_id, redaction_id, document) values (?, ?, ?)"
SET_RECEIPT = "update purge_receipt set document = ? where agent_id = ? and redaction_id = ?"
DROP_RECEIPT = "delete from purge_receipt where agent_id = ? and redaction_id = ?"
DROP_RECEIPTS_OF = "delete from purge_receipt where agent_id = ?"

# Agents that were purged completely
_ERASED = "select agent_id, redaction_id, time, trial, document, receipt from erased"
ERASED = f"{_ERASED} where agent_id = ?"
ALL_ERASED = f"{_ERASED} order by agent_id"
UNFINISHED = "select agent_id from erased where receipt is null order by agent_id"
ADD_ERASED = "insert into erased(agent_id, redaction_id, time, trial, document) values (?, ?, ?, ?, ?)"
SET_ERASED_RECEIPT = "update erased set receipt = ? where agent_id = ?"
SET_ERASED_DOCUMENT = "update erased set document = ? where agent_id = ?"
SET_ERASED = "update erased set document = ?, receipt = ? where agent_id = ?"
DROP_ERASED = "delete from erased where agent_id = ?"
