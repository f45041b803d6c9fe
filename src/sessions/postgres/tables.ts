import { StoreError } from '../../core/errors.ts'
import type { Database, Query, Row } from './database.ts'
import { isMissingTable } from './failure.ts'
import { functions } from './functions.ts'

/** The version of the tables and their content. */
const format = 1

/** The quoted name of a schema. */
export function quoted(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name) || /^pg_/i.test(name))
    throw new TypeError(
      `"${name}" cannot be the schema of a Postgres store: use letters, digits, "_" and "-", at most 63, and not "pg_…"`,
    )
  return `"${name}"`
}

/**
 * Creates or upgrades the tables in one statement, and so in one transaction. The lock makes concurrent processes wait, and
 * then find everything done.
 */
function setUp(name: string): string {
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
 * Bodies are text, because jsonb has no NUL, reorders keys and rewrites numbers. Names compare by their bytes. An inbox row
 * without a body is a delivered message; its key stays, so that a repeated message is ignored.
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

/** The tables of a store, created or upgraded before first use. */
interface PostgresTables {
  read(statement: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Refused if a newer version of Libero created the tables. */
  write(statement: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export function createTables(database: Database, name: string): PostgresTables {
  const meta = `${quoted(name)}.meta`
  let storedFormat: Promise<number> | undefined

  function ready(): Promise<number> {
    if (!storedFormat) {
      const mine = database.retry(prepare)
      storedFormat = mine
      mine.catch(() => {
        if (storedFormat === mine) storedFormat = undefined
      })
    }
    return storedFormat
  }

  async function prepare(query: Query): Promise<number> {
    const before = await formatOf(query)
    if (before !== undefined && before >= format) return before
    await query(setUp(name))
    return (await formatOf(query)) ?? 0
  }

  async function formatOf(query: Query): Promise<number | undefined> {
    try {
      const [row] = await query(`select value from ${meta} where key = 'format'`)
      return Number(row?.value ?? 0)
    } catch (error) {
      if (isMissingTable(error)) return undefined
      throw error
    }
  }

  return {
    async read(statement, values) {
      await ready()
      return database.query(statement, values)
    },
    async write(statement, values) {
      const version = await ready()
      if (version > format)
        throw new StoreError(
          'newer',
          `The schema "${name}" was written by a newer version of Libero (format ${version}, this one knows ${format}); it can be read, but to write it update Libero`,
        )
      return database.query(statement, values)
    },
  }
}
