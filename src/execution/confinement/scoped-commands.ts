import { existsSync } from 'node:fs'
import { messageOf } from '../../core/errors.ts'
import { type Confinement, type ExecOptions, type ExecResult, noSandbox } from '../../core/execution.ts'
import type { Bubblewrap } from '../bubblewrap/check.ts'
import { type CommandScope, createSandboxHandle, type SandboxHandle } from '../bubblewrap/handle.ts'
import { createPlaceholders } from '../bubblewrap/placeholders.ts'
import { sandboxEnv } from './environment.ts'
import type { FactFinder } from './facts.ts'
import { closedView } from './profile.ts'
import type { CommandSetting } from './read-only.ts'
import { sandboxLimits } from './sandbox-limits.ts'

/** Commands that write in the workspace or use a network. Each gets a sandbox built for it. */
export interface ScopedCommands {
  run(command: string, confinement: Confinement, options: ExecOptions): Promise<ExecResult>
  /** Ends all running commands, and removes all files. */
  end(): Promise<void>
}

export function createScopedCommands(
  bubblewrap: Bubblewrap,
  setting: CommandSetting,
  facts: FactFinder,
): ScopedCommands {
  const placeholders = createPlaceholders()
  const handles = new Map<string, SandboxHandle>()

  /** One for the same writable folders. */
  function handleFor(writes: readonly string[]): SandboxHandle {
    const roots = [...new Set([...facts.writable(), ...writes])].filter((path) => existsSync(path))
    const key = JSON.stringify(roots)
    const handle =
      handles.get(key) ??
      createSandboxHandle({
        ...{ bubblewrap, cwd: setting.cwd, roots, named: roots, placeholders },
        ...{ readOnly: [], hidden: [], temporaryAt: ['/tmp'], network: false, env: [], inheritEnv: [] },
        limits: sandboxLimits(setting.limits),
      })
    handles.set(key, handle)
    return handle
  }

  async function open(confinement: Confinement, options: ExecOptions) {
    try {
      const scope = await commandScope(confinement, options, setting, facts)
      // Afterwards: a handle remembers its folders as they are, and none is made while a link is in the place of one.
      return { handle: handleFor(confinement.writes), scope }
    } catch (error) {
      throw noSandbox('process', confinement.profile, messageOf(error))
    }
  }

  return {
    async run(command, confinement, options) {
      const { handle, scope } = await open(confinement, options)
      options.signal?.throwIfAborted()
      const result = await handle.run(command, options, scope)
      return { ...result, sandbox: { profile: confinement.profile } }
    },

    async end() {
      await Promise.all([...handles.values()].map((handle) => handle.end()))
    },
  }
}

/** What one command sees and reaches. */
export async function commandScope(
  confinement: Confinement,
  { env: ownEnv, programs }: ExecOptions,
  { inheritEnv, env, home: own }: Pick<CommandSetting, 'inheritEnv' | 'env' | 'home'>,
  facts: FactFinder,
): Promise<CommandScope> {
  const { profile, hosts, home } = confinement
  const found = await facts.find({ ...confinement, programs })
  const places = home === 'empty' ? { home: found.home ?? '/tmp' } : { home: own, hasCaches: true }
  const variables = sandboxEnv({
    inheritEnv,
    added: [found.variables, ...env, ownEnv],
    path: found.path,
    profile,
    ...places,
  })
  const network = hosts === 'any' || (hosts.length > 0 && { allow: hosts })
  const writes = profile === 'workspace-write'
  return { ...closedView(found), writes, network, env: variables, apart: apartFor(confinement) }
}

/**
 * Commands share a temporary folder only if they reach the same: one could leave what another runs, such as compiled code in a
 * cache, and so use what was allowed for that one alone.
 */
function apartFor({ profile, reads, writes, hosts, home }: Confinement): string | undefined {
  const isPlain = reads.length === 0 && writes.length === 0 && hosts.length === 0 && home === 'empty'
  if (isPlain && profile === 'workspace-write') return undefined
  const sorted = (paths: readonly string[]): string[] => [...new Set(paths)].sort()
  return JSON.stringify([profile, sorted(reads), sorted(writes), hosts === 'any' ? hosts : sorted(hosts), home])
}
