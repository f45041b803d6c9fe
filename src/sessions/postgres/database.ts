import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { sleep, within } from '../../core/waiting.ts'
import { type OwnSql, openDriver, type PostgresSql } from './driver.ts'
import { codeOf, isNoAnswer, isRetryable, noAnswerError, storeErrorOf } from './failure.ts'

export type Row = Readonly<Record<string, unknown>>

/** Runs statements, and retries them if the connection is lost. */
export interface Database {
  readonly query: Query
  /** Retries all of `work` for a while if it fails temporarily. Inside `work`, errors are those of the driver. */
  retry<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  /** Aborted by `close`. */
  readonly closing: AbortSignal
  close(): Promise<void>
}

export type Query = (statement: string, values?: readonly unknown[]) => Promise<readonly Row[]>

export interface DatabaseOptions {
  readonly url?: string
  readonly sql?: PostgresSql
  readonly max: number
  readonly clock: Clock
  readonly retryMs: number
  /** A server that does not answer within this time counts as lost. No statement of a store takes this long. */
  readonly answerTimeoutMs?: number
}

/** Uses a connection pool of its own, or a given client. */
export function createDatabase({
  url = '',
  sql,
  max,
  clock,
  retryMs,
  answerTimeoutMs: silenceMs = 60_000,
}: DatabaseOptions): Database {
  const closer = new AbortController()
  const secrets = secretsOf(url)
  const running = new Set<Promise<unknown>>()
  let driver: Promise<OwnSql> | undefined

  const query: Query = async (statement, values) => {
    if (closer.signal.aborted) throw closedError()
    const answered = ask(statement, values)
    const done = answered.catch(() => {}).finally(() => running.delete(done))
    running.add(done)
    return answered
  }

  async function ask(statement: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    if (sql) return answerOf(sql, statement, values)
    driver ??= openDriver(url, { max })
    const mine = driver
    try {
      return await answerOf(await mine, statement, values)
    } catch (error) {
      if (driver === mine && (isNoAnswer(error) || error instanceof StoreError)) driver = undefined // opened again by the next statement
      if (isNoAnswer(error)) mine.then((client) => client.end({ timeout: 0 })).catch(() => {})
      throw error
    }
  }

  function answerOf(client: PostgresSql, statement: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const answer = client.unsafe(statement, [...values], { prepare: values.length > 0 })
    return within(silenceMs, answer, () => {
      throw noAnswerError(silenceMs)
    })
  }

  async function persist<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    const began = clock.now()
    let waited = 0
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      try {
        return await work(query)
      } catch (error) {
        // Attempts may take long themselves; a second one is always made.
        const isOver = waited + pause > retryMs || (waited > 0 && clock.now() - began > retryMs)
        if (isOver || !isRetryable(error)) throw storeErrorOf(error, secrets)
        failpoint(`postgres.again.${codeOf(error)}`)
        await sleep(pause, { clock, signals: [closer.signal] })
        waited += pause
      }
    }
  }

  return {
    query: (statement, values) => persist((once) => once(statement, values)),
    retry: persist,
    closing: closer.signal,
    async close() {
      closer.abort()
      const client = await driver?.catch(() => undefined)
      // The driver would also wait for lost connections.
      await within(5000, Promise.all(running), () => undefined)
      await client?.end({ timeout: 0 })
    },
  }
}

const closedError = (): StoreError =>
  new StoreError('unavailable', 'This Postgres store was closed; create another one')

/** The url and its password, encoded and decoded. */
function secretsOf(url: string): readonly string[] {
  const password = /^[^:]+:\/\/[^:@/]*:(.*)@/.exec(url)?.[1] ?? ''
  return [url, password, decoded(password)].filter((secret) => secret.length > 3)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
