/**
 * Each transaction of a store is one function on the server, and so one round trip. Rows are always locked from the root
 * session downwards, the holder of the lease first, so that there are no deadlocks.
 */
export const functions = (schema: string, channel: string): string =>
  [append, lease, send, remove].map((text) => text(schema, channel)).join('\n')

/** Bounds the waiting for locks, and fixes the search path, which a user could set. */
const settings = `language plpgsql set lock_timeout = '10s' set search_path = pg_catalog, pg_temp`

const append = (schema: string, channel: string): string => `
create function ${schema}.append_1(
  p_session text, p_holder text, p_parent text, p_epoch bigint, p_head bigint,
  p_ids text[], p_bodies text[], p_keys text[], p_first double precision, p_last double precision
) returns table (outcome text, writer text, reached bigint) ${settings} as $function$
declare
  v_guard record;
  v_head bigint;
begin
  if p_holder = p_session then
    select epoch, owner, head into v_guard from ${schema}.session where id = p_holder for no key update;
  else
    select epoch, owner, head into v_guard from ${schema}.session where id = p_holder for share;
  end if;
  if not found or v_guard.epoch = 0 or v_guard.epoch <> p_epoch then
    return query select 'taken', v_guard.owner, 0::bigint;
    return;
  end if;
  v_head := v_guard.head;
  if p_holder <> p_session then
    loop
      select head into v_head from ${schema}.session where id = p_session for no key update;
      exit when found;
      if p_head <> 0 then
        return query select 'moved', null::text, 0::bigint;
        return;
      end if;
      insert into ${schema}.session (id) values (p_session) on conflict (id) do nothing;
    end loop;
  end if;
  if v_head <> p_head then
    if cardinality(p_ids) = (
      select count(*) from unnest(p_ids) with ordinality as given (id, i)
      join ${schema}.entry as kept on kept.session = p_session and kept.seq = p_head + given.i and kept.id = given.id
    ) then
      return query select 'done', null::text, v_head;
    else
      return query select 'moved', null::text, v_head;
    end if;
    return;
  end if;
  insert into ${schema}.entry (session, seq, id, body)
    select p_session, p_head + given.i, given.id, given.body
    from unnest(p_ids, p_bodies) with ordinality as given (id, body, i);
  if cardinality(p_keys) > 0 then
    insert into ${schema}.inbox (session, client_key) select distinct p_session, unnest(p_keys)
      on conflict (session, client_key) do update set body = null;
  end if;
  update ${schema}.session set
    head = p_head + cardinality(p_ids),
    parent = coalesce(p_parent, parent),
    created = coalesce(created, p_first),
    updated = coalesce(p_last, updated)
    where id = p_session;
  perform pg_notify('${channel}', p_session);
  return query select 'done', null::text, p_head + cardinality(p_ids);
end
$function$;`

const lease = (schema: string): string => `
create function ${schema}.lease_1(
  p_session text, p_owner text, p_ttl double precision, p_epoch bigint, p_take boolean, p_time double precision
) returns table (outcome text, writer text, began double precision, term bigint, reached bigint, waiting text)
${settings} as $function$
declare
  v_kept record;
  v_now double precision;
begin
  loop
    select epoch, owner, since, expires, head into v_kept from ${schema}.session where id = p_session
      for no key update;
    exit when found;
    if p_epoch is not null then
      return query select 'taken', null::text, 0::double precision, 0::bigint, 0::bigint, '[]';
      return;
    end if;
    insert into ${schema}.session (id) values (p_session) on conflict (id) do nothing;
  end loop;
  v_now := coalesce(p_time, floor(extract(epoch from clock_timestamp()) * 1000));
  if p_epoch is not null then
    if v_kept.epoch <> p_epoch then
      return query select 'taken', v_kept.owner, v_kept.since, v_kept.epoch, v_kept.head, '[]';
      return;
    end if;
  else
    if v_kept.expires > v_now and v_kept.owner <> p_owner and not p_take then
      return query select 'busy', v_kept.owner, v_kept.since, v_kept.epoch, v_kept.head, '[]';
      return;
    end if;
    v_kept.epoch := nextval('${schema}.epoch');
    v_kept.owner := p_owner;
    v_kept.since := v_now;
  end if;
  update ${schema}.session set
    epoch = v_kept.epoch,
    owner = v_kept.owner,
    since = v_kept.since,
    expires = case when p_ttl = 0 then 0 else v_now + p_ttl end
    where id = p_session;
  return query select 'done', v_kept.owner, v_kept.since, v_kept.epoch, v_kept.head, (
    select coalesce('[' || string_agg(body, ',' order by place) || ']', '[]')
    from ${schema}.inbox where session = p_session and body is not null
  );
end
$function$;`

/** The lock prevents the session from being deleted meanwhile, and does not wait for a writer. */
const send = (schema: string, channel: string): string => `
create function ${schema}.send_1(p_session text, p_key text, p_body text) returns void ${settings} as $function$
begin
  loop
    insert into ${schema}.session (id) values (p_session) on conflict (id) do nothing;
    perform 1 from ${schema}.session where id = p_session for key share;
    exit when found;
  end loop;
  insert into ${schema}.inbox (session, client_key, body) values (p_session, p_key, p_body)
    on conflict (session, client_key) do nothing;
  if found then
    perform pg_notify('${channel}', p_session);
  end if;
end
$function$;`

const remove = (schema: string): string => `
create function ${schema}.delete_1(p_session text) returns void ${settings} as $function$
declare
  v_family text[];
begin
  perform 1 from ${schema}.session where id = p_session for update;
  with recursive family (id) as (
    select p_session collate "C"
    union
    select session.id from ${schema}.session join family on session.parent = family.id
  ) select array_agg(id) into v_family from family;
  perform 1 from ${schema}.session where id = any (v_family) order by id for update;
  delete from ${schema}.entry where session = any (v_family);
  delete from ${schema}.inbox where session = any (v_family);
  delete from ${schema}.blob where session = any (v_family);
  delete from ${schema}.session where id = any (v_family);
end
$function$;`
