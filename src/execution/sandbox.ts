import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import type { RunningSandbox } from './sandbox/exec.ts'
import type { SandboxFiles } from './sandbox/files.ts'
import type { SandboxProvider } from './sandbox/provider.ts'

export type { SandboxProvider } from './sandbox/provider.ts'

/** Tools run in a sandbox of a provider. Operations that the provider lacks are done through its shell. */
export function createSandboxContext(
  provider: SandboxProvider,
  {
    requestTimeoutMs = 120_000,
    graceMs = 1000,
  }: {
    /** The time limit of every request to the provider except commands, in milliseconds. Default 120,000. */
    readonly requestTimeoutMs?: number
    /** How long the provider may take to confirm that a command was ended. Default 1000. */
    readonly graceMs?: number
  } = {},
): ExecutionContext {
  checkProvider(provider)
  const { shell = true, network = true, gpu = false } = provider.capabilities ?? {}
  const filesystem = provider.capabilities?.filesystem ?? (shell || hasFileVerbs(provider))
  const handles = new Map<string, HandleState>()

  function stateOf({ id }: ExecutionHandle): HandleState {
    const state = handles.get(id)
    if (!state || state.destroyed.aborted)
      throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return state
  }

  const context: ExecutionContext = {
    type: 'sandbox',
    capabilities: { ...provider.capabilities, shell, filesystem, network, gpu },

    async spawn(config = {}) {
      const { sandboxFiles, askProvider, sandboxProblem, resolvePosix } = await load()
      const start = () => provider.spawn(config)
      const tooLate = ({ id }: { id: string }) => provider.destroy(id)
      const instance = await askProvider(provider, 'start', requestTimeoutMs, start, tooLate)
      if (typeof instance?.id !== 'string' || instance.id === '')
        throw sandboxProblem(provider, 'start', 'its provider gave no id')
      const { id } = instance
      const cwd = resolvePosix('/', instance.cwd ?? config.cwd ?? '/')
      const ending = new AbortController()
      const running: RunningSandbox = { provider, id, cwd, env: config.env ?? {}, destroyed: ending.signal, graceMs }
      handles.set(id, {
        ...running,
        ending,
        files: sandboxFiles(running, { hasShell: shell, requestTimeoutMs }),
      })
      return { id, type: 'sandbox', cwd }
    },

    async exec(handle, command, options = {}) {
      const state = stateOf(handle)
      if (!shell) throw new Error('This sandbox has no shell and runs no commands')
      const { confinement, ...others } = options
      const { execInSandbox, runOnSeparateMachine } = await loadExec()
      return runOnSeparateMachine('sandbox', confinement, () => execInSandbox(state, command, others))
    },
    sandbox: async () =>
      shell ? { profiles: ['workspace-write'], by: 'sandbox' } : { profiles: [], why: 'it runs no commands' },

    readFile: async (handle, path) => stateOf(handle).files.readFile(path),
    writeFile: async (handle, path, content, how) => stateOf(handle).files.writeFile(path, content, how),
    listFiles: async (handle, path) => stateOf(handle).files.listFiles(path),

    async destroy({ id }) {
      const state = handles.get(id)
      if (!state) return
      state.ending.abort()
      const { askProvider } = await load()
      // After a failure the next call tries again.
      state.destroying ??= askProvider(provider, 'be destroyed', requestTimeoutMs, () => provider.destroy(id)).catch(
        (error) => {
          delete state.destroying
          throw error
        },
      )
      await state.destroying
      handles.delete(id)
    },
  }
  if (!shell) return context
  return {
    ...context,
    stat: async (handle, path) => stateOf(handle).files.stat(path),
    openFile: async (handle, path) => stateOf(handle).files.openFile(path),
  }
}

/** Loaded with the first handle, to keep the start fast. */
async function load() {
  const [files, asking, paths] = await Promise.all([
    import('./sandbox/files.ts'),
    import('./sandbox/provider.ts'),
    import('../core/execution.ts'),
  ])
  return { ...files, ...asking, ...paths }
}

async function loadExec() {
  const [exec, machine] = await Promise.all([import('./sandbox/exec.ts'), import('./confinement/separate-machine.ts')])
  return { ...exec, ...machine }
}

interface HandleState extends RunningSandbox {
  readonly ending: AbortController
  readonly files: SandboxFiles
  destroying?: Promise<void>
}

function checkProvider(provider: SandboxProvider): void {
  for (const verb of ['spawn', 'exec', 'destroy'] as const)
    if (typeof provider?.[verb] !== 'function')
      throw new TypeError(`createSandboxContext needs a provider with spawn, exec and destroy; ${verb} is missing`)
}

const hasFileVerbs = ({ readFile, writeFile, listFiles }: SandboxProvider) =>
  readFile !== undefined && writeFile !== undefined && listFiles !== undefined
