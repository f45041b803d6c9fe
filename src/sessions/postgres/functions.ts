import { isHeldSql, timeSql } from './time.ts'

/**
 * Each transaction of a store is one function on the server, and so one round trip. Rows are always locked in the same order,
 * so that there are no deadlocks: the lease, which for a child is the lease of its root, then the session, then the sessions
 * that it was forked from, then its messages.
 *
 * The words for leases in the SQL. A process is a store object, which has a random id.
 * - `p_holder`: the id of the session whose lease covers an append: for a child the root (`Fence.holder`), else the session
 *   itself.
 * - `held`: as a row, the lease; as a column of a page, whether the lease is valid.
 * - `holder`: as a row, the process that has the lease.
 * - `owner`, `writer`: the name of the writer, which only errors tell (`LeaseRequest.owner`).
 * - `p_own`: the lease is valid as long as its process lives (`LeaseRequest.ofProcess`). It has no `expires`.
 * - `p_take`: take the lease even if another process holds it (`LeaseRequest.takeOver`).
 * - `beat`: when the process last gave a sign of life.
 * - `since`, `began`: when the lease was taken.
 * - `epoch`, `term`: the number of the lease. `head`, `reached`: the number of the last entry.
 * - `waiting`: the inbox, as JSON.
 * - `died`: the process that held the lease before, if it died with it. `died_with`, `aboard`: how many leases it had then.
 * - `record`, `summary`: the stored summary. `state`: the stored status (see facets.ts).
 *
 * Some words come twice, because a column that a function returns must not be named like a column of a table.
 */
export const functions = (schema: string): string =>
  [append, lease, send, remove, page].map((text) => text(schema)).join('\n')

/** Bounds the waiting for locks, and fixes the search path, which a user could set. */
const settings = `language plpgsql set lock_timeout = '10s' set search_path = pg_catalog, pg_temp`

/**
 * The first append of a fork: the head of the fence already counts the entries that the fork shares, while the row of the fork
 * has head 0. An append that has already happened is recognised by the ids of its entries, and succeeds again.
 */
const append = (schema: string): string => `
create function ${schema}.append_2(
  p_session text, p_holder text, p_parent text, p_base text, p_epoch bigint, p_head bigint,
  p_ids text[], p_bodies text[], p_keys text[],
  p_record text, p_state text, p_facets text[], p_created float8, p_updated float8
) returns table (outcome text, writer text, reached bigint) ${settings} as $function$
declare
  v_root bigint;
  v_epoch bigint;
  v_owner text;
  v_row ${schema}.session;
  v_base record;
  v_facets text[];
begin
  select held.session, held.epoch, held.owner into v_root, v_epoch, v_owner
    from ${schema}.session join ${schema}.lease as held on held.session = session.key
    where session.id = p_holder for share of held;
  if v_epoch is distinct from p_epoch then
    return query select 'taken', v_owner, 0::bigint;
    return;
  end if;
  loop
    select * into v_row from ${schema}.session where id = p_session for no key update;
    exit when found;
    if p_head <> 0 and p_base is null then
      return query select 'moved', null::text, 0::bigint;
      return;
    end if;
    insert into ${schema}.session (id) values (p_session) on conflict (id) do nothing;
  end loop;
  if v_row.head = 0 and p_head > 0 and p_base is not null then
    select key, head, base, base_head into v_base from ${schema}.session where id = p_base for key share;
    while v_base.base_head >= p_head loop
      select key, head, base, base_head into v_base from ${schema}.session where key = v_base.base for key share;
    end loop;
    if v_base.head >= p_head then
      v_row.base := v_base.key;
      v_row.base_head := p_head;
      v_row.head := p_head;
    end if;
  end if;
  if v_row.head <> p_head or p_record is null then
    if cardinality(p_ids) = (
      select count(*) from unnest(p_ids) with ordinality as given (id, i)
      join ${schema}.entry as kept on kept.session = v_row.key and kept.seq = p_head + given.i and kept.id = given.id
    ) then
      return query select 'done', null::text, v_row.head;
    else
      return query select 'moved', null::text, v_row.head;
    end if;
    return;
  end if;
  insert into ${schema}.entry (session, seq, id, body)
    select v_row.key, p_head + given.i, given.id, given.body
    from unnest(p_ids, p_bodies) with ordinality as given (id, body, i);
  if cardinality(p_keys) > 0 then
    insert into ${schema}.inbox (session, client_key) select distinct v_row.key, unnest(p_keys)
      on conflict (session, client_key) do update set body = null;
  end if;
  v_row.parent := coalesce(p_parent, v_row.parent);
  v_facets := p_facets || coalesce('parent:' || v_row.parent, 'root');
  if v_facets = v_row.facets and p_updated = v_row.updated then
    null;
  elsif v_facets = v_row.facets then
    update ${schema}.recent set updated = p_updated
      where name = any (v_facets) and updated = v_row.updated and id = p_session;
  else
    delete from ${schema}.recent where name = any (v_row.facets) and updated = v_row.updated and id = p_session;
    insert into ${schema}.recent (name, updated, id) select unnest(v_facets), p_updated, p_session;
    delete from ${schema}.listed where name = any (v_row.facets) and name <> all (v_facets) and id = p_session;
    insert into ${schema}.listed (name, id, created)
      select facet, p_session, p_created from unnest(v_facets) as facet where facet <> all (v_row.facets);
  end if;
  update ${schema}.session set
    head = p_head + cardinality(p_ids),
    parent = v_row.parent,
    root = case when p_holder <> p_session then v_root end,
    base = v_row.base,
    base_head = v_row.base_head,
    record = p_record,
    state = p_state,
    facets = v_facets,
    created = p_created,
    updated = p_updated
    where key = v_row.key;
  return query select 'done', null::text, p_head + cardinality(p_ids);
end
$function$;`

/**
 * Giving back a lease that no longer exists succeeds, so that the request can be retried. The row of the process is written only
 * when its last beat is old, so that leases that a process takes at the same time do not wait for each other. Two processes may
 * take a lease from each other, so their rows are locked in the order of their ids.
 */
const lease = (schema: string): string => `
create function ${schema}.lease_2(
  p_session text, p_owner text, p_ttl float8, p_epoch bigint, p_take boolean, p_create boolean,
  p_process text, p_own boolean, p_time float8
) returns table (
  outcome text, writer text, began float8, term bigint, reached bigint, summary text, waiting text, died text, aboard bigint
) ${settings} as $function$
declare
  v_key bigint;
  v_head bigint;
  v_record text;
  v_now float8;
  v_beat float8;
  v_is_held boolean;
  v_held ${schema}.lease;
  v_old ${schema}.lease;
  v_died text;
  v_aboard bigint;
begin
  loop
    select key into v_key from ${schema}.session where id = p_session;
    if not found then
      if p_epoch is not null or not p_create then
        return query select case when p_epoch is null then 'missing' when p_ttl = 0 then 'done' else 'taken' end,
          null::text, 0::float8, p_epoch, 0::bigint, null::text, '[]', null::text, 0::bigint;
        return;
      end if;
      insert into ${schema}.session (id) values (p_session) on conflict (id) do nothing;
      continue;
    end if;
    if p_epoch is null then
      insert into ${schema}.lease (session) values (v_key) on conflict (session) do nothing;
    end if;
    select * into v_held from ${schema}.lease where session = v_key for update;
    if found then
      select head, record into v_head, v_record from ${schema}.session where key = v_key and id is not null for key share;
      exit when found;
      delete from ${schema}.lease where session = v_key; -- the session was deleted meanwhile
    elsif p_epoch is not null then
      return query select case when p_ttl = 0 then 'done' else 'taken' end,
        null::text, 0::float8, p_epoch, 0::bigint, null::text, '[]', null::text, 0::bigint;
      return;
    end if;
  end loop;
  v_old := v_held;
  v_now := ${timeSql('p_time')};
  if p_epoch is not null then
    if v_held.epoch <> p_epoch then
      return query select 'taken', v_held.owner, v_held.since, v_held.epoch, 0::bigint, null::text, '[]', null::text, 0::bigint;
      return;
    end if;
    if p_ttl > 0 then
      update ${schema}.lease set ttl = p_ttl, expires = case when expires is not null then v_now + p_ttl end
        where session = v_key;
    else
      delete from ${schema}.lease where session = v_key;
    end if;
  else
    select beat into v_beat from ${schema}.process where id = p_process;
    perform 1 from ${schema}.process
      where (p_own and id = p_process and beat + p_ttl / 4 < v_now)
        or (v_old.expires is null and id = v_old.process and id <> p_process and beat + v_old.ttl <= v_now)
      order by id for update;
    select ${isHeldSql('v_now')} into v_is_held
      from (select v_old.expires, v_old.ttl) as held left join ${schema}.process as holder on holder.id = v_old.process;
    if v_is_held and v_old.owner <> p_owner and not p_take then
      return query select 'busy', v_old.owner, v_old.since, v_old.epoch, v_head, null::text, '[]', null::text, 0::bigint;
      return;
    end if;
    if v_old.expires is null and not v_is_held and v_old.process <> p_process then
      update ${schema}.process set died_with =
        (select count(*) from ${schema}.lease where process = v_old.process and expires is null)
        where id = v_old.process and died_with is null;
      select id, died_with into v_died, v_aboard from ${schema}.process where id = v_old.process;
    end if;
    if p_own and (v_beat is null or v_beat + p_ttl / 4 < v_now) then
      insert into ${schema}.process (id, beat) values (p_process, v_now)
        on conflict (id) do update set beat = v_now, died_with = null;
    end if;
    if p_own and v_beat is null then
      delete from ${schema}.process where id in (
        select id from ${schema}.process as old where beat < v_now - 3600000
          and not exists (select 1 from ${schema}.lease where process = old.id) for update skip locked
      );
    end if;
    update ${schema}.lease set
      epoch = nextval('${schema}.epoch'),
      owner = p_owner,
      since = v_now,
      process = p_process,
      ttl = p_ttl,
      expires = case when not p_own then case when p_ttl = 0 then 0 else v_now + p_ttl end end
      where session = v_key returning * into v_held;
  end if;
  return query select 'done', v_held.owner, v_held.since, v_held.epoch, v_head, v_record, (
    select coalesce('[' || string_agg(body, ',' order by place) || ']', '[]')
    from ${schema}.inbox where session = v_key and body is not null
  ), v_died, v_aboard;
  if p_epoch is not null and p_ttl = 0 and v_head = 0 then
    perform 1 from ${schema}.session where key = v_key for update; -- a message that is being sent keeps the session
    if not exists (select 1 from ${schema}.inbox where session = v_key and body is not null) then
      delete from ${schema}.inbox where session = v_key;
      delete from ${schema}.blob where session = v_key;
      delete from ${schema}.session where key = v_key;
    end if;
  end if;
end
$function$;`

/**
 * The lock keeps the session from being deleted meanwhile. It does not wait for a writer, and no writer waits for it, because
 * the caller may send a message in a long transaction. The notice goes only to the process that has the lease, which then polls.
 */
const send = (schema: string): string => `
create function ${schema}.send_2(p_session text, p_key text, p_is_answer boolean, p_body text)
returns boolean ${settings} as $function$
declare
  v_row record;
  v_process text;
begin
  select key, root into v_row from ${schema}.session where id = p_session for key share;
  if not found then
    return false;
  end if;
  insert into ${schema}.inbox (session, client_key, is_answer, body) values (v_row.key, p_key, p_is_answer, p_body)
    on conflict (session, client_key) do nothing;
  if found then
    select process into v_process from ${schema}.lease where session = coalesce(v_row.root, v_row.key);
    if v_process is not null then
      perform pg_notify('libero_' || v_process, '');
    end if;
  end if;
  return true;
end
$function$;`

/**
 * The lease is locked first, so that no child is made meanwhile. Deleted sessions lose their id. Rows that no fork needs are
 * removed, and then, step by step, the deleted rows that they were forked from. A row that a fork still needs keeps its blobs
 * and the entries that are shared.
 */
const remove = (schema: string): string => `
create function ${schema}.delete_2(p_session text) returns void ${settings} as $function$
declare
  v_family bigint[];
  v_gone bigint[];
  v_bases bigint[];
begin
  perform 1 from ${schema}.session join ${schema}.lease as held on held.session = coalesce(session.root, session.key)
    where session.id = p_session for update of held;
  with recursive family (key, id) as (
    select key, id from ${schema}.session where id = p_session
    union
    select session.key, session.id from ${schema}.session join family on session.parent = family.id
  ) select array_agg(key) into v_family from family;
  perform 1 from ${schema}.session where key = any (v_family) order by key for update;
  delete from ${schema}.recent using ${schema}.session as old where old.key = any (v_family)
    and recent.name = any (old.facets) and recent.updated = old.updated and recent.id = old.id;
  delete from ${schema}.listed using ${schema}.session as old where old.key = any (v_family)
    and listed.name = any (old.facets) and listed.id = old.id;
  delete from ${schema}.inbox where session = any (v_family);
  delete from ${schema}.lease where session = any (v_family);
  update ${schema}.session set id = null, parent = null, root = null, record = null, state = null, facets = '{}'
    where key = any (v_family);
  loop
    with gone as (
      delete from ${schema}.session as old where key = any (v_family) and id is null
        and not exists (select 1 from ${schema}.session as fork where fork.base = old.key) returning key, base
    ) select array_agg(key), array_agg(distinct base) filter (where base is not null) into v_gone, v_bases from gone;
    exit when v_gone is null;
    delete from ${schema}.entry where session = any (v_gone);
    delete from ${schema}.blob where session = any (v_gone);
    perform 1 from ${schema}.session where key = any (v_bases) order by key for update;
    v_family := v_family || v_bases;
  end loop;
  update ${schema}.session as old set head = (select max(base_head) from ${schema}.session as fork where fork.base = old.key)
    where key = any (v_family) and id is null;
  delete from ${schema}.entry using ${schema}.session as old
    where old.key = any (v_family) and old.id is null and entry.session = old.key and entry.seq > old.head;
end
$function$;`

/**
 * Reads a page of a list (see list.ts). The settings make the planner walk through an index in the order of the page. The planner
 * only estimates, and without them would sometimes choose a plan that reads all sessions.
 */
const page = (schema: string): string => `
create function ${schema}.page_2(p_query text, p_time float8, p_values text[])
returns table (id text, parent text, record text, held boolean, mail text) ${settings}
set jit = off set enable_sort = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_hashagg = off as $function$
begin
  return query execute p_query using p_time, p_values;
end
$function$;`
