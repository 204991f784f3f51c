"""Every SQL statement over the tables of sealed files, in portable SQL with `?` parameters."""

from __future__ import annotations

FILES = "select name, size, written_at from sealed_file where agent_id = ? order by name"
FILE = "select size, body from sealed_file where agent_id = ? and name = ?"
ADD_FILE = "insert into sealed_file(agent_id, name, size, body, written_at) values (?, ?, ?, ?, ?)"
SET_BODY = "update sealed_file set body = ? where agent_id = ? and name = ? and body = ?"
DROP_FILE = "delete from sealed_file where agent_id = ? and name = ?"
BODIES_OF = "select body from sealed_file where agent_id = ? order by body"
DROP_FILES = "delete from sealed_file where agent_id = ?"
ALL_FILES = "select agent_id, name from sealed_file order by agent_id, name"

HEAD = "select tag, data from sealed_head where agent_id = ?"
HEAD_TAG = "select tag from sealed_head where agent_id = ?"
HEAD_SIZE = "select size from sealed_head where agent_id = ?"
ADD_HEAD = "insert into sealed_head(agent_id, tag, size, data, written_at) values (?, ?, ?, ?, ?)"
SET_HEAD_DATA = "update sealed_head set data = ? where agent_id = ?"
DROP_HEAD = "delete from sealed_head where agent_id = ?"
ALL_HEADS = "select agent_id from sealed_head order by agent_id"
