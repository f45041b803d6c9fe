import { expect, test } from 'vitest'
import { Refusal } from './refusal.ts'
import { parseBody } from './strict-json.ts'
import type { Dialect, StrictRequest } from './strict-server.ts'

/** A refused request, the error text, and a corrected request. */
export interface Row {
  readonly rule: string
  readonly says: string | RegExp
  readonly bad: Case
  readonly fixed: Case
}

/** A body, a text that is no body, or a body with other request options. */
export type Case = object | string

export interface Sent {
  readonly body: object
  readonly path?: string
  readonly headers?: StrictRequest['headers']
}

/** Tests that each rule refuses the wrong request, and accepts the corrected one. */
export function testRows(dialect: Dialect, usual: Omit<Required<Sent>, 'body'>, rows: readonly Row[]): void {
  test.each(rows)('refuses $rule', ({ says, bad, fixed }) => {
    const refusal = verdict(dialect, usual, bad)
    expect(refusal?.message).toMatch(says)
    expect(refusal?.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(refusal?.body)).toContain(JSON.stringify(refusal?.message).slice(1, -1))
    expect(verdict(dialect, usual, fixed)?.message).toBeUndefined()
  })
}

/** The error for a request. */
export function verdict(dialect: Dialect, usual: Omit<Required<Sent>, 'body'>, given: Case): Refusal | undefined {
  const { body, ...how }: Sent | { body: Case } = isSent(given) ? given : { body: given }
  try {
    const json = parseBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), dialect)
    dialect.check({ ...usual, ...how, json })
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  return undefined
}

const isSent = (given: Case): given is Sent =>
  typeof given === 'object' && 'body' in given && Object.keys(given).every((key) => /^(body|path|headers)$/.test(key))
