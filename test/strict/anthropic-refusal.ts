import { Refusal } from './refusal.ts'

/** An error of the Messages API. */
export function refuse(message: string, status = 400, type = 'invalid_request_error'): Refusal {
  return new Refusal(message, status, { type: 'error', error: { type, message }, request_id: 'req_strict' })
}
