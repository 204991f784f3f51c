-- The tables of an endpoint. Names and columns are those that SQLite has, so that every statement serves both.
--
-- Row-level security is enabled and forced on every table: without a tenant set for the transaction nothing is seen.
-- A setting that was set in an earlier transaction of a connection is '' afterwards, and not null: hence `nullif`.
-- Every unique index begins with what the policy compares, so that nobody learns from a collision what others have.
-- {api} serves, {worker} looks after everything. Neither owns anything. What stands in braces is written out by
-- migrating.py.

create schema lifeboat_control;
create schema lifeboat_tenant;
create schema lifeboat_vault;
grant usage on schema lifeboat_control, lifeboat_tenant, lifeboat_vault to {api}, {worker};

-- Which of these files were run. `sha256`: of the file. The roles stand in policies, so they stay what they were.
create table lifeboat_control.migration(
    number bigint primary key,
    name text collate "C" not null,
    sha256 bytea not null,
    api_role text collate "C" not null,
    worker_role text collate "C" not null,
    applied_at timestamptz not null default clock_timestamp());

-- Who is served ------------------------------------------------------------------------------------------------------

create table lifeboat_control.control(
    schema bigint not null,
    created_at text collate "C" not null,
    endpoint text collate "C" not null default gen_random_uuid()::text);
create unique index control_one on lifeboat_control.control((true));

create table lifeboat_control.tenant(
    id text collate "C" primary key,
    name text collate "C" not null,
    name_key text collate "C" not null unique,
    key_source text collate "C",
    quota bigint,
    created_at text collate "C" not null,
    state text collate "C" not null);

create table lifeboat_control.token(
    id text collate "C" primary key,
    tenant text collate "C" not null references lifeboat_control.tenant(id),
    name text collate "C" not null,
    digest bytea not null,
    scopes text collate "C" not null,
    created_at text collate "C" not null,
    expires_at text collate "C",
    revoked_at text collate "C",
    last_used_at text collate "C");
create index token_tenant on lifeboat_control.token(tenant);

create table lifeboat_control.audit(
    number bigint primary key,
    time text collate "C" not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    details text collate "C" not null,
    hash bytea not null);
create index audit_time on lifeboat_control.audit(time);

create table lifeboat_control.note(name text collate "C" primary key, value text collate "C" not null);

-- Where the wrapped data keys of a tenant lie: what the object is called in its store.
create table lifeboat_control.key_document(
    tenant text collate "C" primary key default {tenant},
    object text collate "C" not null,
    written_at text collate "C" not null);

-- What is kept of one tenant beside the vaults of its agents ----------------------------------------------------------

create table lifeboat_tenant.tenant(
    id text collate "C" primary key,
    schema bigint not null,
    created_at text collate "C" not null);
create table lifeboat_tenant.agent(
    tenant text collate "C" not null default {tenant},
    id text collate "C" not null,
    vault text collate "C",
    created_at text collate "C" not null,
    bytes bigint not null,
    facts bytea not null,
    keys bytea,
    primary key (tenant, id));
create table lifeboat_tenant.upload(
    tenant text collate "C" not null default {tenant},
    id text collate "C" not null,
    agent_id text collate "C" not null,
    kind text collate "C" not null,
    base bigint,
    machine bytea not null,
    created_at text collate "C" not null,
    expires_at text collate "C" not null,
    done bigint,
    primary key (tenant, id));
create index upload_agent on lifeboat_tenant.upload(tenant, agent_id);
create index upload_expires on lifeboat_tenant.upload(tenant, expires_at);
create table lifeboat_tenant.part(
    tenant text collate "C" not null default {tenant},
    upload_id text collate "C" not null,
    position bigint not null,
    token text collate "C",
    size bigint not null,
    body text collate "C",
    primary key (tenant, upload_id, position),
    foreign key (tenant, upload_id) references lifeboat_tenant.upload(tenant, id));
create index part_token on lifeboat_tenant.part(tenant, token);
create index part_body on lifeboat_tenant.part(tenant, body) where body is not null;
create table lifeboat_tenant.orphan(
    tenant text collate "C" not null default {tenant},
    body text collate "C" not null,
    since text collate "C" not null,
    primary key (tenant, body));
create table lifeboat_tenant.used(
    tenant text collate "C" not null default {tenant},
    id text collate "C" not null,
    expires_at text collate "C" not null,
    primary key (tenant, id));
create table lifeboat_tenant.sealed_file(
    tenant text collate "C" not null default {tenant},
    agent_id text collate "C" not null,
    name text collate "C" not null,
    size bigint not null,
    body text collate "C" not null,
    written_at text collate "C" not null,
    primary key (tenant, agent_id, name));
create unique index sealed_file_body on lifeboat_tenant.sealed_file(tenant, body);
create table lifeboat_tenant.sealed_head(
    tenant text collate "C" not null default {tenant},
    agent_id text collate "C" not null,
    tag text collate "C" not null,
    size bigint not null,
    data bytea not null,
    written_at text collate "C" not null,
    primary key (tenant, agent_id));
create table lifeboat_tenant.purge_waiting(
    tenant text collate "C" not null default {tenant},
    agent_id text collate "C" not null,
    redaction_id text collate "C" not null,
    applies_at text collate "C" not null,
    leaves bigint not null,
    primary key (tenant, agent_id, redaction_id));
create table lifeboat_tenant.purge_receipt(
    tenant text collate "C" not null default {tenant},
    agent_id text collate "C" not null,
    redaction_id text collate "C" not null,
    document bytea not null,
    primary key (tenant, agent_id, redaction_id));
create table lifeboat_tenant.erased(
    tenant text collate "C" not null default {tenant},
    agent_id text collate "C" not null,
    redaction_id text collate "C" not null,
    time text collate "C" not null,
    trial bigint not null,
    document bytea not null,
    receipt bytea,
    primary key (tenant, agent_id));

-- Every object that belongs to a tenant: the row is there before the object, and goes after it. `scope`: the agent
-- whose vault it belongs to, '' for none. `key`: what the object is called in its store.
create table lifeboat_tenant.blob(
    tenant text collate "C" not null default {tenant},
    scope text collate "C" not null,
    name text collate "C" not null,
    key text collate "C" not null,
    size bigint not null,
    written_at timestamptz not null default clock_timestamp(),
    primary key (tenant, scope, name));

-- Vaults -------------------------------------------------------------------------------------------------------------

-- Every vault has a number: what all of its rows and indexes begin with is 8 bytes long.
create table lifeboat_vault.place(
    number bigint generated always as identity primary key,
    tenant text collate "C" not null default {tenant},
    agent text collate "C" not null default {agent},
    created_at timestamptz not null default clock_timestamp(),
    unique (tenant, agent));

-- As SQLite has it: where a text stands in another, from 1, or 0.
create function lifeboat_vault.instr(text, text) returns integer
    language sql immutable strict parallel safe as 'select position($2 in $1)';

create table lifeboat_vault.vault(
    place bigint not null default {place},
    id text collate "C" not null,
    agent_id text collate "C" not null,
    seed bytea not null,
    epoch bigint not null,
    schema bigint not null,
    created_at text collate "C" not null,
    primary key (place));
create table lifeboat_vault.object(
    place bigint not null default {place},
    id bigint not null,
    leaf bytea not null,
    salt bytea,
    sha256 bytea,
    size bigint not null,
    base bigint,
    depth bigint not null,
    coding text collate "C" not null,
    file text collate "C",
    body bytea,
    primary key (place, id),
    foreign key (place, base) references lifeboat_vault.object(place, id))
    with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
-- Bodies are compressed or sealed already.
alter table lifeboat_vault.object alter column body set storage external;
create index object_content on lifeboat_vault.object(place, sha256, size) where sha256 is not null;
create index object_base on lifeboat_vault.object(place, base) where base is not null;
create index object_leaf on lifeboat_vault.object(place, leaf);
create index object_bodyless on lifeboat_vault.object(place, leaf) where body is null and file is null;
create unique index object_file on lifeboat_vault.object(place, file) where file is not null;
create table lifeboat_vault.entry(
    place bigint not null default {place},
    path text collate "C" not null,
    first bigint not null,
    last bigint,
    bucket bigint not null,
    object bigint not null,
    meta text collate "C" not null,
    primary key (place, path, first),
    foreign key (place, object) references lifeboat_vault.object(place, id))
    with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index entry_first on lifeboat_vault.entry(place, first);
create index entry_last on lifeboat_vault.entry(place, last) where last is not null;
create index entry_live on lifeboat_vault.entry(place, bucket) where last is null;
create index entry_object on lifeboat_vault.entry(place, object);
create table lifeboat_vault.record(
    place bigint not null default {place},
    id text collate "C" not null,
    partition text collate "C" not null,
    position bigint not null,
    first bigint not null,
    last bigint,
    bucket bigint not null,
    object bigint not null,
    content_key bytea,
    foreign key (place, object) references lifeboat_vault.object(place, id))
    with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create unique index record_id on lifeboat_vault.record(place, id, first);
create unique index record_place on lifeboat_vault.record(place, partition, position, first);
create index record_first on lifeboat_vault.record(place, first);
create index record_last on lifeboat_vault.record(place, last) where last is not null;
create index record_live on lifeboat_vault.record(place, bucket) where last is null;
create index record_object on lifeboat_vault.record(place, object);
create index record_content on lifeboat_vault.record(place, content_key) where last is null;
-- Without figures of it, a vault counts as a large part of its table: then a row of a large vault among many small ones
-- is looked up by the narrowest index, and not by one that is as good for the small ones.
alter table lifeboat_vault.object alter column place set statistics 0;
alter table lifeboat_vault.entry alter column place set statistics 0;
alter table lifeboat_vault.record alter column place set statistics 0;
create table lifeboat_vault.sequence(
    place bigint not null default {place},
    n bigint not null,
    base bigint,
    epoch bigint not null,
    time text collate "C" not null,
    raw_time text collate "C" not null,
    kind text collate "C" not null,
    writer text collate "C" not null,
    digest bytea not null,
    signature text collate "C",
    label text collate "C",
    counts text collate "C" not null,
    bytes bigint not null,
    primary key (place, n));
create table lifeboat_vault.bucket(
    place bigint not null default {place},
    number bigint not null,
    hash bytea not null,
    primary key (place, number)) with (fillfactor = 80);
create table lifeboat_vault.pin(
    place bigint not null default {place},
    n bigint not null,
    reason text collate "C" not null,
    until text collate "C",
    primary key (place, n, reason),
    foreign key (place, n) references lifeboat_vault.sequence(place, n));
create table lifeboat_vault.audit(
    place bigint not null default {place},
    number bigint not null,
    time text collate "C" not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    details text collate "C" not null,
    hash bytea not null,
    primary key (place, number));
create table lifeboat_vault.redaction(
    place bigint not null default {place},
    id text collate "C" not null,
    time text collate "C" not null,
    document text collate "C" not null,
    waits_until text collate "C",
    swept bigint not null default 0,
    primary key (place, id));
create table lifeboat_vault.decision(
    place bigint not null default {place},
    key text collate "C" not null,
    value text collate "C" not null,
    primary key (place, key));

-- Who sees what ------------------------------------------------------------------------------------------------------

do $$
declare
    found regclass;
begin
    for found in
        select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('lifeboat_control', 'lifeboat_tenant', 'lifeboat_vault') and c.relkind = 'r'
    loop
        execute format('alter table %s enable row level security', found);
        execute format('alter table %s force row level security', found);
    end loop;
    for found in
        select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'lifeboat_tenant'::regnamespace and c.relkind = 'r' and a.attname = 'tenant'
    loop
        execute format($f$create policy own on %s using ({same_tenant}) with check ({same_tenant})$f$, found);
    end loop;
    -- The number is looked up once in each statement: whoever sets that of another vault finds nothing of it.
    for found in
        select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'lifeboat_vault'::regnamespace and c.relkind = 'r' and a.attname = 'place'
    loop
        execute format($f$create policy own on %s using ({same_place}) with check ({same_place})$f$, found);
    end loop;
end $$;

create policy own on lifeboat_tenant.tenant using (id = {tenant}) with check (id = {tenant});
create policy own on lifeboat_vault.place
    using (tenant = {tenant} and agent = coalesce({agent}, agent)) with check (tenant = {tenant} and agent = {agent});

create policy everybody on lifeboat_control.migration for select using (true);
create policy owner on lifeboat_control.migration to {owner} using (true) with check (true);
create policy everybody on lifeboat_control.control for select using (true);
create policy worker on lifeboat_control.control to {worker} using (true) with check (true);
create policy everybody on lifeboat_control.note to {api}, {worker} using (true) with check (true);
create policy append on lifeboat_control.audit for insert to {api} with check (true);
create policy follow on lifeboat_control.audit for select to {api} using (true);
create policy worker on lifeboat_control.audit to {worker} using (true) with check (true);
create policy worker on lifeboat_control.tenant to {worker} using (true) with check (true);
create policy worker on lifeboat_control.token to {worker} using (true) with check (true);
create policy worker on lifeboat_control.key_document to {worker} using (true) with check (true);
create policy own on lifeboat_control.key_document to {api} using (tenant = {tenant}) with check (tenant = {tenant});
create policy own on lifeboat_control.token to {api}
    using (tenant = {tenant} or id = {token}) with check (tenant = {tenant} or id = {token});
create policy own on lifeboat_control.tenant for select to {api}
    using (id = {tenant} or id = (select t.tenant from lifeboat_control.token t where t.id = {token}));

-- Who a transaction is for, and the lock of whoever writes: one at a time for each `writer`, null for those that only
-- read. The number of the vault's place, 0 without one, -1 where somebody else writes and nobody is to wait.
create function lifeboat_control.enter(tenant text, agent text, token text, writer bigint, wait boolean) returns bigint
    language plpgsql as $$
declare
    found bigint;
begin
    perform set_config('lifeboat.tenant', tenant, true), set_config('lifeboat.agent', agent, true),
        set_config('lifeboat.token', token, true), set_config('lifeboat.place', '', true);
    if writer is not null then
        if wait then
            perform pg_advisory_xact_lock(writer);
        elsif not pg_try_advisory_xact_lock(writer) then
            return -1;
        end if;
    end if;
    if agent <> '' then
        select p.number into found from lifeboat_vault.place p where p.tenant = enter.tenant and p.agent = enter.agent;
        perform set_config('lifeboat.place', coalesce(found::text, ''), true);
    end if;
    return coalesce(found, 0);
end $$;
revoke all on all functions in schema lifeboat_control, lifeboat_vault from public;
grant execute on all functions in schema lifeboat_control, lifeboat_vault to {api}, {worker};

grant select on lifeboat_control.migration, lifeboat_control.control to {api}, {worker};
grant insert, update on lifeboat_control.control to {worker};
grant select, insert, update, delete on lifeboat_control.note, lifeboat_control.key_document to {api}, {worker};
grant select, insert, update, delete on lifeboat_control.tenant, lifeboat_control.token, lifeboat_control.audit
    to {worker};
grant select on lifeboat_control.tenant, lifeboat_control.token to {api};
grant update (revoked_at, last_used_at) on lifeboat_control.token to {api};
grant insert on lifeboat_control.audit to {api};
grant select (number, hash) on lifeboat_control.audit to {api};
grant select, insert, update, delete on all tables in schema lifeboat_tenant, lifeboat_vault to {api}, {worker};
