import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { type OwnSql, openDriver, type PostgresSql } from './driver.ts'
import { codeOf, isPassing, isSilence, silenceError, storeErrorOf } from './failure.ts'
import { passed, within } from './waiting.ts'

export type Row = Readonly<Record<string, unknown>>

/** A place where statements are done, again where the connection was lost on the way. */
export interface Database {
  readonly query: Query
  /** Does all of `work` again when it fails in a way that may pass, for a while. In it, failures are the driver's. */
  persist<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
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
  /** Who does not answer for so long is not there any more. Nothing that a store asks for takes this long. */
  readonly silenceMs?: number
}

/** Statements over a pool of our own, or over a client that was given. */
export function createDatabase({ url = '', sql, max, clock, retryMs, silenceMs = 60_000 }: DatabaseOptions): Database {
  const closer = new AbortController()
  const secrets = secretsOf(url)
  const asked = new Set<Promise<unknown>>()
  let own: Promise<OwnSql> | undefined

  const query: Query = async (statement, values) => {
    if (closer.signal.aborted) throw closed()
    const answered = ask(statement, values)
    const done = answered.catch(() => {}).finally(() => asked.delete(done))
    asked.add(done)
    return answered
  }

  async function ask(statement: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    if (sql) return answerOf(sql, statement, values)
    own ??= openDriver(url, { max })
    const mine = own
    try {
      return await answerOf(await mine, statement, values)
    } catch (error) {
      if (own === mine && (isSilence(error) || error instanceof StoreError)) own = undefined // to open it anew
      if (isSilence(error)) mine.then((client) => client.end({ timeout: 0 })).catch(() => {})
      throw error
    }
  }

  function answerOf(client: PostgresSql, statement: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const answer = client.unsafe(statement, [...values], { prepare: values.length > 0 })
    return within(silenceMs, answer, () => {
      throw silenceError(silenceMs)
    })
  }

  async function persist<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    const began = clock.now()
    let waited = 0
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      try {
        return await work(query)
      } catch (error) {
        // Tries may take long themselves; the second one is always worth it.
        const isOver = waited + pause > retryMs || (waited > 0 && clock.now() - began > retryMs)
        if (isOver || !isPassing(error)) throw storeErrorOf(error, secrets)
        failpoint(`postgres.again.${codeOf(error)}`)
        await passed(pause, clock, closer.signal)
        waited += pause
      }
    }
  }

  return {
    query: (statement, values) => persist((once) => once(statement, values)),
    persist,
    closing: closer.signal,
    async close() {
      closer.abort()
      const client = await own?.catch(() => undefined)
      // The driver would wait for connections that were cut, too.
      await within(5000, Promise.all(asked), () => undefined)
      await client?.end({ timeout: 0 })
    },
  }
}

const closed = (): StoreError => new StoreError('unavailable', 'This Postgres store was closed; create another one')

/** The url, and its password as it is written and as it is meant. */
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
