import { existsSync, lstatSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { codeOf, messageOf } from '../core/errors.ts'
import {
  type Confinement,
  type ExecOptions,
  type ExecutionContext,
  type ExecutionHandle,
  type FileInfo,
  noSandbox,
  resolvePosix,
} from '../core/execution.ts'
import { matchesHostRule } from '../platform/addresses.ts'
import { checkProcessLimit, findBubblewrap, setupProblem } from './bubblewrap/check.ts'
import type { EgressProxyOptions } from './bubblewrap/egress-proxy.ts'
import { createSandboxHandle, type SandboxHandle } from './bubblewrap/handle.ts'
import { type BubblewrapOptions, checkEnv, checkOptions, defaultProcesses } from './bubblewrap/options.ts'
import { createPlaceholders } from './bubblewrap/placeholders.ts'
import { isInside, mayBePlaceholder } from './bubblewrap/protected-paths.ts'
import { createFactFinder, type FactFinder } from './confinement/facts.ts'
import { commandScope } from './confinement/scoped-commands.ts'
import { fileError, realPathOf, resolveRoots } from './files/confined-path.ts'
import { hasPlaceholderMark } from './files/placeholder-folders.ts'
import { type ShellFiles, shellFiles } from './files/shell-files.ts'

export type { ExecutionContext } from '../core/execution.ts'
export type { BubblewrapOptions } from './bubblewrap/options.ts'

/**
 * Tools run on this machine in a sandbox of the kernel (Linux only): they can write only in the roots, and do not see
 * secrets, other processes or, unless allowed, the network. If the sandbox cannot be built, `spawn` fails.
 */
export function createBubblewrapContext(options: BubblewrapOptions = {}): ExecutionContext {
  checkOptions(options)
  const { network = false, env, inheritEnv = [], readOnly = [], hidden, onEgress } = options
  const networkOption = typeof network === 'object' ? { ...network, ...(onEgress && { onEgress }) } : network
  const placeholders = createPlaceholders()
  const handles = new Map<string, HandleState>()
  let isTested = false
  let n = 0

  function stateOf({ id }: ExecutionHandle): HandleState {
    const state = handles.get(id)
    if (!state || state.ending) throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return state
  }

  /** What a confined command sees and reaches: what the context would let it, at most. */
  async function scopeFor({ roots, facts, env }: HandleState, confinement: Confinement, given: ExecOptions) {
    const outside = confinement.writes.find((path) => !roots.some((root) => isInside(root, path)))
    if (outside !== undefined) throw new Error(`${outside} is outside of the folders that commands can write`)
    const visible = { ...confinement, reads: [...confinement.reads, ...readOnly] }
    const scope = await commandScope(visible, given, { inheritEnv, env, home: homedir() }, facts)
    return { ...scope, network: commonNetwork(scope.network, networkOption) }
  }

  const isPlaceholder = (path: string): boolean =>
    (placeholders.has(path) || mayBePlaceholder(basename(path))) && hasPlaceholderMark(path)

  return {
    type: 'bubblewrap',
    capabilities: { shell: true, filesystem: true, network: network !== false, gpu: false, hostPrograms: true },

    async spawn(config = {}) {
      checkEnv(config.env)
      const cwd = realPathOf(resolve(options.cwd ?? '', config.cwd ?? ''))
      const named = (options.roots ?? [cwd]).map((root) => resolve(root))
      const roots = named.map((root) => realPathOf(root))
      checkRoots(roots)
      const bubblewrap = await findBubblewrap(options.bwrap, roots)
      const { processes = defaultProcesses, ...limits } = options.limits ?? {}
      if (processes > 0) checkProcessLimit()
      const sandbox = createSandboxHandle({
        bubblewrap,
        cwd,
        roots,
        named,
        readOnly: [...readOnly, ...hiddenNodeProgram()]
          .map((path) => realPathOf(resolve(path)))
          .filter((path) => existsSync(path)),
        hidden,
        temporaryAt: temporaryFolders(),
        network: networkOption,
        env: [env, config.env],
        inheritEnv,
        limits: processes === 0 ? limits : { ...limits, processes },
        placeholders,
      })
      if (!isTested) await testSandbox(sandbox)
      isTested = true
      const handle = { id: `bubblewrap-${++n}`, type: 'bubblewrap', cwd }
      const facts = createFactFinder({ cwd, roots, home: homedir(), env: [env, config.env] })
      handles.set(handle.id, { sandbox, roots, cwd, id: handle.id, facts, env: [env, config.env] })
      return handle
    },

    async exec(handle, command, given = {}) {
      checkEnv(given.env)
      const { confinement, ...rest } = given
      const state = stateOf(handle)
      if (!confinement) return state.sandbox.run(command, rest)
      const { profile } = confinement
      const scope = await scopeFor(state, confinement, rest).catch((error) => {
        throw noSandbox('bubblewrap', profile, messageOf(error))
      })
      return { ...(await state.sandbox.run(command, rest, scope)), sandbox: { profile } }
    },
    sandbox: async () => ({ profiles: ['read-only', 'workspace-write'], by: 'bubblewrap' }),

    readFile: async (handle, path) => filesOf(stateOf(handle), false).readFile(handle.cwd, path),
    async writeFile(handle, path, content, how) {
      const state = stateOf(handle)
      try {
        await filesOf(state, true).writeFile(handle.cwd, path, content, how)
      } catch (error) {
        throw writeProblem(error, path, state)
      }
    },
    async listFiles(handle, path) {
      const names = await filesOf(stateOf(handle), false).listFiles(handle.cwd, path)
      const at = resolvePosix(handle.cwd, path)
      return names.filter((name) => !(name.endsWith('/') && isPlaceholder(join(at, name.slice(0, -1)))))
    },
    stat: async (handle, path) =>
      withHandleKey(await filesOf(stateOf(handle), false).stat(handle.cwd, path), stateOf(handle)),
    async openFile(handle, path) {
      const file = await filesOf(stateOf(handle), false).openFile(handle.cwd, path)
      return { ...file, info: withHandleKey(file.info, stateOf(handle)) }
    },

    async destroy({ id }) {
      const state = handles.get(id)
      if (!state) return
      state.ending ??= state.sandbox.end()
      await state.ending
      handles.delete(id)
    },
  }
}

interface HandleState {
  readonly id: string
  readonly sandbox: SandboxHandle
  readonly roots: readonly string[]
  readonly cwd: string
  readonly facts: FactFinder
  readonly env: readonly (Readonly<Record<string, string>> | undefined)[]
  ending?: Promise<void>
}

type Network = boolean | EgressProxyOptions

/** The hosts that both allow. */
function commonNetwork(asked: Network, own: Network): Network {
  if (asked === false || own === true) return asked
  if (asked === true || own === false) return own
  const isAllowed = (host: string): boolean => {
    const [, name = host, port] = /^(.*):(\d+)$/.exec(host) ?? []
    return own.allow.includes(host) || matchesHostRule(name, Number(port ?? 443), own.allow)
  }
  const allow = asked.allow.filter(isAllowed)
  return { ...own, allow }
}

/** File operations run as scripts in the same sandbox, so that one policy covers all. */
function filesOf({ sandbox }: HandleState, writes: boolean): ShellFiles {
  return shellFiles({
    keyPrefix: 'file',
    exec: (script, how) => sandbox.script(script, { writes, input: how?.input }),
  })
}

/** Temporary files belong to the handle, so their key names it; all others are files of this machine. */
function withHandleKey(info: FileInfo, { roots, id }: HandleState): FileInfo {
  const isOwn = temporaryFolders().some((folder) => isInside(folder, info.path))
  if (!isOwn || roots.some((root) => isInside(root, info.path))) return info
  return { ...info, key: `${id}:${info.path}` }
}

function writeProblem(error: unknown, path: string, { roots, cwd, sandbox }: HandleState): unknown {
  if (codeOf(error) === undefined) return error // nothing was attempted
  if (['ESTALE', 'EINVAL', 'ENOSPC', 'EDQUOT', 'ETIMEDOUT'].includes(codeOf(error) ?? '')) return error
  const real = realPathOf(resolvePosix(cwd, path))
  if (temporaryFolders().some((folder) => isInside(folder, real)) && !roots.some((root) => isInside(root, real)))
    return error
  if (!roots.some((root) => isInside(root, real))) return resolveRoots(roots).outside(path, `"${real}"`)
  if (!sandbox.isProtected(real)) return error
  const advice = 'Leave it as it is; the operator of the agent can allow it by naming it as a root of its own'
  return fileError('EOUTSIDE', `"${path}" is protected: it can be read but not written or made here. ${advice}`, path)
}

/** Runs a script in the sandbox to check that it works. */
async function testSandbox(sandbox: SandboxHandle): Promise<void> {
  try {
    const { exitCode, stderr } = await sandbox.script('exit 7', { writes: false })
    if (exitCode !== 7) throw setupProblem(stderr || `a script that should end with 7 ended with ${exitCode}`)
  } catch (error) {
    await sandbox.end()
    throw error
  }
}

function checkRoots(roots: readonly string[]): void {
  if (roots.includes('/')) throw new Error('The root folder / cannot be a root: everything could be written')
  const temporary = realPathOf(tmpdir())
  const root = roots.find((folder) => isInside(folder, temporary))
  if (root)
    throw new Error(
      `The root ${root} contains ${temporary}, where the sandbox keeps its own files; use another root, or set TMPDIR to a folder outside of it`,
    )
}

/** The Node program, if it is in a folder that the sandbox replaces. */
function hiddenNodeProgram(): string[] {
  return temporaryFolders().some((folder) => isInside(folder, process.execPath)) ? [process.execPath] : []
}

/** The temporary folders, which the sandbox replaces by its own. */
function temporaryFolders(): string[] {
  return ['/tmp', '/var/tmp'].filter((path) => {
    try {
      return lstatSync(path).isDirectory()
    } catch {
      return false
    }
  })
}
