import { functions } from './functions.ts'

/** The quoted name of a schema. */
export function quoted(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name) || /^pg_/i.test(name))
    throw new TypeError(
      `"${name}" cannot be the schema of a Postgres store: use letters, digits, "_" and "-", at most 63, and not "pg_…"`,
    )
  return `"${name}"`
}

/**
 * Makes a new store in one statement, and so in one transaction. Of several processes that try this at once, one makes the store;
 * the others wait for the lock and then find the store there.
 */
export const creation = (name: string): string => {
  const schema = quoted(name)
  return `
do $setup$
begin
  perform ${lockOf(name)};
  if to_regnamespace('${schema}') is null then
    create schema ${schema};
  end if;
  if to_regclass('${schema}.meta') is null then
    create table ${schema}.meta (key text primary key, value text not null);
    create sequence ${schema}.epoch;
    insert into ${schema}.meta (key, value) values ('identity', gen_random_uuid()::text);
    ${tablesAndFunctionsSql(schema)}
  end if;
end
$setup$`
}

/** The lock of a store that is being made or upgraded. */
export const lockOf = (name: string): string => `pg_advisory_xact_lock(hashtextextended('libero ${name}', 0))`

/**
 * The tables and functions of format 2. Ids are encoded by `encodeText` and compared by their bytes. Bodies and records are
 * text, because jsonb has no NUL, reorders keys and rewrites numbers.
 *
 * session: a row without an id was deleted, and is kept for the forks that share its entries up to `head`. The first
 * `base_head` entries of a fork are those of `base`. `root`: the session whose lease a child needs; null for a root. `record`: the
 * stored summary (stored-summary.ts). `state`: the stored status (facets.ts). An append changes only columns without an index, so
 * that Postgres need not touch the indexes.
 *
 * listed, recent: the index of lists, a row for each facet of a session (see facets.ts and list.ts). `name` is the facet. `recent`
 * is a table of its own, because only `recent` changes with every append.
 *
 * lease (its words are explained in functions.ts): a lease without `expires` is valid until `ttl` after the last beat of its
 * process. A lease that was given back has no row. process: `died_with` is the number of leases that the process held when it was
 * found dead.
 *
 * inbox: `place` orders the messages. A row without a body is a delivered message; its key stays, so that a repeated message is
 * ignored.
 */
export const tablesAndFunctionsSql = (schema: string): string => `
create table ${schema}.session (
  key bigint generated always as identity primary key,
  id text collate "C" unique,
  parent text collate "C",
  root bigint,
  head bigint not null default 0,
  base bigint,
  base_head bigint not null default 0,
  record text,
  state text,
  facets text[] not null default '{}',
  created float8,
  updated float8
) with (fillfactor = 70);
create index on ${schema}.session (parent) where parent is not null;
create index on ${schema}.session (base) where base is not null;
create table ${schema}.listed (
  name text collate "C" not null,
  id text collate "C" not null,
  created float8 not null,
  primary key (name, id)
);
create index on ${schema}.listed (name, created, id);
create table ${schema}.recent (
  name text collate "C" not null,
  updated float8 not null,
  id text collate "C" not null,
  primary key (name, updated, id)
) with (fillfactor = 70);
create table ${schema}.lease (
  session bigint primary key,
  epoch bigint not null default 0,
  owner text not null default '',
  since float8 not null default 0,
  process text,
  ttl float8 not null default 0,
  expires float8 default 0
) with (fillfactor = 70);
create index on ${schema}.lease (process) where expires is null;
create table ${schema}.process (id text primary key, beat float8 not null, died_with bigint) with (fillfactor = 50);
create table ${schema}.entry (
  session bigint not null,
  seq bigint not null,
  id text not null,
  body text not null,
  primary key (session, seq)
);
create table ${schema}.inbox (
  session bigint not null,
  client_key text collate "C" not null,
  place bigint generated always as identity,
  is_answer boolean not null default false,
  body text,
  unique (session, client_key)
);
create index on ${schema}.inbox (session, place) where body is not null;
create table ${schema}.blob (
  session bigint not null,
  name text collate "C" not null,
  bytes bytea not null,
  primary key (session, name)
);
${functions(schema)}
insert into ${schema}.meta (key, value) values ('format', '2') on conflict (key) do update set value = excluded.value;`
