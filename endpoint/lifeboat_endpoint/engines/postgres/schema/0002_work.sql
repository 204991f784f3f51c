-- What is to be done for tenants, by whichever worker comes first (work/queue.py).

create schema lifeboat_work;
grant usage on schema lifeboat_work to {api}, {worker};

-- One row for each thing that is to be done: of what waits or runs there is one for each kind, tenant and agent, and
-- one more of what was given up. `due_at`: when it may be taken; of one that runs, when its lease ends. Among those that
-- may be taken the smallest `turn` is first: what a tenant asks for beyond its first job stands the further back the
-- more it has, so nobody waits behind the thousand jobs of another. `lease` counts how often it was taken: whoever
-- holds an older one holds none. `again_at`: wished for anew while it ran.
create table lifeboat_work.job(
    id bigint generated always as identity primary key,
    kind text collate "C" not null check (kind ~ '^[a-z_]+$' and octet_length(kind) <= 40),
    tenant text collate "C" not null check (octet_length(tenant) <= 100),
    agent text collate "C" not null default '' check (octet_length(agent) <= 200),
    state text collate "C" not null default 'waiting' check (state in ('waiting', 'running', 'dead')),
    priority smallint not null generated always as (
        case when kind in ('apply_purge', 'finish_removals') then 0 else 1 end) stored,
    attempts integer not null default 0,
    added_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    due_at timestamptz not null,
    turn timestamptz not null,
    again_at timestamptz,
    lease bigint not null default 0,
    worker text collate "C" not null default '',
    error text collate "C" not null default '')
    with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create unique index job_open on lifeboat_work.job(tenant, kind, agent) where state <> 'dead';
create unique index job_dead on lifeboat_work.job(tenant, kind, agent) where state = 'dead';
create index job_turn on lifeboat_work.job(priority, turn, id) where state <> 'dead';
create index job_due on lifeboat_work.job(due_at) where state <> 'dead';

-- When each kind of work came to its end for a tenant the last time, well or not.
create table lifeboat_work.latest(
    tenant text collate "C" not null,
    kind text collate "C" not null,
    ended_at timestamptz not null,
    primary key(tenant, kind))
    with (fillfactor = 70);

alter table lifeboat_work.job enable row level security;
alter table lifeboat_work.job force row level security;
alter table lifeboat_work.latest enable row level security;
alter table lifeboat_work.latest force row level security;

create policy worker on lifeboat_work.job to {worker} using (true) with check (true);
create policy own on lifeboat_work.job to {api}
    using (tenant = {tenant}) with check (tenant = {tenant});
create policy worker on lifeboat_work.latest to {worker} using (true) with check (true);

grant select, insert, update, delete on lifeboat_work.job, lifeboat_work.latest to {worker};
grant select (kind, tenant, agent, state, attempts, due_at, turn, again_at) on lifeboat_work.job to {api};
grant insert (kind, tenant, agent, due_at, turn) on lifeboat_work.job to {api};
grant update (due_at, turn, again_at) on lifeboat_work.job to {api};
