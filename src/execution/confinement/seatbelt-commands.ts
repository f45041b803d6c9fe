import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { type Confinement, type ExecOptions, type ExecResult, noSandbox } from '../../core/execution.ts'
import { createEgressProxy } from '../bubblewrap/egress-proxy.ts'
import { gitFolders } from '../bubblewrap/git.ts'
import { createPrivateFolder, type PrivateFolder } from '../bubblewrap/private-folder.ts'
import { protectionOf } from '../bubblewrap/protected-paths.ts'
import { proxyEnv } from '../bubblewrap/script.ts'
import { commandShell } from '../commands/command-shell.ts'
import { runCommand } from '../commands/run-command.ts'
import { realPathOf } from '../files/confined-path.ts'
import { sandboxEnv } from './environment.ts'
import { createFactFinder, type FactFinder } from './facts.ts'
import type { CommandSetting } from './read-only.ts'
import { seatbeltProfile } from './seatbelt.ts'
import { tryToEscape } from './try-to-escape.ts'

/** Commands in sandboxes of macOS, each with a profile made for it. */
export interface SeatbeltCommands {
  run(command: string, confinement: Confinement, options: ExecOptions): Promise<ExecResult>
  /** Removes all files; the commands must have ended. */
  end(): Promise<void>
}

/** Part of macOS; by its path, because a project could plant another one. */
const systemProgram = '/usr/bin/sandbox-exec'

export function createSeatbeltCommands(
  setting: CommandSetting,
  facts: FactFinder = createFactFinder(setting),
  program: string = systemProgram,
): SeatbeltCommands {
  const shell = commandShell(setting.limits)
  let folder: PrivateFolder | undefined

  async function profileFor(
    confinement: Confinement,
    temporary: string,
    proxyPort: number | undefined,
    given: ExecOptions,
  ) {
    const found = await facts.find({ ...confinement, programs: given.programs })
    const writable = facts.writable()
    const nested = [
      ...(await Promise.all(writable.map((root) => gitFolders(root).find()))).flat(),
      ...found.repositories,
    ]
    const kept = writable.flatMap((root) => {
      const { existing, missing, watched, links } = protectionOf(root, {
        free: [...writable, ...confinement.writes],
        nested,
      })
      return [...existing, ...missing, ...watched, ...links]
    })
    const port = proxyPort === undefined ? {} : { proxyPort }
    return { ...found, text: seatbeltProfile(confinement, { ...found, temporary, writable, kept, ...port }) }
  }

  return {
    async run(command, confinement, given) {
      folder ??= createPrivateFolder(new Uint8Array())
      const own = folder.file('command')
      const [temporary, file] = [join(own, 'tmp'), join(own, 'profile.sb')]
      mkdirSync(join(temporary, 'home'), { recursive: true })
      const proxy = await proxyFor(confinement.hosts)
      try {
        const real = realPathOf(temporary)
        const profile = await profileFor(confinement, real, proxy?.port, given).catch((error) => {
          throw noSandbox('process', confinement.profile, messageOf(error))
        })
        writeFileSync(file, profile.text, { mode: 0o600 })
        const mark = crypto.randomUUID()
        const cwd = resolve(setting.cwd, given.cwd ?? '')
        const env = sandboxEnv({
          ...{ inheritEnv: setting.inheritEnv, path: profile.path, profile: confinement.profile, temporary: real },
          ...(confinement.home === 'empty' ? { home: join(real, 'home') } : { home: setting.home, hasCaches: true }),
          added: [profile.variables, ...setting.env, given.env],
        })
        const started = { ...env, PWD: cwd, ...proxy?.env, LIBERO_COMMAND: mark }
        const inside = shell(command)
        const result = await runCommand({
          ...given,
          ...{ command, cwd, mark, env: started },
          shell: () => ({ file: program, args: ['-f', file, inside.file, ...inside.args] }),
        })
        return { ...result, sandbox: { profile: confinement.profile } }
      } finally {
        proxy?.close()
      }
    },

    async end() {
      await folder?.remove()
      folder = undefined
    },
  }
}

interface LocalProxy {
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  close(): void
}

/** A sandbox of macOS has no network of its own, so the proxy is a port of this machine, which connects to these hosts alone. */
async function proxyFor(hosts: Confinement['hosts']): Promise<LocalProxy | undefined> {
  if (hosts === 'any' || hosts.length === 0) return undefined
  const proxy = createEgressProxy({ allow: hosts })
  const server: Server = createServer((socket) => proxy.serve(socket))
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', listening)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = (): void => {
    server.close()
    proxy.close()
  }
  return { port, env: proxyEnv(hosts, port), close }
}

const outcomes = new Map<string, Promise<string | undefined>>()
const timeout = 20_000

/**
 * Tries it once for each process: returns why there is no sandbox, in words for a person; `undefined` if it holds. Rejects if it
 * could not be tried; the next call tries it again.
 */
export function probeSeatbelt(program: string = systemProgram): Promise<string | undefined> {
  const known = outcomes.get(program)
  if (known) return known
  const outcome = probe(program).catch((error) => {
    // As in a sandbox of another program.
    if (!/sandbox_(apply|init)/.test(messageOf(error))) throw error
    return `it could not be tried: ${messageOf(error)}`
  })
  outcomes.set(program, outcome)
  outcome.catch(() => outcomes.delete(program))
  return outcome
}

async function probe(program: string): Promise<string | undefined> {
  if (!existsSync(program)) return `there is no ${program}, which is part of macOS`
  const escaped = await tryToEscape(async (command, setting) => {
    const commands = createSeatbeltCommands(setting, undefined, program)
    const confinement = { profile: 'read-only', reads: [], writes: [], hidden: [], hosts: [], home: 'empty' } as const
    return commands.run(command, confinement, { timeout }).finally(() => commands.end())
  })
  return escaped && `${escaped}, so ${program} does not confine commands on this version of macOS`
}
