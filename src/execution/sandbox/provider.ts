import type { ExecOptions, ExecResult, ExecutionCapabilities, SpawnConfig } from '../../core/execution.ts'

/**
 * A provider of sandboxes: three required methods, and optional ones that replace its shell. Paths are absolute. It may throw
 * anything.
 */
export interface SandboxProvider {
  /** The name in messages. */
  readonly name?: string
  /** Default: a shell, files and a network. */
  readonly capabilities?: Partial<ExecutionCapabilities>
  /** Whether `exec` passes `input` to the command, then end-of-file. Otherwise input is passed in a file. */
  readonly input?: boolean
  spawn(config: SpawnConfig): Promise<SandboxInstance>
  /**
   * Runs a command with a POSIX shell, in `cwd`, with `env` added. It should end it at `timeout` (milliseconds, 0: never) and
   * when `signal` aborts, and call `onOutput` with its output. It is not waited for longer than that.
   */
  exec(id: string, command: string, options: SandboxExecOptions): Promise<SandboxExecResult>
  destroy(id: string): Promise<void>
  /** Text counts as UTF-8. Should reject with the `code` `ENOENT` when there is no such file. */
  readFile?(id: string, path: string): Promise<string | Uint8Array>
  /** Creates missing folders. */
  writeFile?(id: string, path: string, content: string | Uint8Array): Promise<void>
  /** Names; folders end with `/`. */
  listFiles?(id: string, path: string): Promise<string[]>
}

export interface SandboxInstance {
  readonly id: string
  /** Default: the requested one, else `/`. */
  readonly cwd?: string
}

export type SandboxExecOptions = ExecOptions & Required<Pick<ExecOptions, 'cwd' | 'env' | 'timeout' | 'signal'>>

export type SandboxExecResult = Pick<ExecResult, 'exitCode'> & Partial<ExecResult>

/** An error of a provider, with what failed; keeps its `code`. */
export function sandboxProblem({ name }: SandboxProvider, what: string, thrown: unknown): Error {
  const error = new Error(`The sandbox${name ? ` of ${name}` : ''} could not ${what}: ${textOf(thrown)}`, {
    cause: thrown,
  })
  const code = codeOf(thrown)
  return code === undefined ? error : Object.assign(error, { code })
}

/** The code of a system error, such as `ENOENT`, if it has one. */
export function codeOf(thrown: unknown): string | undefined {
  const code = fieldOf(thrown, 'code')
  return typeof code === 'string' ? code : undefined
}

/** Calls a provider with a time limit; `tooLate` receives a result that comes later. */
export async function askProvider<T>(
  provider: SandboxProvider,
  what: string,
  timeoutMs: number,
  work: () => Promise<T>,
  tooLate?: (outcome: T) => Promise<unknown>,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`nothing came back within ${timeoutMs / 1000} s`)
      reject(Object.assign(error, { code: 'ETIMEDOUT' }))
      answer.then((outcome) => tooLate?.(outcome)).catch(() => {})
    }, timeoutMs)
  })
  const answer = Promise.resolve().then(work)
  try {
    return await Promise.race([answer, limit])
  } catch (error) {
    throw sandboxProblem(provider, what, error)
  } finally {
    clearTimeout(timer)
  }
}

/** The text of anything thrown: providers throw errors, strings and other objects. */
export function textOf(thrown: unknown): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown
  for (const name of ['message', 'error', 'reason', 'detail', 'name']) {
    const value = fieldOf(thrown, name)
    if (typeof value === 'string' && value !== '') return value
    const inner = fieldOf(value, 'message')
    if (typeof inner === 'string' && inner !== '') return inner
  }
  return printed(thrown)
}

function fieldOf(thrown: unknown, name: string): unknown {
  return typeof thrown === 'object' && thrown !== null ? (thrown as Record<string, unknown>)[name] : undefined
}

function printed(thrown: unknown): string {
  try {
    return JSON.stringify(thrown)?.slice(0, 500) ?? String(thrown)
  } catch {
    return `it threw a ${typeof thrown}`
  }
}
