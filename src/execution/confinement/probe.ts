import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import type { SandboxProfile } from '../../core/execution.ts'
import type { Bubblewrap } from '../bubblewrap/check.ts'
import { createPrivateFolder } from '../bubblewrap/private-folder.ts'
import { seccompFilter } from '../bubblewrap/seccomp.ts'
import { realPathOf } from '../files/confined-path.ts'
import { createFactFinder } from './facts.ts'
import { readOnlyLayout } from './read-only.ts'
import { startSandboxShell } from './sandbox-shell.ts'
import { tryToEscape } from './try-to-escape.ts'

/** By the program: what it can do does not change while this process runs, unless it is replaced. */
const outcomes = new Map<string, Promise<string | undefined>>()

/** Tries a sandbox once for each process: returns why it does not hold, in words for a person; `undefined` if it does. */
export function probeSandbox(
  bubblewrap: Bubblewrap,
  profile: SandboxProfile = 'read-only',
): Promise<string | undefined> {
  const key = [bubblewrap.path, bubblewrap.stamp, profile].join('\0')
  const attempt = profile === 'read-only' ? probe : probeWriting
  const outcome = outcomes.get(key) ?? attempt(bubblewrap).catch((error) => whyNotBuilt(messageOf(error)))
  outcomes.set(key, outcome)
  return outcome
}

/** Another sandbox is built for what writes, from other mounts. */
async function probeWriting(bubblewrap: Bubblewrap): Promise<string | undefined> {
  const { createScopedCommands } = await import('./scoped-commands.ts')
  const escaped = await tryToEscape(async (command, setting) => {
    const commands = createScopedCommands(bubblewrap, setting, createFactFinder(setting))
    const confinement = {
      profile: 'workspace-write',
      reads: [],
      writes: [],
      hidden: [],
      hosts: [],
      home: 'empty',
    } as const
    return commands.run(command, confinement, { timeout }).finally(() => commands.end())
  }, 'workspace-write')
  return escaped && `${escaped}. So ${bubblewrap.path} does not confine commands that write; install bubblewrap anew`
}

/** A command tries to read from a home folder, to write into its workspace and to connect to this machine. */
async function probe(bubblewrap: Bubblewrap): Promise<string | undefined> {
  const untrusted = [realPathOf(bubblewrap.path), dirname(realPathOf(bubblewrap.path))].find(isWritableByOthers)
  if (untrusted)
    return `${untrusted} can be changed by every user, so the program may not be bubblewrap; remove that right`
  const folder = createPrivateFolder(seccompFilter()!)
  try {
    const escaped = await tryToEscape(async (command, setting) => {
      const layout = await readOnlyLayout({ reads: [], hidden: [] }, setting, createFactFinder(setting))
      const shell = await startSandboxShell({ bubblewrap, folder, layout, limits: {}, entrance: undefined })
      const { result, report } = await shell.run(command, { cwd: setting.cwd, timeout })
      if (report.problem !== '') throw new Error(`it could not be made ready: ${report.problem}`)
      return result
    })
    return escaped && `${escaped}. So ${bubblewrap.path} does not confine commands; install bubblewrap anew`
  } finally {
    await folder.remove()
  }
}

const timeout = 20_000

function isWritableByOthers(path: string): boolean {
  return (statSync(path).mode & 0o002) !== 0
}

/** Why this system builds no sandbox, from its settings. */
function whyNotBuilt(reason: string): string {
  const isRoot = process.getuid?.() === 0
  if (setting('user/max_user_namespaces') === '0')
    return 'user namespaces are off: `sysctl user.max_user_namespaces=15000` permits them'
  if (!isRoot && setting('kernel/apparmor_restrict_unprivileged_userns') === '1')
    return 'AppArmor forbids user namespaces, as on Ubuntu 24.04: give bwrap a profile (`apt-get install apparmor-profiles`, then link bwrap-userns-restrict into /etc/apparmor.d), or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`'
  if (!isRoot && setting('kernel/unprivileged_userns_clone') === '0')
    return 'user namespaces are off for ordinary users: `sysctl kernel.unprivileged_userns_clone=1` permits them'
  if (['/.dockerenv', '/run/.containerenv'].some((path) => existsSync(path)))
    return `this container may not build sandboxes (${reason}); start it with \`--security-opt seccomp=unconfined --security-opt apparmor=unconfined\``
  return reason
}

function setting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim()
  } catch {
    return undefined // not every kernel has it
  }
}
