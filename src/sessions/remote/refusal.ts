import { LeaseLostError, SessionBusyError, StoreError } from '../../core/errors.ts'
import { type Problem, protocolVersion, storeFailures } from './protocol.ts'

/** Why the handler does not do as asked. */
export class Refusal extends Error {
  readonly status: number
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, problem: Problem, headers: Readonly<Record<string, string>> = {}) {
    super(problem.message)
    this.status = status
    this.problem = problem
    this.headers = headers
  }
}

export const badRequest = (message: string): Refusal => new Refusal(400, { code: 'bad_request', message })

/** What a failure of any kind looks like to the client. Only what stores say on purpose is told in their words. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof SessionBusyError) {
    const { owner, since, message } = error
    return new Refusal(423, {
      code: 'session_busy',
      message,
      ...(owner !== undefined && { owner }),
      ...(since !== undefined && { since }),
    })
  }
  if (error instanceof LeaseLostError) {
    const { owner, message } = error
    return new Refusal(412, { code: 'lease_lost', message, ...(owner !== undefined && { owner }) })
  }
  if (error instanceof StoreError) {
    const { code, message } = error
    return new Refusal(storeFailures[code]?.status ?? 500, { code: `store_${code}`, message: message.slice(0, 1000) })
  }
  return new Refusal(500, { code: 'internal', message: 'The server failed; its log may say more' })
}

/** JSON in the protocol's envelope. `body` may be text that is JSON already. */
export function respond(fields: Readonly<Record<string, unknown>> | string, status = 200, headers = {}): Response {
  const inner = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1)
  return new Response(`{"protocol":${protocolVersion}${inner && `,${inner}`}}`, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}
