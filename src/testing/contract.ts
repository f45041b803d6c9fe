import { cutText } from '../core/text.ts'
import { within as orTimeout } from '../core/waiting.ts'

/** One requirement on every implementation of an interface. Any test runner can run it: `test(one.name, one.run)`. */
export interface ContractCase {
  readonly name: string
  /** Rejects with an Error that says what is wrong. */
  run(): Promise<void>
}

/** Throws `what` if the condition is false. */
export function check(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what)
}

/** Throws at the first difference of two values of plain data. Prototypes and the order of keys are ignored. */
export function checkEqual(actual: unknown, expected: unknown, what: string): void {
  const found = difference(actual, expected, '')
  if (found !== undefined) throw new Error(`${what}: ${found}`)
}

/** Throws unless the work fails with an error of the class; returns the error. */
export async function checkRejects(
  work: Promise<unknown>,
  Kind: abstract new (...args: never[]) => Error,
  what: string,
): Promise<Error> {
  const [outcome] = await Promise.allSettled([work])
  check(outcome.status === 'rejected', `${what}: it must fail with ${Kind.name} and did not fail`)
  const { reason } = outcome
  check(reason instanceof Kind, `${what}: it must fail with ${Kind.name} and failed with ${String(reason)}`)
  return reason
}

/** The outcome of `work`, or an error if it takes longer than `ms`. The limit only ends a test that hangs. */
export function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  return orTimeout(ms, work, (): never => {
    throw new Error(`${what}: nothing happened for ${ms} ms`)
  })
}

function difference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Object.is(actual, expected)) return undefined
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${path || 'it'} is ${shown(actual)}, expected ${shown(expected)}`
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    if (!Object.hasOwn(actual, key)) return `${path}.${key} is missing, expected ${shown(expected[key])}`
    if (!Object.hasOwn(expected, key)) return `${path}.${key} is ${shown(actual[key])}, expected none`
    const inner = difference(actual[key], expected[key], `${path}.${key}`)
    if (inner !== undefined) return inner
  }
  return undefined
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function shown(value: unknown): string {
  const text = isObject(value) || typeof value === 'string' ? JSON.stringify(value) : String(value)
  return cutText(text, 200)
}
