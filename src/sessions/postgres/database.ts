import { type Clock, systemClock } from '../../core/clock.ts'
import { AgentError, StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { sleep, within } from '../../core/waiting.ts'
import { trackCommit } from './after-commit.ts'
import { type OwnSql, openDriver, type PostgresSql, type PostgresTransaction } from './driver.ts'
import { codeOf, isConnectionLost, isNoAnswer, isRetryable, noAnswerError, storeErrorOf } from './failure.ts'

export type Row = Readonly<Record<string, unknown>>

/** Runs statements, and retries them if the connection is lost. */
export interface Database {
  readonly query: Query
  /** Retries all of `work` for a while if it fails temporarily. Inside `work`, errors are those of the driver. */
  retry<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result>
  /**
   * Runs `work` in one transaction, and all of it again if the connection is lost. What `work` throws is thrown as it is,
   * unless it is an error of a statement.
   */
  transaction<Result>(work: (sql: PostgresTransaction) => Promise<Result>): Promise<Result>
  /** Runs a statement in a transaction of the caller, once. */
  queryIn(transaction: PostgresTransaction, statement: string, values: readonly unknown[]): Promise<readonly Row[]>
  /** Aborted by `close`. */
  readonly closing: AbortSignal
  close(): Promise<void>
}

/** Errors for which `isGivenUp` is true are not retried. */
export type Query = (
  statement: string,
  values?: readonly unknown[],
  isGivenUp?: (error: unknown) => boolean,
) => Promise<readonly Row[]>

export interface Statements {
  readonly query: Query
  /** Runs `work` in one transaction, which is rolled back if it rejects. `timeoutMs`: of each answer; default an hour. */
  readonly transaction: (work: (query: Query) => Promise<void>, timeoutMs?: number) => Promise<void>
}

export interface DatabaseOptions {
  readonly url?: string
  readonly sql?: PostgresSql | undefined
  readonly max: number
  readonly prepare?: boolean | undefined
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
  prepare,
  clock,
  retryMs,
  answerTimeoutMs = 60_000,
}: DatabaseOptions): Database {
  const closer = new AbortController()
  const secrets = secretsOf(url)
  const running = new Set<Promise<unknown>>()
  let driver: Promise<OwnSql> | undefined

  /** Remembers work that is under way, so that `close` can wait for it. */
  async function tracked<Result>(work: (client: PostgresSql) => Promise<Result>): Promise<Result> {
    if (closer.signal.aborted) throw closedError()
    const working = sql ? work(sql) : withDriver(work)
    const done = working.then(
      () => {},
      () => {},
    )
    running.add(done)
    done.then(() => running.delete(done))
    return working
  }

  async function withDriver<Result>(work: (client: PostgresSql) => Promise<Result>): Promise<Result> {
    driver ??= openDriver(url, { max, prepare })
    const thisDriver = driver
    try {
      return await work(await thisDriver)
    } catch (error) {
      if (driver === thisDriver && (isNoAnswer(error) || error instanceof StoreError)) driver = undefined // opened again by the next statement
      if (isNoAnswer(error)) thisDriver.then((client) => client.end({ timeout: 0 })).catch(() => {})
      throw error
    }
  }

  function answerOf(
    client: PostgresTransaction,
    statement: string,
    values: readonly unknown[] = [],
    timeoutMs = answerTimeoutMs,
  ): Promise<readonly Row[]> {
    const answer = client.unsafe(statement, [...values], { prepare: prepare !== false && values.length > 0 })
    return within(timeoutMs, answer.then(withoutHoles), () => {
      throw noAnswerError(timeoutMs)
    })
  }

  /**
   * If the connection is lost, the driver must never learn that `work` has ended: it would write "commit" or "rollback" to a
   * connection that is no longer there, which ends the process. So the promise that the driver waits for stays pending.
   */
  async function inTransaction(
    client: PostgresSql,
    work: (query: Query) => Promise<void>,
    timeoutMs = longTimeoutMs,
  ): Promise<void> {
    const loss = Promise.withResolvers<never>()
    const never = new Promise<never>(() => {})
    let isOver = false
    const lose = (error: unknown): void => {
      isOver = true
      loss.reject(error)
    }
    let cancelTimer = (): void => {}
    /** Starts the time limit for the driver's own `begin`, and for its `commit` or `rollback`. */
    const limitDriver = (): void => {
      cancelTimer = systemClock.timer(timeoutMs, () => lose(noAnswerError(timeoutMs)))
    }
    const queryIn =
      (inner: PostgresTransaction): Query =>
      async (statement, values) => {
        if (isOver) return never
        try {
          return await answerOf(inner, statement, values, timeoutMs)
        } catch (error) {
          if (!isConnectionLost(error)) throw error
          lose(error)
          return never
        }
      }
    const guarded = async (inner: PostgresTransaction): Promise<void> => {
      cancelTimer()
      try {
        await work(queryIn(inner))
      } catch (error) {
        if (!isOver) throw error
      } finally {
        if (!isOver) limitDriver()
      }
      if (isOver) await never
    }
    limitDriver()
    try {
      await Promise.race([client.begin(guarded), loss.promise])
    } finally {
      isOver = true
      cancelTimer()
    }
  }

  const statements: Statements = {
    query: (statement, values) => tracked((client) => answerOf(client, statement, values)),
    transaction: (work, timeoutMs) => tracked((client) => inTransaction(client, work, timeoutMs)),
  }

  async function withRetries<Result>(
    work: (statements: Statements) => Promise<Result>,
    isGivenUp?: (error: unknown) => boolean,
  ): Promise<Result> {
    const began = clock.now()
    let waited = 0
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      try {
        return await work(statements)
      } catch (error) {
        // An attempt itself may take longer than `retryMs`. A second attempt is made in any case.
        const isOver = waited + pause > retryMs || (waited > 0 && clock.now() - began > retryMs)
        if (isOver || !isRetryable(error) || isGivenUp?.(error)) throw storeErrorOf(error, secrets)
        failpoint(`postgres.again.${codeOf(error)}`)
        await sleep(pause, { clock, signals: [closer.signal] })
        waited += pause
      }
    }
  }

  async function transact<Result>(work: (sql: PostgresTransaction) => Promise<Result>): Promise<Result> {
    const statementErrors = new WeakSet<object>()
    let result: Result | undefined
    let runCommitCallbacks = (): void => {}
    const attempt = async (query: Query): Promise<void> => {
      const unsafe: PostgresTransaction['unsafe'] = (statement, values) =>
        query(statement, values).catch((error) => {
          statementErrors.add(error)
          throw error
        })
      const sql = { unsafe }
      runCommitCallbacks = trackCommit(sql)
      try {
        result = await work(sql)
      } catch (error) {
        throw statementErrors.has(error as object) ? error : new WorkError(error)
      }
    }
    await withRetries(({ transaction }) => transaction(attempt, answerTimeoutMs)).catch((error) => {
      throw error instanceof WorkError ? error.cause : error
    })
    runCommitCallbacks()
    return result as Result
  }

  return {
    query: (statement, values, isGivenUp) => withRetries(({ query }) => query(statement, values), isGivenUp),
    retry: (work) => withRetries(work),
    transaction: transact,
    queryIn: (transaction, statement, values) =>
      answerOf(transaction, statement, values).catch((error) => {
        throw storeErrorOf(error, secrets)
      }),
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

/**
 * Works around a bug in postgres 3.4: if a statement fails after n rows have arrived, the next result on that connection begins
 * with n empty slots.
 */
const withoutHoles = (rows: readonly Row[]): readonly Row[] =>
  rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows

/** Wraps an error that the caller's code threw, so that it is not taken for an error of a statement. */
class WorkError extends AgentError {
  constructor(cause: unknown) {
    super('The transaction was rolled back', { cause })
  }
}

/** A statement of an upgrade may take long, and so may the wait for another process that upgrades. */
const longTimeoutMs = 3_600_000

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
