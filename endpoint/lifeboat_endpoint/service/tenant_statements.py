"""Every SQL statement for tenant.db, except those for sealed files and purges, in portable SQL with `?` parameters."""

from __future__ import annotations

ADD_TENANT = "insert into tenant(id, schema, created_at) values (?, ?, ?)"
TENANT = "select id from tenant"

# Agents
_AGENT = "select id, vault, created_at, bytes, facts, keys from agent"
AGENT = f"{_AGENT} where id = ?"
AGENTS = f"{_AGENT} where id > ? order by id limit ?"
AGENT_IDS = "select id from agent order by id"
AGENTS_COUNTED = "select count(*) from agent"
ADD_AGENT = "insert into agent(id, vault, created_at, bytes, facts) values (?, ?, ?, ?, ?)"
DROP_AGENT = "delete from agent where id = ?"
SET_FACTS = "update agent set facts = ? where id = ?"
SET_KEYS = "update agent set keys = ? where id = ?"
SET_BYTES = "update agent set bytes = ? where id = ?"
BYTES = """select (select coalesce(sum(bytes), 0) from agent), (select coalesce(sum(size + 100), 0) from sealed_file),
    (select coalesce(sum(size), 0) from part where body is not null), (select 100 * count(*) from part),
    (select coalesce(sum(length(keys)), 0) from agent), (select coalesce(sum(size), 0) from sealed_head)"""
BYTES_OF_SEALED = "select coalesce(sum(size), 0) from sealed_file where agent_id = ?"

# Uploads
_UPLOAD = "select id, agent_id, kind, base, machine, created_at, expires_at, done from upload"
UPLOAD = f"{_UPLOAD} where id = ?"
ADD_UPLOAD = """insert into upload(id, agent_id, kind, base, machine, created_at, expires_at)
    values (?, ?, ?, ?, ?, ?, ?)"""
FINISH_UPLOAD = "update upload set done = ? where id = ?"
DROP_UPLOAD = "delete from upload where id = ?"
OLD_UPLOADS = "select id from upload where expires_at <= ?"
UPLOADS_OF = "select id from upload where agent_id = ?"
UPLOADS = "select id from upload"
UNFINISHED = "select id from upload where agent_id = ? and done is null order by created_at, id"
PARTS = "select position, token, size, body from part where upload_id = ? order by position"
ADD_PART = "insert into part(upload_id, position, token, size, body) values (?, ?, ?, ?, ?)"
FILL_PARTS = "update part set body = ? where upload_id = ? and token = ? and body is null"
DROP_PARTS = "delete from part where upload_id = ?"
KNOWN_PART = """select p.body from part p join upload u on u.id = p.upload_id
    where p.token = ? and p.size = ? and p.body is not null and u.agent_id = ? order by p.body limit 1"""
BODY_USED = "select 1 from part where body = ? limit 1"

# Bodies
BODIES_IN_USE = "select body from part where body is not null union select body from sealed_file"
ORPHANS = "select body, since from orphan"
ADD_ORPHAN = "insert into orphan(body, since) values (?, ?)"
DROP_ORPHAN = "delete from orphan where body = ?"

# One-time permissions
USED = "select 1 from used where id = ?"
ADD_USED = "insert into used(id, expires_at) values (?, ?)"
DROP_USED = "delete from used where expires_at <= ?"
