import { messageOf } from '../../core/errors.ts'
import { openWorkspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { broken, type Check, type Finding, type Patient } from './check.ts'

/** A check with what it found. */
export interface Diagnosis extends Finding {
  readonly name: string
  readonly isEssential: boolean
}

/** Makes all checks side by side. Each has its time, so that one which hangs is a finding and nothing more. */
export async function diagnose(
  checks: readonly Check[],
  io: Io,
  { patienceMs = 8000 }: { readonly patienceMs?: number } = {},
): Promise<readonly Diagnosis[]> {
  const workspace = openWorkspace(io.cwd, { io: { home: io.home } })
  const config = workspace.then(
    ({ loaded }) => loaded.config,
    () => ({}),
  )
  try {
    const watched = { ...io, fetch: loopbackOnly(io.fetch) }
    return await Promise.all(checks.map((check) => examine(check, { io: watched, workspace, config }, patienceMs)))
  } finally {
    workspace.then(({ project }) => project.dispose()).catch(() => {})
  }
}

async function examine(check: Check, patient: Omit<Patient, 'signal'>, patienceMs: number): Promise<Diagnosis> {
  const { name, isEssential = false } = check
  const late = new AbortController()
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const timer = setTimeout(() => {
    resolve(broken(`there was no answer within ${patienceMs / 1000} seconds`, 'see what keeps it, and try again'))
    late.abort()
  }, patienceMs)
  const looking = (async () => check.look({ ...patient, signal: late.signal }))().catch((error: unknown) =>
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
