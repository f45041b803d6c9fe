import { messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'

/** Whether somebody has to log in before this can work. */
export function isLoginRequired(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one.name === 'McpLoginRequiredError' || one.name === 'UnauthorizedError') return true
    if ('code' in one && (one.code === 'CLIENT_HTTP_AUTHENTICATION' || one.code === 401)) return true
  }
  return false
}

/** Whether trying again is pointless until somebody changes something. */
export function isPermanent(error: unknown): boolean {
  return (
    /could not be started|is not installed|refused|at most \d+ tools|does not exist/i.test(messageOf(error)) &&
    !isNetwork(error)
  )
}

const isNetwork = (error: unknown): boolean => /ECONNREFUSED|ECONNRESET|ETIMEDOUT|fetch failed/.test(deepMessage(error))

/** Whether the server itself answered: with an error, but it answered. Everything else leaves open what happened. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.name.includes('Protocol')
}

/** Whether the server has forgotten the session of an old HTTP connection. It then has not done what it was asked. */
export function isSessionGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const data = 'data' in error && isRecord(error.data) ? error.data : {}
  const status = data.status ?? ('status' in error ? error.status : undefined)
  return status === 404
}

function deepMessage(error: unknown): string {
  const parts: string[] = []
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    parts.push(one.message, 'code' in one ? String(one.code) : '')
  return parts.join(' ')
}
