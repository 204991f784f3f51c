"""Every SQL statement of the queue (`engines/postgres/schema/0002_work.sql`). All times are those of the database."""

from __future__ import annotations

NOW = "select clock_timestamp()"
SET_TENANT = "select set_config('lifeboat.tenant', %s, true)"

# Further jobs of a tenant are ten seconds apart. Counting stops at a thousand, because it would cost more than it is
# worth.
_BEHIND = """(select count(*) from (select 1 from lifeboat_work.job o
    where o.tenant = w.tenant and o.state <> 'dead' limit 1000) n) * interval '10 seconds'"""

# A waiting job is brought forward unless it waits because it failed. A running one is marked to run again.
WISH = f"""insert into lifeboat_work.job(kind, tenant, agent, due_at, turn)
    select w.kind, w.tenant, w.agent, w.at, w.at + {_BEHIND}
    from (select %(kind)s::text as kind, %(tenant)s::text as tenant, %(agent)s::text as agent,
        coalesce(%(run_at)s::timestamptz, clock_timestamp()) as at) w
    on conflict (tenant, kind, agent) where state <> 'dead' do update set
        due_at = case when job.state = 'running' then job.due_at else excluded.due_at end,
        turn = case when job.state = 'running' then job.turn else least(job.turn, excluded.turn) end,
        again_at = case when job.state = 'running' then excluded.due_at else job.again_at end
    where (job.state = 'running' and (job.again_at is null or job.again_at > excluded.due_at))
        or (job.state = 'waiting' and job.attempts = 0 and job.due_at > excluded.due_at)"""

PLAN = f"""insert into lifeboat_work.job(kind, tenant, agent, due_at, turn)
    select w.kind, w.tenant, w.agent, clock_timestamp(),
        clock_timestamp() + {_BEHIND} + (w.number - 1) * interval '10 seconds'
    from (select *, row_number() over (partition by tenant order by kind, agent) as number
        from unnest(%s::text[], %s::text[], %s::text[]) as given(kind, tenant, agent)) w
    order by w.tenant, w.kind, w.agent
    on conflict (tenant, kind, agent) where state <> 'dead' do nothing"""

# The first condition is evaluated once. It ends the query if nothing is due, however many jobs wait for later.
TAKE = """update lifeboat_work.job set state = 'running', attempts = attempts + 1, lease = lease + 1, worker = %s,
        changed_at = clock_timestamp(), due_at = clock_timestamp() + %s,
        again_at = case when again_at > clock_timestamp() then again_at end
    where id = (select id from lifeboat_work.job
        where (select min(due_at) from lifeboat_work.job where state <> 'dead') <= statement_timestamp()
            and state <> 'dead' and due_at <= clock_timestamp() and kind = any(%s)
        order by priority, turn, id limit 1 for update skip locked)
    returning id, kind, tenant, agent, attempts, lease"""

_HELD = "id = %(id)s and lease = %(lease)s and state = 'running'"
HEARTBEAT = f"update lifeboat_work.job set due_at = clock_timestamp() + %(seconds)s where {_HELD}"
FINISH = f"delete from lifeboat_work.job where {_HELD} and again_at is null"
FINISH_AND_WAIT = f"""update lifeboat_work.job set state = 'waiting', attempts = 0, worker = '', error = '',
        changed_at = clock_timestamp(), due_at = again_at, turn = again_at, again_at = null where {_HELD}"""
RELEASE = f"""update lifeboat_work.job set state = 'waiting', attempts = attempts - 1, worker = '',
        changed_at = clock_timestamp(), due_at = clock_timestamp() where {_HELD}"""
PUT_OFF = f"""update lifeboat_work.job set state = 'waiting', attempts = 0, worker = '', error = '', again_at = null,
        changed_at = clock_timestamp(), due_at = clock_timestamp() + %(wait)s, turn = clock_timestamp() + %(wait)s
    where {_HELD}"""
FAIL = f"""update lifeboat_work.job set state = 'waiting', error = %(error)s, worker = '',
        changed_at = clock_timestamp(), due_at = clock_timestamp() + %(wait)s, turn = clock_timestamp() + %(wait)s
    where {_HELD}"""
GIVE_UP = f"""update lifeboat_work.job set state = 'dead', error = %(error)s, worker = '', again_at = null,
        changed_at = clock_timestamp(), due_at = clock_timestamp() where {_HELD}"""
HOLD = f"select 1 from lifeboat_work.job where {_HELD} for update"
DROP_DEAD = """delete from lifeboat_work.job
    where state = 'dead' and kind = %(kind)s and tenant = %(tenant)s and agent = %(agent)s"""
NOTE_END = """insert into lifeboat_work.latest(tenant, kind, ended_at)
    select %(tenant)s::text, %(kind)s::text, clock_timestamp() where %(agent)s::text = ''
    on conflict (tenant, kind) do update set ended_at = excluded.ended_at"""

_ROW = """select id, kind, tenant, agent, state, attempts, added_at, changed_at, due_at, worker, error
    from lifeboat_work.job"""
JOB = f"{_ROW} where id = %s"
JOBS = f"{_ROW} order by state = 'dead', priority, turn, id limit %s"
DEAD = f"{_ROW} where state = 'dead' order by changed_at, id"
REVIVE = """update lifeboat_work.job set state = 'waiting', attempts = 0, changed_at = clock_timestamp(),
        due_at = clock_timestamp(), turn = clock_timestamp() where id = %s and state = 'waiting'"""
DROP = "delete from lifeboat_work.job where id = %s and state <> 'running'"
COUNTS = """select kind, state, count(*), coalesce(extract(epoch from clock_timestamp()
        - min(due_at) filter (where state = 'waiting' and due_at <= clock_timestamp())), 0)::float8
    from lifeboat_work.job group by kind, state order by kind, state"""

LATEST = "select kind, tenant, ended_at from lifeboat_work.latest"
FORGET = "delete from lifeboat_work.latest where tenant = any(%s)"
