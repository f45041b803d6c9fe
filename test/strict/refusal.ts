/** The answer of an API to a refused request. */
export class Refusal extends Error {
  readonly status: number
  readonly body: object

  constructor(message: string, status: number, body: object) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.body = body
  }
}

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first unknown field. */
export const unknownField = (value: Json, known: readonly string[]): string | undefined =>
  Object.keys(value).find((field) => !known.includes(field))
