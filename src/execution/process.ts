import { messageOf } from '../core/errors.ts'
import type { Confinement, ExecutionContext, ExecutionHandle, SandboxSupport } from '../core/execution.ts'
import { traceVariables } from '../core/meta.ts'
import type { CommandLimits } from './commands/command-shell.ts'
import type { Commands } from './commands/commands.ts'
import type { ConfinedCommands } from './confinement/engine.ts'
import type { ConfinedFiles } from './files/confined-files.ts'
import type { ResolvedFolders } from './files/confined-path.ts'

export interface ProcessContextOptions {
  /** Default: the working directory of this process when the handle is created. */
  readonly cwd?: string
  /** Variables for all commands. From the environment of this process they get only what a shell needs, and no secrets. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of further variables of this process to pass to commands. */
  readonly inheritEnv?: readonly string[]
  /** The folders whose files may be read and written. Commands are not restricted. Default: the cwd of the handle. */
  readonly roots?: readonly string[] | 'any'
  readonly limits?: CommandLimits
  /**
   * Whether commands can be confined, as an authority decides it: `auto` if this system can, `off` never. With `required`,
   * `spawn` fails where it cannot. A command that nothing confines runs as ever. Default: `auto`.
   */
  readonly sandbox?: 'auto' | 'required' | 'off'
  /**
   * What confined commands reach beside what the authority decided, as absolute paths: `read`, files and folders that they can
   * read; `caches`, folders that they can also write in `workspace-write`. Never the home folder or one that contains it.
   */
  readonly sandboxPaths?: { readonly read?: readonly string[]; readonly caches?: readonly string[] }
}

/**
 * Tools run on this machine as this user. Only commands with a confinement run in a sandbox; others are not isolated.
 * Commands get no secrets in their environment, and leave no processes running.
 */
export function createProcessContext(options: ProcessContextOptions = {}): ExecutionContext {
  checkOptions(options)
  const { cwd, env, inheritEnv = [], roots, limits, sandbox = 'auto', sandboxPaths } = options
  const folders = typeof roots === 'object' ? roots : []
  const handles = new Map<string, HandleState>()
  let n = 0

  function stateOf({ id }: ExecutionHandle): HandleState {
    const state = handles.get(id)
    if (!state || state.ending) throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return state
  }

  function commandsOf(state: HandleState): Promise<Commands> {
    const load = async () => {
      const { createCommands } = await import('./commands/commands.ts')
      return createCommands({ cwd: state.cwd, roots: folders, env: [env, state.env], inheritEnv, limits })
    }
    return (state.commands ??= load().catch(forget(state, 'commands')))
  }

  function confinedOf(state: HandleState): Promise<ConfinedCommands> {
    const load = async () => {
      const { createConfinedCommands } = await import('./confinement/engine.ts')
      return createConfinedCommands({
        ...{ cwd: state.cwd, roots: folders, env: [env, state.env], inheritEnv, limits },
        ...{ realPathOf: state.realPathOf, ...(sandboxPaths && { added: sandboxPaths }) },
      })
    }
    return (state.confined ??= load().catch(forget(state, 'confined')))
  }

  async function supportOf(state: HandleState): Promise<SandboxSupport> {
    if (sandbox === 'off') return { profiles: [], why: switchedOff }
    if (onWindows()) return { profiles: [], why: noSandboxOnWindows }
    try {
      return await (await confinedOf(state)).support()
    } catch (error) {
      return { profiles: [], why: messageOf(error), isUntried: true }
    }
  }

  function filesOf(state: HandleState): Promise<ConfinedFiles> {
    const load = async () => (await import('./files/confined-files.ts')).confinedFiles({ roots: state.roots })
    return (state.files ??= load().catch(forget(state, 'files')))
  }

  async function withFiles<T>(handle: ExecutionHandle, use: (files: ConfinedFiles, cwd: string) => Promise<T>) {
    const state = stateOf(handle)
    return use(await filesOf(state), state.cwd)
  }

  return {
    type: 'process',
    capabilities: { shell: !onWindows(), filesystem: true, network: true, gpu: false, hostPrograms: true },

    async spawn(config = {}) {
      checkEnv(config.env)
      const { resolveFolders } = await import('./files/confined-path.ts')
      const state = { env: config.env, ...resolveFolders([cwd, config.cwd], folders, roots) }
      const handle = { id: `process-${++n}`, type: 'process', cwd: state.cwd }
      if (sandbox === 'required') requireSandbox(await supportOf(state))
      handles.set(handle.id, state)
      return handle
    },

    async exec(handle, command, given = {}) {
      const state = stateOf(handle)
      if (onWindows()) throw new Error(noShell)
      checkEnv(given.env)
      const traced = traceVariables()
      const options = traced ? { ...given, env: { ...traced, ...given.env } } : given
      const { confinement } = options
      if (confinement && sandbox === 'off') throw await refusedOutside(confinement)
      if (confinement) return (await confinedOf(state)).run(command, confinement, options)
      return (await commandsOf(state)).run(command, options)
    },

    readFile: (handle, path) => withFiles(handle, (files, at) => files.readFile(at, path)),
    writeFile: (handle, path, content, how) =>
      withFiles(handle, (files, at) => files.writeFile(at, path, content, how)),
    listFiles: (handle, path) => withFiles(handle, (files, at) => files.listFiles(at, path)),
    stat: (handle, path) => withFiles(handle, (files, at) => files.stat(at, path)),
    openFile: (handle, path) => withFiles(handle, (files, at) => files.openFile(at, path)),

    sandbox: async (handle) => supportOf(stateOf(handle)),

    async destroy({ id }) {
      const state = handles.get(id)
      if (!state) return
      state.ending ??= endAll(state)
      await state.ending
      handles.delete(id)
    },
  }
}

interface HandleState extends ResolvedFolders {
  readonly env: Readonly<Record<string, string>> | undefined
  commands?: Promise<Commands>
  confined?: Promise<ConfinedCommands>
  files?: Promise<ConfinedFiles>
  ending?: Promise<void>
}

/** What could not be loaded may be the next time, for instance after a shortage of descriptors. */
const forget =
  (state: HandleState, name: 'commands' | 'confined' | 'files') =>
  (error: unknown): never => {
    delete state[name]
    throw error
  }

async function endAll({ commands, confined }: HandleState): Promise<void> {
  const opened = await Promise.allSettled([commands, confined])
  // Those that could not be opened have no commands to end.
  await Promise.all(opened.map((one) => one.status === 'fulfilled' && one.value?.end()))
}

function requireSandbox({ profiles, why }: SandboxSupport): void {
  if (profiles.length > 0) return
  throw Object.assign(
    new Error(`Commands must run in a sandbox (\`sandbox: 'required'\`), and there is none: ${why}`),
    {
      code: 'ENOSANDBOX',
    },
  )
}

const switchedOff = 'it was switched off'

async function refusedOutside({ profile }: Confinement): Promise<Error> {
  const { noSandbox } = await import('../core/execution.ts')
  return noSandbox('process', profile, switchedOff)
}

const noSandboxOnWindows = 'Windows has no sandbox for commands; use WSL or Docker'

const noShell =
  'Commands need a POSIX shell, and Windows has none; run this program in WSL, or use a Docker execution context'

function onWindows(): boolean {
  return typeof process !== 'undefined' && process.platform === 'win32'
}

const known = ['cwd', 'env', 'inheritEnv', 'roots', 'limits', 'sandbox', 'sandboxPaths']

function checkOptions(options: ProcessContextOptions): void {
  checkNames('option', options, known)
  const { cwd, env, inheritEnv, roots, limits, sandbox, sandboxPaths = {} } = options
  if (cwd !== undefined && !isTexts([cwd])) throw refusal('cwd', 'the path of a folder')
  checkEnv(env)
  if (inheritEnv !== undefined && !isTexts(inheritEnv)) throw refusal('inheritEnv', 'a list of names')
  if (roots !== undefined && roots !== 'any' && !(isTexts(roots) && roots.every(isAbsolute)))
    throw refusal('roots', "a list of absolute paths, or 'any'")
  if (sandbox !== undefined && !['auto', 'required', 'off'].includes(sandbox))
    throw refusal('sandbox', "'auto', 'required' or 'off'")
  checkNames('field of sandboxPaths', sandboxPaths, ['read', 'caches'])
  for (const [name, paths] of Object.entries(sandboxPaths))
    if (!isTexts(paths) || !paths.every(isAbsolute)) throw refusal(`sandboxPaths.${name}`, 'a list of absolute paths')
  checkLimits(limits)
}

function isAbsolute(path: string): boolean {
  return /^(?:[a-z]:)?[\\/]/i.test(path)
}

/** Does not show the value, which may be a secret. */

/** The checks that the options of execution contexts share. An error has no values in it: they may be secrets. */
export function optionChecks(maker: string) {
  const refusal = (name: string, wanted: string): TypeError => new TypeError(`${maker}: ${name} must be ${wanted}`)

  function checkNames(what: string, given: unknown, names: readonly string[]): void {
    if (typeof given !== 'object' || given === null) throw refusal(`${what}s`, 'an object')
    const unknown = Object.keys(given).find((name) => !names.includes(name))
    if (unknown) throw new TypeError(`${maker}: unknown ${what} "${unknown}"; there are ${names.join(', ')}`)
  }

  return {
    refusal,
    checkNames,
    /** Also for the variables of a spawn or a command. */
    checkEnv(env: unknown): void {
      if (env === undefined) return
      if (typeof env !== 'object' || env === null) throw refusal('env', 'an object of strings')
      for (const [name, value] of Object.entries(env)) {
        if (typeof value !== 'string') throw refusal(`env.${name}`, 'a string')
        if (/[=\0]|^$/.test(name) || value.includes('\0'))
          throw new TypeError(
            `The environment variable ${JSON.stringify(name)} cannot be set: it has a "=" or a NUL, or no name`,
          )
      }
    },
    /** `least` has the smallest value of limits that may be 0. */
    checkLimits(limits: object | undefined, least: Readonly<Record<string, number>> = {}): void {
      if (limits === undefined) return
      checkNames('limit', limits, ['processes', 'memoryMb', 'fileSizeMb'])
      for (const [name, limit] of Object.entries(limits))
        if (!Number.isSafeInteger(limit) || limit < (least[name] ?? 1))
          throw refusal(`limits.${name}`, 'a whole number above 0')
    },
  }
}

/** Whether a value is a list of texts that are not empty. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
}

const { refusal, checkNames, checkEnv, checkLimits } = optionChecks('createProcessContext')
