-- How often somebody did something lately, for all processes that serve (store/postgres/rates.py). A row is a bucket that
-- held `level` at a moment; `given` is what the last who asked was given. The key is a digest under a key that the
-- database does not have. After a crash all buckets are full again: that is worth no write-ahead log.
create unlogged table lifeboat_work.rate(
    key bytea primary key check (octet_length(key) = 16),
    level double precision not null,
    given double precision not null,
    at timestamptz not null)
    with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

alter table lifeboat_work.rate enable row level security;
alter table lifeboat_work.rate force row level security;

-- Who serves sees the bucket that it names, and may let go of those that were full long ago; nobody lists them.
create policy named on lifeboat_work.rate for all to {api}
    using (key = decode(nullif(current_setting('lifeboat.rate', true), ''), 'hex'))
    with check (key = decode(nullif(current_setting('lifeboat.rate', true), ''), 'hex'));
create policy stale on lifeboat_work.rate for delete to {api}
    using (at < clock_timestamp() - interval '1 hour');

grant select, insert, update, delete on lifeboat_work.rate to {api};
