import { isThenable } from './cancellation.ts'
import { CodedError, messageOf } from './errors.ts'
import type { ToolDef } from './tool.ts'
import { copyJson } from './turn.ts'

/** A tool of a run, or a tool module, which has its name at the top level. */
type Keyed = Pick<ToolDef, 'deriveApprovalKey'> &
  ({ readonly spec: { readonly name: string } } | { readonly name: string })
type Input = Readonly<Record<string, unknown>>

/** The key under which an approval of this call is remembered. Throws if the tool gives no valid one. */
export function approvalKeyOf(tool: Keyed, input: Input): string {
  const name = nameOf(tool)
  const key = derive(tool, input)
  if (typeof key !== 'string') throw derivationFailed(name, `it gave ${key === null ? 'null' : typeof key}, not a text`)
  const flaw = flawOfKey(key)
  if (flaw) throw new CodedError('Validation/ApprovalKeyInvalid', `the approval key of ${name} ${flaw}`)
  return key
}

/**
 * Throws unless a tool gives the same key for the same input each time, whatever the order of its properties. For the
 * tests of tool authors.
 */
export function checkApprovalKey(tool: Keyed, samples: readonly Input[]): void {
  for (const sample of samples) {
    const key = approvalKeyOf(tool, sample)
    for (const same of [sample, reordered(sample) as Input]) {
      const again = approvalKeyOf(tool, same)
      if (again === key) continue
      throw new CodedError(
        'Validation/ApprovalKeyUnstable',
        `${nameOf(tool)} gave the keys ${JSON.stringify(key)} and ${JSON.stringify(again)} for one call; ` +
          'a key must depend on nothing but the values of the input',
      )
    }
  }
}

const nameOf = (tool: Keyed): string => ('spec' in tool ? tool.spec.name : tool.name)

function derive(tool: Keyed, input: Input): unknown {
  try {
    const key: unknown = tool.deriveApprovalKey?.(copyJson(input))
    if (isThenable(key)) key.then(undefined, () => {})
    return key
  } catch (error) {
    throw derivationFailed(nameOf(tool), safeMessageOf(error))
  }
}

/** Reading the message of a thrown value may itself throw. */
function safeMessageOf(error: unknown): string {
  try {
    return String(messageOf(error))
  } catch {
    return 'it threw something that cannot be read'
  }
}

function derivationFailed(name: string, why: string): CodedError {
  return new CodedError('ToolTerminal/ApprovalKeyDerivationFailed', `deriveApprovalKey of ${name} failed: ${why}`)
}

const maxKeyBytes = 1024
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is searched for
const control = /[\u0000-\u001f\u007f]/

function flawOfKey(key: string): string | undefined {
  if (key === '') return 'is empty; give "." where there is nothing to name'
  if (control.test(key)) return 'has a control character in it'
  const { length } = new TextEncoder().encode(key)
  return length > maxKeyBytes ? `is ${length} bytes long; ${maxKeyBytes} are the most` : undefined
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).reverse()
  return Object.fromEntries(entries.map(([key, inner]) => [key, reordered(inner)]))
}
