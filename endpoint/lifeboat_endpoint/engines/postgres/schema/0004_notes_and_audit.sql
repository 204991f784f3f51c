-- What belongs to no tenant: the notes of the endpoint, and the audit of all tenants.

-- Who serves reads the notes, of which secrets are wrapped, and writes those that it makes: where it answers, the key of
-- signed addresses (made again when it cannot be opened), the key of receipts (once). The source of keys, the clock and
-- the place of the objects are for workers.
drop policy everybody on lifeboat_control.note;
create policy worker on lifeboat_control.note to {worker} using (true) with check (true);
create policy shared on lifeboat_control.note for select to {api} using (true);
create policy made on lifeboat_control.note for insert to {api}
    with check (name in ('address', 'signing', 'transfer_key'));
create policy again on lifeboat_control.note for delete to {api} using (name in ('address', 'transfer_key'));
revoke update on lifeboat_control.note from {api};

-- Who serves appends to the audit, and sees of it the number and the hash of its last row, which the next one follows.
create policy owner on lifeboat_control.audit for select to {owner} using (true);
create function lifeboat_control.audit_end() returns bigint
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as 'select max(a.number) from lifeboat_control.audit a';
revoke all on function lifeboat_control.audit_end() from public;
grant execute on function lifeboat_control.audit_end() to {api}, {worker};
drop policy follow on lifeboat_control.audit;
create policy follow on lifeboat_control.audit for select to {api}
    using (number = (select lifeboat_control.audit_end()));
