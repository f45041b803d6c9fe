import { functions } from './functions.ts'

/** What this version of Libero reads and writes. Raised with every change of the tables or of what is in them. */
export const format = 1

/** The name of a schema as it stands in a statement. */
export function quoted(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name) || /^pg_/i.test(name))
    throw new TypeError(
      `"${name}" cannot be the schema of a Postgres store: use letters, digits, "_" and "-", at most 63, and not "pg_…"`,
    )
  return `"${name}"`
}

/**
 * Creates what is missing, or brings it up to this format: one statement, hence one transaction. The lock makes others
 * that start at the same moment wait, and then find everything done.
 */
export function setUp(name: string): string {
  const schema = quoted(name)
  return `
do $setup$
declare
  found_format int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('libero ${name}', 0));
  if to_regnamespace('${schema}') is null then
    create schema ${schema};
  end if;
  if to_regclass('${schema}.meta') is not null then
    select value::int into found_format from ${schema}.meta where key = 'format';
  end if;
  if found_format < 1 then
    ${tables(schema)}
    ${functions(schema, name)}
    insert into ${schema}.meta (key, value) values ('format', '1'), ('identity', gen_random_uuid()::text);
  end if;
end
$setup$`
}

/**
 * Bodies are text: jsonb knows no NUL, orders keys and rewrites numbers. Names compare by their bytes. An inbox row
 * without a body is a message that was delivered; its key stays, so that sending it again is harmless.
 */
const tables = (schema: string): string => `
    create table ${schema}.meta (key text primary key, value text not null);
    create sequence ${schema}.epoch;
    create table ${schema}.session (
      id text collate "C" primary key,
      parent text collate "C",
      head bigint not null default 0,
      epoch bigint not null default 0,
      owner text not null default '',
      since double precision not null default 0,
      expires double precision not null default 0,
      created double precision,
      updated double precision
    );
    create index session_parent on ${schema}.session (parent) where parent is not null;
    create table ${schema}.entry (
      session text collate "C" not null,
      seq bigint not null,
      id text collate "C" not null,
      body text not null,
      primary key (session, seq)
    );
    create table ${schema}.inbox (
      session text collate "C" not null,
      client_key text collate "C" not null,
      place bigint generated always as identity,
      body text,
      unique (session, client_key)
    );
    create index inbox_waiting on ${schema}.inbox (session, place) where body is not null;
    create table ${schema}.blob (
      session text collate "C" not null,
      name text collate "C" not null,
      bytes bytea not null,
      primary key (session, name)
    );`
