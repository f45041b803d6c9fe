import { waitCancelled } from '../core/cancellation.ts'
import { CodedError, type ErrorClass, messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import type { ToolResult } from '../core/tool.ts'
import { Suspended } from '../core/tool-context.ts'

/** What a tool in a file answered, as a result. Its failure is thrown; its value is not checked, only shown. */
export function resultOf(answer: unknown, name: string): ToolResult {
  if (!isRecord(answer) || typeof answer.ok !== 'boolean')
    throw new CodedError(
      'ToolTerminal/OutputMalformed',
      `${name} must answer { ok: true, value } or { ok: false, error }`,
    )
  const { ok, value, error, errors } = answer
  if (!ok) throw coded(error) ?? new CodedError('ToolTerminal/ExecutionFailed', `${name} failed without saying why`)
  const isPartial = Array.isArray(errors) && errors.length > 0
  return shown(isPartial ? { value, errors } : value, name)
}

/** An error whose message says class, code and what happened, and nothing else that the tool threw. */
export function failureOf(error: unknown): unknown {
  // These belong to the pipeline: a call that waits for somebody, and one that nobody waits for.
  if (error instanceof CodedError || error instanceof Suspended || error === waitCancelled) return error
  return coded(error) ?? new CodedError('ToolTerminal/ExecutionFailed', messageOf(error))
}

function coded(error: unknown): CodedError | undefined {
  if (!isRecord(error)) return undefined
  const { class: errorClass, code, message } = error
  if (typeof code !== 'string' || !/^\w{1,64}$/.test(code) || !classes.has(errorClass as ErrorClass)) return undefined
  return new CodedError(
    `${errorClass as ErrorClass}/${code}`,
    typeof message === 'string' ? message : 'it does not say why',
  )
}

const classes: ReadonlySet<ErrorClass> = new Set([
  'Validation',
  'ProviderTransient',
  'ProviderCapability',
  'ToolTransient',
  'ToolTerminal',
  'Session',
  'Cancellation',
  'ExtensionHost',
])

/** A value that happens to look like one of our result objects is still only a value. */
function shown(value: unknown, name: string): ToolResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as ToolResult
  try {
    return { output: JSON.stringify(value) }
  } catch (error) {
    throw new CodedError('ToolTerminal/OutputMalformed', `what ${name} gave cannot be shown: ${messageOf(error)}`)
  }
}
