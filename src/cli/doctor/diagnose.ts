import { messageOf } from '../../core/errors.ts'
import { openWorkspace, type Workspace } from '../assembly/workspace.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** A check with what it found. */
export interface Diagnosis extends Finding {
  readonly name: string
  readonly isEssential: boolean
}

/** Makes all checks side by side. Each has its time, so that one which hangs is a finding and nothing more. */
export async function diagnose(
  checks: readonly Check[],
  io: Io,
  { timeoutMs = 8000 }: { readonly timeoutMs?: number } = {},
): Promise<readonly Diagnosis[]> {
  const workspace = openWorkspace(io.cwd, { io: { home: io.home } })
  const config = workspace.then(
    ({ loaded }) => loaded.config,
    () => ({}),
  )
  try {
    const watched = { ...io, fetch: loopbackOnly(io.fetch) }
    return await Promise.all(checks.map((check) => runCheck(check, { io: watched, workspace, config }, timeoutMs)))
  } finally {
    workspace.then(({ project }) => project.dispose()).catch(() => {})
  }
}

async function runCheck(check: Check, patient: Omit<CheckContext, 'signal'>, timeoutMs: number): Promise<Diagnosis> {
  const { name, isEssential = false } = check
  const late = new AbortController()
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const timer = setTimeout(() => {
    resolve(broken(`there was no answer within ${timeoutMs / 1000} seconds`, 'see what keeps it, and try again'))
    late.abort()
  }, timeoutMs)
  const looking = (async () => check.run({ ...patient, signal: late.signal }))().catch((error: unknown) =>
    broken(messageOf(error), 'see what it names, and try again'),
  )
  const finding = await Promise.race([looking, promise])
  clearTimeout(timer)
  return { name, isEssential, ...finding }
}

/** A doctor tells nobody about his patients: whatever is asked, it is asked of this machine. */
function loopbackOnly(fetch: Io['fetch']): Io['fetch'] {
  return async (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : input)
    if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
      throw new Error(`${hostname} is not on this machine, and was not asked`)
    return fetch(input, init)
  }
}

/** Something on this machine that works or does not. */
export interface Check {
  readonly name: string
  /** Without it nothing works: it decides the exit code. */
  readonly isEssential?: true
  run(at: CheckContext): Promise<Finding>
}

/** What is looked at. */
export interface CheckContext {
  readonly io: Io
  /** Rejects where the settings cannot be used. */
  readonly workspace: Promise<Workspace>
  /** The settings, or none where they cannot be used: that is said once, by the check for them. */
  readonly config: Promise<Config>
  /** Aborts when the check takes too long. */
  readonly signal: AbortSignal
}

/** What a check found out. */
export interface Finding {
  readonly state: 'ok' | 'missing' | 'broken'
  /** What was found, without a full stop. */
  readonly says: string
  /** The exact command or step that mends it. */
  readonly fix?: string
}

/** It works. */
export const ok = (says: string): Finding => ({ state: 'ok', says })
/** It is not here, and something can be done without it. */
export const missing = (says: string, fix: string): Finding => ({ state: 'missing', says, fix })
/** It is here, or has to be, and does not work. */
export const broken = (says: string, fix: string): Finding => ({ state: 'broken', says, fix })
