import type { CommandLine } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import { isThenable } from '../core/cancellation.ts'
import { CodedError, messageOf } from '../core/errors.ts'
import type { FileAccess, FileTouch, ToolDef } from '../core/tool.ts'

type Input = Readonly<Record<string, unknown>>

/** The shell line a call would run. Like its neighbours it throws a `CodedError` where a tool says nonsense. */
export function commandLineOf(tool: ToolDef, input: Input): CommandLine | undefined {
  return declaredBy(tool, 'commandLine', input, isCommandLine) as CommandLine | undefined
}

/** The files a call is about. */
export function touchesOf(tool: ToolDef, input: Input): readonly FileTouch[] {
  return (declaredBy(tool, 'touches', input, areTouches) ?? []) as readonly FileTouch[]
}

/** The hosts a call talks to. */
export function hostsOf(tool: ToolDef, input: Input): readonly string[] {
  return (declaredBy(tool, 'reaches', input, areHosts) ?? []) as readonly string[]
}

function declaredBy(
  tool: ToolDef,
  field: 'commandLine' | 'touches' | 'reaches',
  input: Input,
  isRight: (value: unknown) => boolean,
): unknown {
  const failed = (why: string): CodedError =>
    new CodedError(
      'ToolTerminal/ToolFactsInvalid',
      `${field} of ${tool.spec.name} failed, so nobody can tell what its call does: ${why}`,
    )
  let value: unknown
  try {
    value = tool[field]?.(input)
  } catch (error) {
    throw failed(messageOf(error))
  }
  if (isThenable(value)) value.then(undefined, () => {}) // it comes too late to count, and must not hurt
  if (value !== undefined && !isRight(value)) throw failed(`it gave ${show(value)}`)
  return value
}

function isCommandLine(value: unknown): boolean {
  const { command, cwd = '' } = (value ?? {}) as Partial<CommandLine>
  return isText(command) && isText(cwd)
}

const areTouches = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => isText(one?.path) && accesses.includes(one.access))

const accesses: readonly unknown[] = ['read', 'edit', 'write', 'search'] satisfies FileAccess[]

const areHosts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)

const isText = (value: unknown): value is string => typeof value === 'string'
