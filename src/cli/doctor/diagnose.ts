import { messageOf } from '../../core/errors.ts'
import { within } from '../../core/waiting.ts'
import { openWorkspace, type Workspace } from '../assembly/workspace.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** A check with its finding. */
export interface Diagnosis extends Finding {
  readonly name: string
  readonly isEssential: boolean
}

/** Runs all checks in parallel. Each has a timeout: a check that hangs becomes a finding. */
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
    // Not a copy: inside a chat, most of it is inherited.
    const watched: Io = Object.create(io, { fetch: { value: loopbackOnly(io.fetch) } })
    return await Promise.all(checks.map((check) => runCheck(check, { io: watched, workspace, config }, timeoutMs)))
  } finally {
    workspace.then(({ project }) => project.dispose()).catch(() => {})
  }
}

async function runCheck(check: Check, context: Omit<CheckContext, 'signal'>, timeoutMs: number): Promise<Diagnosis> {
  const { name, isEssential = false } = check
  const timeout = new AbortController()
  const running = (async () => check.run({ ...context, signal: timeout.signal }))().catch((error: unknown) =>
    broken(messageOf(error), 'see what it names, and try again'),
  )
  const finding = await within(timeoutMs, running, () => {
    timeout.abort()
    return broken(`there was no answer within ${timeoutMs / 1000} seconds`, 'find what blocks it, and try again')
  })
  return { name, isEssential, ...finding }
}

/** Checks send requests to this machine only. */
function loopbackOnly(fetch: Io['fetch']): Io['fetch'] {
  return async (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : input)
    if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
      throw new Error(`${hostname} is not on this machine, and was not asked`)
    return fetch(input, init)
  }
}

/** One check of `libero doctor`. */
export interface Check {
  readonly name: string
  /** Libero cannot work without it: if it is broken, the exit code is 1. */
  readonly isEssential?: true
  run(context: CheckContext): Promise<Finding>
}

export interface CheckContext {
  readonly io: Io
  /** Rejects if the settings cannot be used. */
  readonly workspace: Promise<Workspace>
  /** The settings; empty if they cannot be used, which the check for settings reports. */
  readonly config: Promise<Config>
  /** Aborts at the timeout of the check. */
  readonly signal: AbortSignal
}

/** The result of a check. */
export interface Finding {
  readonly state: 'ok' | 'missing' | 'broken'
  /** What was found, without a full stop. */
  readonly says: string
  /** The exact command or step that fixes it. */
  readonly fix?: string
}

export const ok = (says: string): Finding => ({ state: 'ok', says })
/** It is not available; Libero works without it. */
export const missing = (says: string, fix: string): Finding => ({ state: 'missing', says, fix })
/** It is present or required, and does not work. */
export const broken = (says: string, fix: string): Finding => ({ state: 'broken', says, fix })
