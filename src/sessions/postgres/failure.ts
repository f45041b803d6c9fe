import { AgentError, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'

interface Kind {
  readonly code: StoreErrorCode
  /** Whether doing the same again may help. All that a store does may be done twice. */
  readonly isPassing?: boolean
  readonly advice: string
}

const lost = 'check that the server runs and can be reached'

/** By what the SQLSTATE, or the code of the driver or of Node, begins with. The first that fits counts. */
const kinds: readonly (readonly [codes: RegExp, kind: Kind])[] = [
  [
    /^(40001|40P01|55P03|57014)/,
    { code: 'busy', isPassing: true, advice: 'others hold it too long; try again, or look who holds locks there' },
  ],
  [
    /^53300/,
    {
      code: 'busy',
      isPassing: true,
      advice: 'the server has no connection left; lower `max`, or raise max_connections',
    },
  ],
  [/^53100/, { code: 'full', advice: 'make room on the disk of the server' }],
  [/^25006/, { code: 'read_only', advice: 'connect to the server that may be written' }],
  [/^(28|SASL)/, { code: 'denied', advice: 'check the user and the password' }],
  [/^42501/, { code: 'denied', advice: 'grant this user the rights on the schema, or use another one' }],
  [/^3D000/, { code: 'unavailable', advice: 'create the database' }],
  [/^XX00[12]/, { code: 'corrupt', advice: 'restore it from a backup' }],
  [
    /^(42P01|42703|42883|3F000)/,
    { code: 'corrupt', advice: 'what this store made there is gone or was changed; restore it, or use another schema' },
  ],
  [/^(08|57P)/, { code: 'unavailable', isPassing: true, advice: lost }],
  [/^NO_ANSWER/, { code: 'unavailable', advice: lost }],
  [/^CONNECTION_ENDED/, { code: 'unavailable', advice: 'the connection that was given to the store was ended' }],
  [
    /^(CONNECT|ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_|ENOTFOUND|ENOENT)/,
    { code: 'unavailable', isPassing: true, advice: lost },
  ],
]

const unknown: Kind = { code: 'unavailable', advice: 'the server refused it; its log may say more' }

/** For a statement that got no answer at all. */
export const silenceError = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'NO_ANSWER' })

export const isSilence = (error: unknown): boolean => codeOf(error) === 'NO_ANSWER'

/** Whether the table that was asked for is not there. */
export const isMissingTable = (error: unknown): boolean => codeOf(error) === '42P01'

export const isPassing = (error: unknown): boolean => !(error instanceof AgentError) && kindOf(error).isPassing === true

/** What went wrong in the words of a store. Whatever is in `secrets` is in no message. */
export function storeErrorOf(error: unknown, secrets: readonly string[]): Error {
  if (error instanceof AgentError || error instanceof TypeError) return error
  const { code, advice } = kindOf(error)
  const said = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), messageOf(error))
  // Not the error itself: the driver's holds the values of the statement.
  const cause = Object.assign(new Error(said), { code: codeOf(error) })
  return new StoreError(code, `The Postgres store failed: ${said || codeOf(error)}; ${advice}`, { cause })
}

function kindOf(error: unknown): Kind {
  const code = codeOf(error)
  return kinds.find(([codes]) => codes.test(code))?.[1] ?? unknown
}

/** The SQLSTATE, or what the driver or Node has instead. Where several addresses were tried, Node puts the errors of each into one that has the code of the first. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
