import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import type { ExecResult, SandboxProfile } from '../../core/execution.ts'
import { type Bubblewrap, NoSandboxHere } from '../bubblewrap/check.ts'
import { createPrivateFolder } from '../bubblewrap/private-folder.ts'
import { seccompFilter } from '../bubblewrap/seccomp.ts'
import { realPathOf } from '../files/confined-path.ts'
import { createFactFinder } from './facts.ts'
import { readOnlyLayout } from './read-only.ts'
import { sharesProcesses, startSandboxShell } from './sandbox-shell.ts'
import { tryToEscape } from './try-to-escape.ts'

/** By the program: what it can do does not change while this process runs, unless it is replaced. */
const outcomes = new Map<string, Promise<string | undefined>>()

/**
 * Tries a sandbox once for each process: returns why there is none, in words for a person; `undefined` if it holds. Rejects if it
 * could not be tried, which says nothing about the sandbox: the next call tries it again.
 */
export function probeSandbox(
  bubblewrap: Bubblewrap,
  profile: SandboxProfile = 'read-only',
): Promise<string | undefined> {
  const key = [bubblewrap.path, bubblewrap.stamp, profile].join('\0')
  const known = outcomes.get(key)
  if (known) return known
  const attempt = profile === 'read-only' ? probe : probeWriting
  const outcome = attempt(bubblewrap).catch((error) => {
    if (!isLasting(error)) throw error
    return whyNotBuilt(messageOf(error))
  })
  outcomes.set(key, outcome)
  outcome.catch(() => outcomes.delete(key))
  return outcome
}

/** Whether an error says that this machine has no sandbox. One of an unknown kind does not: a sandbox that was not tried is not none. */
function isLasting(error: unknown): boolean {
  return error instanceof NoSandboxHere || setting('user/max_user_namespaces') === '0'
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
    try {
      return await inTime((timeout) => commands.run(command, confinement, { timeout }))
    } finally {
      await commands.end()
    }
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
    const escaped = await tryToEscape((command, setting) =>
      inTime(async (timeout) => {
        const layout = await readOnlyLayout({ reads: [], hidden: [] }, setting, createFactFinder(setting))
        const shell = await startSandboxShell({ bubblewrap, folder, layout, limits: {}, entrance: undefined })
        const { result, report } = await shell.run(command, { cwd: setting.cwd, timeout })
        if (report.problem.includes(sharesProcesses)) throw new NoSandboxHere(notReady(report.problem))
        if (report.problem !== '') throw new Error(notReady(report.problem))
        return result
      }),
    )
    return escaped && `${escaped}. So ${bubblewrap.path} does not confine commands; install bubblewrap anew`
  } finally {
    await folder.remove()
  }
}

const notReady = (problem: string): string => `it could not be made ready: ${problem}`

/** A machine that is busy may need the second one. */
const timeouts = [20_000, 60_000] as const

/** A command that did not end in time is tried once more; if it does not end then either, that says nothing about the sandbox. */
export async function inTime(run: (timeout: number) => Promise<ExecResult>): Promise<ExecResult> {
  const first = await run(timeouts[0])
  const last = first.timedOut ? await run(timeouts[1]) : first
  if (last.timedOut)
    throw new Error(`a command in it did not end within ${timeouts[1] / 1000} s; the machine may be busy`)
  return last
}

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
