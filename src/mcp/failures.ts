import { AgentError, messageOf } from '../core/errors.ts'
import { AgentClosedError } from './agent-closed-error.ts'
import { toErrorText } from './error-text.ts'
import { statusOf } from './http/http-transport.ts'
import { asLoginRequired, McpHeaderRefusedError } from './oauth/login-required.ts'

/** An error without the secrets that a server may have repeated, also in its cause. */
export function withoutSecrets(error: unknown, server: string, secrets: readonly string[]): Error {
  if (error instanceof McpHeaderRefusedError || error instanceof AgentClosedError) return error
  return asLoginRequired(error, server) ?? new AgentError(toErrorText(error, secrets))
}

/** Whether a retry is pointless until the configuration changes. */
export function isPermanent(error: unknown): boolean {
  if (error instanceof McpHeaderRefusedError) return true
  return (
    /could not be started|is not installed|where \d+ are allowed|lines that are no messages/i.test(messageOf(error)) &&
    !isNetwork(error)
  )
}

const isNetwork = (error: unknown): boolean => /ECONNREFUSED|ECONNRESET|ETIMEDOUT|fetch failed/.test(deepMessage(error))

/** Whether the server answered with an error. After any other error it is unknown whether the call took effect. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.name.includes('Protocol')
}

/** Whether an answer violates the protocol or the output schema of the tool. */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'ZodError' || ('code' in error && error.code === 'INVALID_RESULT')
}

/** Whether the server forgot the session of an old HTTP connection. The request was not executed then. */
export function isSessionGone(error: unknown): boolean {
  return statusOf(error) === 404
}

function deepMessage(error: unknown): string {
  const parts: string[] = []
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    parts.push(one.message, 'code' in one ? String(one.code) : '')
  return parts.join(' ')
}
