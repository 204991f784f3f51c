"""The tables of ZeroClaw's databases in a new installation: their final shape, so that the runtime's own migrations
have nothing to do.

In the current layout, `memories` refers to the owner of a memory with a column that is never NULL, and is unique by
agent and key. ZeroClaw takes any other shape for an old one and rebuilds the table without its later columns.
"""

from __future__ import annotations

from lifeboat_adapters.zeroclaw.zeroclaw_paths import EARLY

MEMORIES_VERSION = 1
"""The row of `schema_version` for `memories` (component, version, applied_at)."""

_MEMORY_INDEX = """
CREATE INDEX idx_memories_category ON memories(category);
CREATE INDEX idx_memories_key ON memories(key);
CREATE INDEX idx_memories_session ON memories(session_id);
CREATE INDEX idx_memories_namespace ON memories(namespace);
CREATE INDEX idx_memories_namespace_category ON memories(namespace, category);
CREATE VIRTUAL TABLE memories_fts USING fts5(key, content, content=memories, content_rowid=rowid);
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content);
END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);
END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
  INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);
  INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content);
END;
CREATE TABLE embedding_cache (
  content_hash TEXT PRIMARY KEY,
  embedding BLOB NOT NULL,
  created_at TEXT NOT NULL,
  accessed_at TEXT NOT NULL
);
CREATE INDEX idx_cache_accessed ON embedding_cache(accessed_at);
"""

_CURRENT_BRAIN = (
    """
CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL);
CREATE TABLE memories (
  id TEXT PRIMARY KEY,
  key TEXT NOT NULL,
  content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  session_id TEXT,
  namespace TEXT DEFAULT 'default',
  importance REAL DEFAULT 0.5,
  superseded_by TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id),
  kind TEXT,
  pinned INTEGER NOT NULL DEFAULT 0,
  tenant_id TEXT,
  principal_id TEXT,
  UNIQUE (agent_id, key)
);
CREATE INDEX idx_memories_agent_id ON memories(agent_id);
CREATE INDEX idx_memories_principal ON memories(principal_id);
"""
    + _MEMORY_INDEX
    + """
CREATE TABLE memory_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TEXT NOT NULL);
"""
)

_EARLY_BRAIN = (
    """
CREATE TABLE memories (
  id TEXT PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  session_id TEXT,
  namespace TEXT DEFAULT 'default',
  importance REAL DEFAULT 0.5,
  superseded_by TEXT
);
"""
    + _MEMORY_INDEX
)

CRON = """
CREATE TABLE cron_jobs (
  id TEXT PRIMARY KEY,
  expression TEXT NOT NULL,
  command TEXT NOT NULL,
  schedule TEXT,
  job_type TEXT NOT NULL DEFAULT 'shell',
  prompt TEXT,
  name TEXT,
  session_target TEXT NOT NULL DEFAULT 'isolated',
  model TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  delivery TEXT,
  delete_after_run INTEGER NOT NULL DEFAULT 0,
  allowed_tools TEXT,
  created_at TEXT NOT NULL,
  next_run TEXT NOT NULL,
  last_run TEXT,
  last_status TEXT,
  last_output TEXT,
  source TEXT DEFAULT 'imperative',
  uses_memory INTEGER NOT NULL DEFAULT 1,
  agent_alias TEXT,
  locked_at TEXT,
  shell_output_format TEXT
);
CREATE INDEX idx_cron_jobs_next_run ON cron_jobs(next_run);
CREATE TABLE cron_runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  status TEXT NOT NULL,
  output TEXT,
  duration_ms INTEGER,
  FOREIGN KEY (job_id) REFERENCES cron_jobs(id) ON DELETE CASCADE
);
CREATE INDEX idx_cron_runs_job_id ON cron_runs(job_id);
CREATE INDEX idx_cron_runs_started_at ON cron_runs(started_at);
CREATE INDEX idx_cron_runs_job_started ON cron_runs(job_id, started_at);
"""

SESSIONS = """
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_key TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX idx_sessions_key ON sessions(session_key);
CREATE INDEX idx_sessions_key_id ON sessions(session_key, id);
CREATE TABLE session_metadata (
  session_key TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  last_activity TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0,
  name TEXT,
  state TEXT NOT NULL DEFAULT 'idle',
  turn_id TEXT,
  turn_started_at TEXT,
  agent_alias TEXT,
  channel_id TEXT,
  room_id TEXT,
  sender_id TEXT
);
CREATE INDEX idx_session_metadata_agent_alias ON session_metadata(agent_alias);
CREATE INDEX idx_session_metadata_channel_id ON session_metadata(channel_id);
CREATE INDEX idx_session_metadata_room_id ON session_metadata(room_id);
CREATE INDEX idx_session_metadata_sender_id ON session_metadata(sender_id);
CREATE TABLE jsonl_import_receipts (
  source_name TEXT PRIMARY KEY,
  session_key TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  source_len INTEGER NOT NULL,
  imported_at TEXT NOT NULL
);
CREATE VIRTUAL TABLE sessions_fts USING fts5(session_key, content, content=sessions, content_rowid=id);
CREATE TRIGGER sessions_ai AFTER INSERT ON sessions BEGIN
  INSERT INTO sessions_fts(rowid, session_key, content) VALUES (new.id, new.session_key, new.content);
END;
CREATE TRIGGER sessions_ad AFTER DELETE ON sessions BEGIN
  INSERT INTO sessions_fts(sessions_fts, rowid, session_key, content)
  VALUES ('delete', old.id, old.session_key, old.content);
END;
CREATE TRIGGER sessions_au AFTER UPDATE ON sessions BEGIN
  INSERT INTO sessions_fts(sessions_fts, rowid, session_key, content)
  VALUES ('delete', old.id, old.session_key, old.content);
  INSERT INTO sessions_fts(rowid, session_key, content) VALUES (new.id, new.session_key, new.content);
END;
"""

KNOWLEDGE = """
CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  node_type TEXT NOT NULL,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  tags TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  source_project TEXT
);
CREATE TABLE edges (
  from_id TEXT NOT NULL,
  to_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  PRIMARY KEY (from_id, to_id, relation),
  FOREIGN KEY (from_id) REFERENCES nodes(id) ON DELETE CASCADE,
  FOREIGN KEY (to_id) REFERENCES nodes(id) ON DELETE CASCADE
);
CREATE VIRTUAL TABLE nodes_fts USING fts5(title, content, tags, content='nodes', content_rowid='rowid');
CREATE TRIGGER nodes_ai AFTER INSERT ON nodes BEGIN
  INSERT INTO nodes_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;
CREATE TRIGGER nodes_ad AFTER DELETE ON nodes BEGIN
  INSERT INTO nodes_fts(nodes_fts, rowid, title, content, tags)
  VALUES ('delete', old.rowid, old.title, old.content, old.tags);
END;
CREATE TRIGGER nodes_au AFTER UPDATE ON nodes BEGIN
  INSERT INTO nodes_fts(nodes_fts, rowid, title, content, tags)
  VALUES ('delete', old.rowid, old.title, old.content, old.tags);
  INSERT INTO nodes_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;
CREATE INDEX idx_nodes_type ON nodes(node_type);
CREATE INDEX idx_nodes_source ON nodes(source_project);
CREATE INDEX idx_edges_from ON edges(from_id);
CREATE INDEX idx_edges_to ON edges(to_id);
"""


def brain_tables(layout: str) -> str:
    """Return the tables of `memory/brain.db` of a new installation: the current shape, or the last one of the early
    layout."""
    return _EARLY_BRAIN if layout == EARLY else _CURRENT_BRAIN
