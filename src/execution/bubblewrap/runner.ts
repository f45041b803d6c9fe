import { closeSync, openSync, readFileSync, readlinkSync, readSync, unlinkSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { processIds, send } from '../../platform/leftover-processes.ts'
import { isAlive, thisProcess } from '../../platform/process-identity.ts'
import { runCommand, type StartedCommand } from '../commands/run-command.ts'
import { bubblewrapArgs, copiedPaths, heldPaths, type Mount, type SandboxLayout } from './args.ts'
import { type Bubblewrap, setupProblem } from './check.ts'
import { type HeldMounts, holdMounts, notInPlace } from './held-mounts.ts'
import type { PrivateFolder } from './private-folder.ts'
import { isInside } from './protected-paths.ts'
import { acceptFrom, fds, openGate, outerCommand, type Report, readReport, socketAt } from './script.ts'

export interface SandboxedProgram {
  readonly bubblewrap: Bubblewrap
  readonly folder: PrivateFolder
  readonly layout: Omit<SandboxLayout, 'fds' | 'knowsSize' | 'temporary' | 'nothing'>
  /** The file by which it enters its cgroup. */
  readonly entrance: string | undefined
  readonly program: readonly string[]
  /** The part written by the model, to be checked first. */
  readonly command?: string
  /** Also in the environment of the layout. */
  readonly mark: string
  /** Called with each connection to the proxy. */
  readonly onConnection?: ((socket: Socket) => void) | undefined
  /** When it is aborted, everything inside is killed at once. */
  readonly kill: AbortSignal
  /** Asked when all mounts are made: whether each of them is of what it was meant for. Else the program does not begin. */
  readonly isCovered: () => Promise<boolean>
  readonly options: Omit<ExecOptions, 'cwd' | 'env'>
}

/** Builds a sandbox, runs a program in it to its end, and removes it with all its processes. */
export async function runSandboxed(what: SandboxedProgram): Promise<{ result: ExecResult; report: Report }> {
  const layout = withoutMadeLinks(what.layout, what.folder.temporary)
  const held = holdMounts(heldPaths(layout))
  try {
    return await runHeld({ ...what, layout }, held)
  } finally {
    held.end()
  }
}

async function runHeld(what: SandboxedProgram, held: HeldMounts): Promise<{ result: ExecResult; report: Report }> {
  const { bubblewrap, folder, layout, mark, onConnection, kill, isCovered, options } = what
  const { temporary, nothing } = folder
  const args = bubblewrapArgs({ ...layout, temporary, nothing, fds, knowsSize: bubblewrap.knowsSize })
  const [status, report] = [openNew(folder.file('status')), openNew(folder.file('report'))]
  const further: number[] = [
    openText(folder.file('args'), args.join('\0')),
    openSync(folder.seccomp, 'r'),
    status,
    report,
  ]
  const copies = openAll(copiedPaths(layout))
  const outer = outerCommand(bubblewrap.path, what.entrance, what.program)
  const stderr = tailOf(options.onOutput)
  const over = new AbortController()
  let closePort = (): void => {}
  let started: StartedCommand | undefined
  let left: ReturnType<typeof textFrom> | undefined
  let killed: number | undefined
  let problem: Error | undefined
  const killAll = (): void => {
    killed ??= firstInside(textOf(status), started?.pid)
    if (killed !== undefined) send(killed, 'SIGKILL') // the system then kills all others inside
    if (started) send(-started.pid, 'SIGKILL')
  }
  const isInPlace = (): boolean => {
    problem = notInPlace(held, firstInside(textOf(status), started?.pid))
    if (problem) killAll()
    return !problem
  }
  try {
    const result = await runCommand({
      ...options,
      ...(stderr && { onOutput: stderr.onOutput }),
      command: what.command ?? '',
      shell: () => outer,
      cwd: '/',
      env: {},
      mark,
      further: [...further, 'pipe', onConnection ? 'ipc' : 'ignore', 'pipe', ...copies],
      // The process group is bubblewrap alone: processes inside would be killed with it, without time to clean up.
      askToEnd: () => void askToEnd(status, started?.pid, over.signal),
      onStart(child: StartedCommand) {
        started = child
        left = textFrom(socketAt(child, fds.left))
        kill.addEventListener('abort', killAll)
        if (kill.aborted) killAll()
        openGate(child, async () => (await isCovered()) && isInPlace())
        if (onConnection) closePort = acceptFrom(child, onConnection)
      },
    })
    if (killed !== undefined) await gone(killed)
    if (problem) throw problem
    const told = readReport(textOf(status), textOf(report), (await left?.text()) ?? '')
    if (!told.isBuilt && result.exitCode !== null) throw setupProblem(stderr?.text() ?? result.stderr)
    return { result, report: told }
  } finally {
    over.abort()
    kill.removeEventListener('abort', killAll)
    closePort()
    left?.socket.destroy()
    for (const fd of [...further, ...copies]) closeSync(fd)
  }
}

/** The temporary folder outlives a command, and so do links in it that lead to a workspace: some bubblewraps fail over those. */
function withoutMadeLinks({ base, ...layout }: SandboxedProgram['layout'], temporary: string) {
  const isMade = ({ path, how, from }: Mount): boolean => {
    const at = how === 'link' && layout.temporaryAt.find((folder) => isInside(folder, path))
    return at ? targetOf(join(temporary, relative(at, path))) === from : false
  }
  return { ...layout, ...(base && { base: base.filter((mount) => !isMade(mount)) }) }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined // missing, or no link
  }
}

/** The caller kills the sandbox earlier. */
const longestGraceMs = 10_000
const betweenMs = 20

/** Repeatedly: on a busy machine the command may begin after it was asked to end. */
export async function askToEnd(status: number, bubblewrap: number | undefined, over: AbortSignal): Promise<void> {
  const asked = new Set<number>()
  for (const started = performance.now(); performance.now() - started < longestGraceMs && !over.aborted; ) {
    for (const pid of processesInside(textOf(status), bubblewrap)) {
      if (!asked.has(pid)) send(pid, 'SIGTERM')
      asked.add(pid)
    }
    await sleep(betweenMs)
  }
}

const mostWaits = 250

/** The first process inside ends after all others inside. */
async function gone(pid: number): Promise<void> {
  const identity = { ...thisProcess(), pid, started: '' }
  for (let n = 0; n < mostWaits && isAlive(identity); n++) await sleep(betweenMs)
}

export function firstInside(status: string, bubblewrap: number | undefined): number | undefined {
  const [, child] = /"child-pid": (\d+)/.exec(status) ?? []
  // Its pid may belong to another process by now.
  return child && bubblewrap !== undefined && parentOf(Number(child)) === bubblewrap ? Number(child) : undefined
}

/** Parents first: otherwise a script would continue with its next command. */
function processesInside(status: string, bubblewrap: number | undefined): number[] {
  const first = firstInside(status, bubblewrap)
  const inside = first !== undefined && namespaceOf(first)
  if (!inside || inside === namespaceOf(process.pid)) return []
  return [...(processIds() ?? [])].filter((pid) => namespaceOf(pid) === inside).sort((a, b) => a - b)
}

function parentOf(pid: number): number | undefined {
  try {
    const [, parent] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return parent === undefined ? undefined : Number(parent)
  } catch {
    return undefined // gone
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined // ended, or of another user
  }
}

/** A file that exists only as an open descriptor. */
export function openNew(path: string): number {
  const fd = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return fd
}

/** Such a file with a text in it, for reading. */
export function openText(path: string, text: string): number {
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  const fd = openSync(path, 'r')
  unlinkSync(path)
  return fd
}

/** Opens all files, or none. */
export function openAll(paths: readonly string[]): number[] {
  const open: number[] = []
  try {
    for (const path of paths) open.push(openSync(path, 'r'))
    return open
  } catch (error) {
    for (const fd of open) closeSync(fd)
    throw error
  }
}

const mostReport = 64 * 1024

/**
 * The text that comes from a socket until it is closed, bounded, because commands can write to descriptors of their shell. If
 * what is left went to a file, a command could fill the disk of this machine by it.
 */
export function textFrom(socket: Socket): { readonly socket: Socket; text(): Promise<string> } {
  let text = ''
  socket.on('error', () => {}) // it may end at any time
  socket.on('data', (chunk) => {
    if (text.length < mostReport) text += chunk
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return {
    socket,
    async text() {
      await Promise.race([closed, sleep(longestWaitMs, undefined, { ref: false })])
      return text.slice(0, mostReport)
    },
  }
}

/** It closes with the last process of the sandbox, and none is left when the first has ended. */
const longestWaitMs = 1000

/** The beginning of an open file. */
export function textOf(fd: number): string {
  const bytes = Buffer.alloc(mostReport)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, mostReport, 0))
}

const mostKept = 2000

/** Keeps the end of stderr while passing the output on. */
export function tailOf(onOutput: ExecOptions['onOutput']) {
  if (!onOutput) return undefined
  let kept = ''
  return {
    onOutput(text: string, from: 'stdout' | 'stderr'): void {
      if (from === 'stderr') kept = (kept + text).slice(-mostKept)
      onOutput(text, from)
    },
    text: () => kept,
  }
}
