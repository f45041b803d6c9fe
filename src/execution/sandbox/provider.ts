import type { ExecOptions, ExecResult, ExecutionCapabilities, SpawnConfig } from '../../core/execution.ts'

/**
 * A service that rents out sandboxes, or one of your own: three verbs that it must have, and what it can do better than its shell.
 * Paths are absolute. What it throws may be anything.
 */
export interface SandboxProvider {
  /** For messages. */
  readonly name?: string
  /** Default: a shell, files and a network. */
  readonly capabilities?: Partial<ExecutionCapabilities>
  /** `exec` feeds `input` to the command, then end-of-file. Without it, input goes by way of a file. */
  readonly input?: boolean
  spawn(config: SpawnConfig): Promise<SandboxInstance>
  /**
   * Runs a command by a POSIX shell, in `cwd`, with `env` added. It should end it at `timeout` (milliseconds, 0: never) and when
   * `signal` is aborted, and tell `onOutput` what comes; when it does not, nobody waits for it any longer than that.
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
  /** Default: the one that was asked for, else `/`. */
  readonly cwd?: string
}

export type SandboxExecOptions = ExecOptions & Required<Pick<ExecOptions, 'cwd' | 'env' | 'timeout' | 'signal'>>

export type SandboxExecResult = Pick<ExecResult, 'exitCode'> & Partial<ExecResult>

/** What a provider threw, as an error that says what failed; a `code` is kept. */
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

/** Asks a provider and waits so long; `tooLate` gets what comes after that. */
export async function askProvider<T>(
  provider: SandboxProvider,
  what: string,
  patienceMs: number,
  work: () => Promise<T>,
  tooLate?: (outcome: T) => Promise<unknown>,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`nothing came back within ${patienceMs / 1000} s`)
      reject(Object.assign(error, { code: 'ETIMEDOUT' }))
      answer.then((outcome) => tooLate?.(outcome)).catch(() => {})
    }, patienceMs)
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

/** Whatever was thrown, as text: services throw errors, strings and objects of their own. */
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
