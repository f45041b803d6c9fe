import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import type { CommandLimits } from './commands/command-shell.ts'
import type { Commands } from './commands/commands.ts'
import type { ConfinedFiles } from './files/confined-files.ts'

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
}

/** Tools run on this machine as this user, without isolation. Commands get no secrets in their environment, and leave no processes running. */
export function createProcessContext(options: ProcessContextOptions = {}): ExecutionContext {
  checkOptions(options)
  const { cwd, env, inheritEnv = [], roots, limits } = options
  const handles = new Map<string, HandleState>()
  let n = 0

  function stateOf({ id }: ExecutionHandle): HandleState {
    const state = handles.get(id)
    if (!state || state.ending) throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return state
  }

  async function openCommands(state: HandleState): Promise<Commands> {
    try {
      // Resolves the real paths of the roots before a command could replace one by a link.
      await filesOf(state)
      const { createCommands } = await import('./commands/commands.ts')
      return createCommands({ cwd: state.cwd, env: [env, state.env], inheritEnv, limits })
    } catch (error) {
      delete state.commands // may work the next time, for instance after a shortage of descriptors
      throw error
    }
  }

  function filesOf(state: HandleState): Promise<ConfinedFiles> {
    const within = roots ?? [state.cwd]
    state.files ??= import('./files/confined-files.ts')
      .then(({ confinedFiles }) => confinedFiles({ roots: within }))
      .catch((error) => {
        delete state.files // may work the next time, for instance after a shortage of descriptors
        throw error
      })
    return state.files
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
      const handle = { id: `process-${++n}`, type: 'process', cwd: await folder(cwd, config.cwd) }
      handles.set(handle.id, { cwd: handle.cwd, env: config.env })
      return handle
    },

    async exec(handle, command, options = {}) {
      const state = stateOf(handle)
      if (onWindows()) throw new Error(noShell)
      checkEnv(options.env)
      state.commands ??= openCommands(state)
      return (await state.commands).run(command, options)
    },

    readFile: (handle, path) => withFiles(handle, (files, at) => files.readFile(at, path)),
    writeFile: (handle, path, content, how) =>
      withFiles(handle, (files, at) => files.writeFile(at, path, content, how)),
    listFiles: (handle, path) => withFiles(handle, (files, at) => files.listFiles(at, path)),
    stat: (handle, path) => withFiles(handle, (files, at) => files.stat(at, path)),
    openFile: (handle, path) => withFiles(handle, (files, at) => files.openFile(at, path)),

    async destroy({ id }) {
      const state = handles.get(id)
      if (!state) return
      state.ending ??= Promise.resolve(state.commands).then(
        (commands) => commands?.end(),
        () => {}, // no command could be started
      )
      await state.ending
      handles.delete(id)
    },
  }
}

interface HandleState {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>> | undefined
  commands?: Promise<Commands>
  files?: Promise<ConfinedFiles>
  ending?: Promise<void>
}

const noShell =
  'Commands need a POSIX shell, and Windows has none; run this program in WSL, or use a Docker execution context'

function onWindows(): boolean {
  return typeof process !== 'undefined' && process.platform === 'win32'
}

async function folder(...parts: (string | undefined)[]): Promise<string> {
  const { resolve } = await import('node:path')
  return resolve(...parts.filter((part) => part !== undefined))
}

const known = ['cwd', 'env', 'inheritEnv', 'roots', 'limits']
const knownLimits = ['processes', 'memoryMb', 'fileSizeMb']

function checkOptions(options: ProcessContextOptions): void {
  checkNames('option', options, known)
  const { cwd, env, inheritEnv, roots, limits } = options
  if (cwd !== undefined && !isTexts([cwd])) throw refusal('cwd', 'the path of a folder')
  checkEnv(env)
  if (inheritEnv !== undefined && !isTexts(inheritEnv)) throw refusal('inheritEnv', 'a list of names')
  if (roots !== undefined && roots !== 'any' && !(isTexts(roots) && roots.every(isAbsolute)))
    throw refusal('roots', "a list of absolute paths, or 'any'")
  if (limits === undefined) return
  checkNames('limit', limits, knownLimits)
  for (const [name, limit] of Object.entries(limits))
    if (!Number.isSafeInteger(limit) || limit < 1) throw refusal(`limits.${name}`, 'a whole number above 0')
}

function checkNames(what: string, given: unknown, names: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw refusal(`${what}s`, 'an object')
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown) throw new TypeError(`createProcessContext: unknown ${what} "${unknown}"; there are ${names.join(', ')}`)
}

function checkEnv(env: unknown): void {
  if (env === undefined) return
  if (typeof env !== 'object' || env === null) throw refusal('env', 'an object of strings')
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string') throw refusal(`env.${name}`, 'a string')
    if (/[=\0]|^$/.test(name) || value.includes('\0'))
      throw new TypeError(
        `The environment variable ${JSON.stringify(name)} cannot be set: it has a "=" or a NUL, or no name`,
      )
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
}

function isAbsolute(path: string): boolean {
  return /^(?:[a-z]:)?[\\/]/i.test(path)
}

/** Does not show the value, which may be a secret. */
function refusal(name: string, wanted: string): TypeError {
  return new TypeError(`createProcessContext: ${name} must be ${wanted}`)
}
