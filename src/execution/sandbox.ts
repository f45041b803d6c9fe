import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import type { SandboxPlace } from './sandbox/exec.ts'
import type { SandboxFiles } from './sandbox/files.ts'
import type { SandboxProvider } from './sandbox/provider.ts'

export type {
  SandboxExecOptions,
  SandboxExecResult,
  SandboxInstance,
  SandboxProvider,
} from './sandbox/provider.ts'

export interface SandboxContextOptions {
  /** How long a provider may take for anything but a command, in milliseconds. Default 120,000. */
  readonly patienceMs?: number
  /** How long it may take to confirm that a command was ended. Default 1000. */
  readonly graceMs?: number
}

/** Tools run in any sandbox that a provider can give. What it cannot do is done through its shell. */
export function createSandboxContext(
  provider: SandboxProvider,
  { patienceMs = 120_000, graceMs = 1000 }: SandboxContextOptions = {},
): ExecutionContext {
  checkProvider(provider)
  const { shell = true, network = true, gpu = false } = provider.capabilities ?? {}
  const filesystem = provider.capabilities?.filesystem ?? (shell || hasFileVerbs(provider))
  const places = new Map<string, Place>()

  function placeOf({ id }: ExecutionHandle): Place {
    const place = places.get(id)
    if (!place || place.destroyed.aborted)
      throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return place
  }

  const context: ExecutionContext = {
    type: 'sandbox',
    capabilities: { ...provider.capabilities, shell, filesystem, network, gpu },

    async spawn(config = {}) {
      const { sandboxFiles, askProvider, sandboxProblem, resolvePosix } = await load()
      const start = () => provider.spawn(config)
      const tooLate = ({ id }: { id: string }) => provider.destroy(id)
      const instance = await askProvider(provider, 'start', patienceMs, start, tooLate)
      if (typeof instance?.id !== 'string' || instance.id === '')
        throw sandboxProblem(provider, 'start', 'its provider gave no id')
      const { id } = instance
      const cwd = resolvePosix('/', instance.cwd ?? config.cwd ?? '/')
      const ending = new AbortController()
      const place: SandboxPlace = { provider, id, cwd, env: config.env ?? {}, destroyed: ending.signal, graceMs }
      places.set(id, { ...place, ending, files: sandboxFiles(place, { hasShell: shell, patienceMs }) })
      return { id, type: 'sandbox', cwd }
    },

    async exec(handle, command, options = {}) {
      const place = placeOf(handle)
      if (!shell) throw new Error('This sandbox has no shell and runs no commands')
      const { execInSandbox } = await import('./sandbox/exec.ts')
      return execInSandbox(place, command, options)
    },

    readFile: async (handle, path) => placeOf(handle).files.readFile(path),
    writeFile: async (handle, path, content, how) => placeOf(handle).files.writeFile(path, content, how),
    listFiles: async (handle, path) => placeOf(handle).files.listFiles(path),

    async destroy({ id }) {
      const place = places.get(id)
      if (!place) return
      place.ending.abort()
      const { askProvider } = await load()
      // What failed may be tried again.
      place.gone ??= askProvider(provider, 'be destroyed', patienceMs, () => provider.destroy(id)).catch((error) => {
        delete place.gone
        throw error
      })
      await place.gone
      places.delete(id)
    },
  }
  if (!shell) return context
  return {
    ...context,
    stat: async (handle, path) => placeOf(handle).files.stat(path),
    openFile: async (handle, path) => placeOf(handle).files.openFile(path),
  }
}

/** With the first handle: whoever loads the root pays nothing for it. */
async function load() {
  const [files, asking, paths] = await Promise.all([
    import('./sandbox/files.ts'),
    import('./sandbox/provider.ts'),
    import('../core/execution.ts'),
  ])
  return { ...files, ...asking, ...paths }
}

interface Place extends SandboxPlace {
  readonly ending: AbortController
  readonly files: SandboxFiles
  gone?: Promise<void>
}

function checkProvider(provider: SandboxProvider): void {
  for (const verb of ['spawn', 'exec', 'destroy'] as const)
    if (typeof provider?.[verb] !== 'function')
      throw new TypeError(`createSandboxContext needs a provider with spawn, exec and destroy; ${verb} is missing`)
}

const hasFileVerbs = ({ readFile, writeFile, listFiles }: SandboxProvider) =>
  readFile !== undefined && writeFile !== undefined && listFiles !== undefined
