import { AgentError, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'

interface Kind {
  readonly code: StoreErrorCode
  /** Whether a retry may help. All statements of a store may be repeated. */
  readonly isRetryable?: boolean
  readonly advice: string
}

const unreachable = 'check that the server runs and can be reached'
const lockedAdvice = 'another transaction probably held a lock too long; try again, or look in pg_locks for its holder'
const changedAdvice =
  'tables or functions of this store are missing or were changed; restore them, or use another schema'

/** By the beginning of the SQLSTATE, or of the code of the driver or of Node. The first match counts. */
const kinds: readonly (readonly [codes: RegExp, kind: Kind])[] = [
  [/^(40001|40P01|55P03|57014)/, { code: 'busy', isRetryable: true, advice: lockedAdvice }],
  [
    /^53300/,
    {
      code: 'busy',
      isRetryable: true,
      advice: 'the server has no connection left; lower `max`, or raise max_connections',
    },
  ],
  [/^53100/, { code: 'full', advice: 'make room on the disk of the server' }],
  [/^25006/, { code: 'read_only', advice: 'connect to the server that may be written' }],
  [/^(28|SASL)/, { code: 'denied', advice: 'check the user and the password' }],
  [/^42501/, { code: 'denied', advice: 'grant this user the rights on the schema, or use another one' }],
  [/^3D000/, { code: 'unavailable', advice: 'create the database' }],
  [/^XX00[12]/, { code: 'corrupt', advice: 'restore it from a backup' }],
  [/^(42P01|42703|42883|3F000)/, { code: 'corrupt', advice: changedAdvice }],
  [/^(08|57P)/, { code: 'unavailable', isRetryable: true, advice: unreachable }],
  [/^NO_ANSWER/, { code: 'unavailable', advice: unreachable }],
  [/^CONNECTION_ENDED/, { code: 'unavailable', advice: 'the connection that was given to the store was ended' }],
  [
    /^(CONNECT|ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_|ENOTFOUND|ENOENT)/,
    { code: 'unavailable', isRetryable: true, advice: unreachable },
  ],
]

const unknown: Kind = { code: 'unavailable', advice: 'the server refused it; its log may say more' }

/** The error of a statement that got no answer. */
export const noAnswerError = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'NO_ANSWER' })

export const isNoAnswer = (error: unknown): boolean => codeOf(error) === 'NO_ANSWER'

/** Whether the requested table does not exist. */
export const isMissingTable = (error: unknown): boolean => codeOf(error) === '42P01'

export const isRetryable = (error: unknown): boolean =>
  !(error instanceof AgentError) && kindOf(error).isRetryable === true

/** Whether the statement failed because of others: they held a lock too long, were in its way, or cancelled it. */
export const isHeldUp = (error: unknown): boolean => /^(40001|40P01|55P03|57014)/.test(codeOf(error))

/** Whether the connection is no longer there. */
export const isConnectionLost = (error: unknown): boolean =>
  isNoAnswer(error) || (isRetryable(error) && kindOf(error).code === 'unavailable')

/** Whether an error of a store says that the connection was lost, for longer than the store tries. */
export const isUnreachable = (error: unknown): boolean => isConnectionLost((error as Error | undefined)?.cause)

/** The StoreError for an error of the driver. `secrets` are removed from its message. */
export function storeErrorOf(error: unknown, secrets: readonly string[]): Error {
  if (error instanceof AgentError || error instanceof TypeError) return error
  const { code, advice } = kindOf(error)
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), messageOf(error))
  // Not the driver's error, which contains the values of the statement.
  const cause = Object.assign(new Error(message), { code: codeOf(error) })
  return new StoreError(code, `The Postgres store failed: ${message || codeOf(error)}; ${advice}`, { cause })
}

function kindOf(error: unknown): Kind {
  const code = codeOf(error)
  return kinds.find(([codes]) => codes.test(code))?.[1] ?? unknown
}

/** The SQLSTATE, or the code of the driver or of Node; an AggregateError of Node has the code of its first error. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
