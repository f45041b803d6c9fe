import { existsSync, lstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { codeOf } from '../core/errors.ts'
import type { ExecutionContext, ExecutionHandle, FileInfo } from '../core/execution.ts'
import { resolvePosix } from '../core/execution.ts'
import { checkProcessLimit, findBubblewrap, setupProblem } from './bubblewrap/check.ts'
import { createSandboxHandle, type SandboxHandle } from './bubblewrap/handle.ts'
import { type BubblewrapOptions, checkEnv, checkOptions, defaultProcesses } from './bubblewrap/options.ts'
import { createPlaceholders, isHeld } from './bubblewrap/placeholders.ts'
import { isInside, maybeHeld } from './bubblewrap/protected-paths.ts'
import { fileError } from './files/confined-path.ts'
import { settleRoots, whereabouts } from './files/confined-roots.ts'
import { type ShellFiles, shellFiles } from './files/shell-files.ts'

export type { ExecutionContext } from '../core/execution.ts'
export type { BubblewrapLimits, BubblewrapNetwork, BubblewrapOptions, EgressEvent } from './bubblewrap/options.ts'

/**
 * Tools run on this machine behind the walls of the kernel (Linux only): they write in the roots and nowhere else, do not
 * see secrets, other processes or, unless allowed, the network. When the walls cannot be built, `spawn` fails.
 */
export function createBubblewrapContext(options: BubblewrapOptions = {}): ExecutionContext {
  checkOptions(options)
  const { network = false, env, inheritEnv = [], readOnly = [], hidden, onEgress } = options
  const placeholders = createPlaceholders()
  const places = new Map<string, Place>()
  let proven = false
  let n = 0

  function placeOf({ id }: ExecutionHandle): Place {
    const place = places.get(id)
    if (!place || place.ending) throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return place
  }

  const isPlaceholder = (path: string): boolean => (placeholders.has(path) || maybeHeld(basename(path))) && isHeld(path)

  return {
    type: 'bubblewrap',
    capabilities: { shell: true, filesystem: true, network: network !== false, gpu: false, hostPrograms: true },

    async spawn(config = {}) {
      checkEnv(config.env)
      const cwd = whereabouts(resolve(options.cwd ?? '', config.cwd ?? ''))
      const named = (options.roots ?? [cwd]).map((root) => resolve(root))
      const roots = named.map((root) => whereabouts(root))
      checkRoots(roots)
      const bubblewrap = await findBubblewrap(options.bwrap, roots)
      const { processes = defaultProcesses, ...limits } = options.limits ?? {}
      if (processes > 0) checkProcessLimit()
      const sandbox = createSandboxHandle({
        bubblewrap,
        cwd,
        roots,
        named,
        readOnly: [...readOnly, ...ownProgram()]
          .map((path) => whereabouts(resolve(path)))
          .filter((path) => existsSync(path)),
        hidden,
        temporaryAt: temporaryFolders(),
        network: typeof network === 'object' ? { ...network, ...(onEgress && { onEgress }) } : network,
        env: [env, config.env],
        inheritEnv,
        limits: processes === 0 ? limits : { ...limits, processes },
        placeholders,
      })
      if (!proven) await prove(sandbox)
      proven = true
      const handle = { id: `bubblewrap-${++n}`, type: 'bubblewrap', cwd }
      places.set(handle.id, { sandbox, roots, cwd, id: handle.id })
      return handle
    },

    async exec(handle, command, given = {}) {
      checkEnv(given.env)
      return placeOf(handle).sandbox.run(command, given)
    },

    readFile: async (handle, path) => filesOf(placeOf(handle), false).readFile(handle.cwd, path),
    async writeFile(handle, path, content, how) {
      const place = placeOf(handle)
      try {
        await filesOf(place, true).writeFile(handle.cwd, path, content, how)
      } catch (error) {
        throw writeProblem(error, path, place)
      }
    },
    async listFiles(handle, path) {
      const names = await filesOf(placeOf(handle), false).listFiles(handle.cwd, path)
      const at = resolvePosix(handle.cwd, path)
      return names.filter((name) => !(name.endsWith('/') && isPlaceholder(join(at, name.slice(0, -1)))))
    },
    stat: async (handle, path) => placed(await filesOf(placeOf(handle), false).stat(handle.cwd, path), placeOf(handle)),
    async openFile(handle, path) {
      const file = await filesOf(placeOf(handle), false).openFile(handle.cwd, path)
      return { ...file, info: placed(file.info, placeOf(handle)) }
    },

    async destroy({ id }) {
      const place = places.get(id)
      if (!place) return
      place.ending ??= place.sandbox.end()
      await place.ending
      places.delete(id)
    },
  }
}

interface Place {
  readonly id: string
  readonly sandbox: SandboxHandle
  readonly roots: readonly string[]
  readonly cwd: string
  ending?: Promise<void>
}

/** The file verbs run as scripts in the same sandbox, so that one policy holds for all. */
function filesOf({ sandbox }: Place, writes: boolean): ShellFiles {
  return shellFiles({
    world: 'file',
    exec: (script, how) => sandbox.script(script, { writes, input: how?.input }),
  })
}

/** Files are those of this machine, but temporary ones belong to the handle. */
function placed(info: FileInfo, { roots, id }: Place): FileInfo {
  const isOwn = temporaryFolders().some((folder) => isInside(folder, info.path))
  if (!isOwn || roots.some((root) => isInside(root, info.path))) return info
  return { ...info, key: `${id}:${info.path}` }
}

function writeProblem(error: unknown, path: string, { roots, cwd, sandbox }: Place): unknown {
  if (codeOf(error) === undefined) return error // nothing was tried
  if (['ESTALE', 'EINVAL', 'ENOSPC', 'EDQUOT', 'ETIMEDOUT'].includes(codeOf(error) ?? '')) return error
  const real = whereabouts(resolvePosix(cwd, path))
  if (temporaryFolders().some((folder) => isInside(folder, real)) && !roots.some((root) => isInside(root, real)))
    return error
  if (!roots.some((root) => isInside(root, real))) return settleRoots(roots).outside(path, `"${real}"`)
  if (!sandbox.isProtected(real)) return error
  const advice = 'Leave it as it is; whoever runs the agent can allow it by naming it as a root of its own'
  return fileError('EOUTSIDE', `"${path}" is protected: it can be read but not written or made here. ${advice}`, path)
}

/** A sandbox that works shows itself: nothing is claimed that was not tried. */
async function prove(sandbox: SandboxHandle): Promise<void> {
  try {
    const { exitCode, stderr } = await sandbox.script('exit 7', { writes: false })
    if (exitCode !== 7) throw setupProblem(stderr || `a script that should end with 7 ended with ${exitCode}`)
  } catch (error) {
    await sandbox.end()
    throw error
  }
}

function checkRoots(roots: readonly string[]): void {
  if (roots.includes('/'))
    throw new Error('The root folder / cannot be a root: nothing would be kept from being written')
  const temporary = whereabouts(tmpdir())
  const root = roots.find((folder) => isInside(folder, temporary))
  if (root)
    throw new Error(
      `The root ${root} contains ${temporary}, where the sandbox keeps its own files; use another root, or set TMPDIR to a folder outside of it`,
    )
}

/** Ourselves, when we lie where the sandbox has files of its own. */
function ownProgram(): string[] {
  return temporaryFolders().some((folder) => isInside(folder, process.execPath)) ? [process.execPath] : []
}

/** The folders for temporary files that a sandbox sees its own in place of. */
function temporaryFolders(): string[] {
  return ['/tmp', '/var/tmp'].filter((path) => {
    try {
      return lstatSync(path).isDirectory()
    } catch {
      return false
    }
  })
}
