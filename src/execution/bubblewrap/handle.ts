import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { childEnv } from '../commands/child-env.ts'
import { type CommandLimits, commandShell } from '../commands/command-shell.ts'
import { fileError } from '../files/confined-path.ts'
import type { Bubblewrap } from './check.ts'
import { runCovered } from './covered.ts'
import { createEgressProxy, type EgressProxy, type EgressProxyOptions } from './egress-proxy.ts'
import { type Disarming, disarmings, noteOn } from './new-repositories.ts'
import { type ClosedView, type KnownRepositories, type SandboxPolicyOptions, sandboxPolicy } from './policy.ts'
import { createPrivateFolder } from './private-folder.ts'
import { createProcessCgroup } from './process-cgroup.ts'
import type { Repair } from './repairs.ts'
import type { Restoration } from './restore.ts'
import type { SandboxedProgram } from './runner.ts'
import { awaitGate, innerCommand, proxyEnv, stderr } from './script.ts'
import { seccompFilter } from './seccomp.ts'

type Variables = Readonly<Record<string, string>>

interface SandboxHandleOptions extends SandboxPolicyOptions {
  readonly bubblewrap: Bubblewrap
  readonly cwd: string
  readonly network: boolean | EgressProxyOptions
  readonly env: readonly (Variables | undefined)[]
  readonly inheritEnv: readonly string[]
  readonly limits: CommandLimits
}

/** How one command differs from the others of its handle. */
export interface CommandScope extends ClosedView {
  /** Commands with the same one share a temporary folder; those without one share that of the handle's files. */
  readonly apart?: string | undefined
  readonly writes: boolean
  readonly network: boolean | EgressProxyOptions
  /** The whole environment. */
  readonly env: Variables
}

/** The sandbox of one handle, shared by its commands and file operations. */
export interface SandboxHandle {
  run(command: string, options: ExecOptions, scope?: CommandScope): Promise<ExecResult>
  /** Runs an internal script, without network and limits. It can write only with `writes`. */
  script(script: string, how: { writes: boolean; input?: string | Uint8Array | undefined }): Promise<ExecResult>
  /** Whether a path in a root is protected from being written. */
  isProtected(path: string): boolean
  /** Ends all running programs and removes all files of the sandbox. */
  end(): Promise<void>
}

const scriptMs = 120_000

export function createSandboxHandle(options: SandboxHandleOptions): SandboxHandle {
  const { bubblewrap, placeholders } = options
  const policy = sandboxPolicy(options)
  const isRoot = process.getuid?.() === 0
  const { processes, ...limits } = options.limits
  // `ulimit -u` does not apply to root.
  const shell = commandShell(isRoot ? limits : options.limits)
  const group = isRoot && processes !== undefined ? createProcessCgroup(processes) : undefined
  const folder = createPrivateFolder(seccompFilter()!)
  const proxies = new Map<string, EgressProxy>()
  const running = new Map<AbortController, Promise<unknown>>()

  type Program = Omit<SandboxedProgram, 'bubblewrap' | 'folder' | 'layout' | 'mark' | 'kill' | 'isCovered'>
  interface SandboxAccess {
    readonly writes: boolean
    readonly bare?: boolean
    readonly hostNetwork?: boolean
    readonly env: Variables
    readonly view?: ClosedView | undefined
    readonly apart?: string | undefined
    readonly known?: KnownRepositories | undefined
  }

  /** One for the same hosts, so that what was sent is counted over all commands. */
  function proxyFor(network: boolean | EgressProxyOptions): EgressProxy | undefined {
    if (typeof network === 'boolean') return undefined
    const key = JSON.stringify([network.allow, network.deny])
    const proxy = proxies.get(key) ?? createEgressProxy(network)
    proxies.set(key, proxy)
    return proxy
  }

  /** Runs a program in a sandbox built for the present state of the files. */
  async function inSandbox(program: Program, access: SandboxAccess) {
    const { writes, bare = false, hostNetwork = false, env, view, apart, known } = access
    const files = await policy.files({ writes, bare, view, known })
    program.options.signal?.throwIfAborted()
    const held = await placeholders.hold(files.protection?.missing ?? [])
    const protection = files.protection && { ...files.protection, missing: held.paths }
    const mark = crypto.randomUUID()
    const marked = { ...env, LIBERO_COMMAND: mark }
    const layout = { ...files, ...(protection && { protection }), hostNetwork, env: marked }
    try {
      const own = apart === undefined ? folder : { ...folder, temporary: folder.temporaryFor(apart) }
      return await runCovered({ ...program, bubblewrap, folder: own, layout, mark })
    } finally {
      held.release()
    }
  }

  async function command(
    text: string,
    given: ExecOptions,
    signal: AbortSignal,
    scope?: CommandScope,
  ): Promise<ExecResult> {
    const { cwd: _, env: ownEnv, ...rest } = given
    const { network, writes } = scope ?? { network: options.network, writes: true }
    const cwd = resolve(options.cwd, given.cwd ?? '')
    const forced = typeof network === 'object' ? proxyEnv(network.allow) : {}
    const env = scope
      ? { ...scope.env, PWD: cwd, ...forced }
      : environment(options, [{ PWD: cwd }, ...options.env, ownEnv, forced])
    const { file, args } = shell(text)
    const notes: string[] = []
    const proxy = proxyFor(network)
    const program = {
      entrance: group?.entrance,
      program: innerCommand(cwd, [file, ...args], proxy !== undefined),
      command: text,
      ...(proxy && { onConnection: (socket: Socket) => proxy.serve(socket, (reason) => notes.push(reason)) }),
      options: { ...rest, signal },
    }
    const known = writes ? await policy.begin(scope) : undefined
    const { result, report, ...covered } = await inSandbox(program, {
      writes,
      hostNetwork: network === true,
      env,
      view: scope,
      apart: scope?.apart,
      known,
    }).finally(async () => {
      if (known) notes.push(...(await repair(scope)), ...(await disarm(known, scope).catch(notSearched)))
    })
    notes.push(...covered.notes, ...(await restore(covered.restorations, scope)))
    if (report.hadNoFolder) throw noFolder(cwd)
    if (report.problem !== '')
      throw new Error(`The command was not started, the sandbox could not be made ready: ${report.problem}`)
    // From outside only bubblewrap itself is visible, while it ends.
    const { leftRunning: _outside, ...ended } = result
    const { leftRunning } = report
    return withNotes({ ...ended, ...(leftRunning.length > 0 && { leftRunning }) }, notes, given)
  }

  /** Undoes changes to protected files that could not be prevented. */
  async function repair(view: ClosedView | undefined): Promise<readonly string[]> {
    const needed = policy.repair()
    return needed ? undo(needed, view) : []
  }

  async function restore(each: readonly Restoration[], view: ClosedView | undefined): Promise<string[]> {
    const notes: string[] = []
    for (const { note, ...needed } of each) notes.push(...(await undo({ ...needed, notes: [note] }, view)))
    return notes
  }

  /** Takes programs out of repositories that a command made: `git status` in a folder above would run them too. */
  async function disarm(known: KnownRepositories, view: ClosedView | undefined): Promise<string[]> {
    const { made, notes } = await policy.newRepositories(known)
    if (made.length === 0) return [...notes]
    const each = disarmings(made)
    for (const script of scriptsOf(each)) {
      const access = { writes: true, bare: true, env: environment(options, []), view }
      await inSandbox(ownProgram(script), access).catch(() => {}) // what is left is told
    }
    const left = new Set((await policy.newRepositories(known)).made.map(({ path }) => path))
    return [...each.map((one) => noteOn(one, { isDone: !left.has(one.repository.path) })), ...notes]
  }

  async function undo(
    { script, input, notes }: Repair & Pick<Restoration, 'input'>,
    view: ClosedView | undefined,
  ): Promise<readonly string[]> {
    const program = ownProgram(script, input && { input })
    const { result } = await inSandbox(program, { writes: true, bare: true, env: environment(options, []), view })
    if (result.exitCode === 0 && result.stderr === '') return notes
    const reason = result.stderr.trim() || `exit code ${result.exitCode}`
    return [`protected files were changed and could not be restored; restore them by hand: ${reason}`]
  }

  async function tracked<T>(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController()
    const follow = (): void => stop.abort(outer?.reason)
    if (outer?.aborted) follow()
    outer?.addEventListener('abort', follow)
    const done = work(stop.signal)
    running.set(stop, done)
    try {
      return await done
    } finally {
      running.delete(stop)
      outer?.removeEventListener('abort', follow)
    }
  }

  return {
    run: (text, given, scope) => tracked(given.signal, (signal) => command(text, given, signal, scope)),

    script: (text, { writes, input }) =>
      tracked(undefined, async (signal) => {
        const program = ownProgram(text, { signal, ...(input !== undefined && { input }) })
        const { result, notes } = await inSandbox(program, { writes, env: environment(options, []) })
        if (notes.length > 0) throw new Error(notes.join('\n'))
        return result
      }),

    isProtected: policy.isProtected,

    async end() {
      for (const stop of running.keys()) stop.abort(new Error('The execution handle was destroyed'))
      await Promise.allSettled(running.values())
      for (const proxy of proxies.values()) proxy.close()
      await Promise.all([folder.remove(), group?.remove(), placeholders.removeUnneeded()])
    },
  }
}

const notSearched = (error: unknown): string[] => [
  `new repositories could not be searched: ${messageOf(error)}. Look for them before git is used here`,
]

/** Few, and none longer than an argument of a program may be. */
function scriptsOf(each: readonly Disarming[]): string[] {
  const scripts: string[] = []
  for (const { script } of each) {
    const last = scripts.at(-1)
    if (last !== undefined && last.length + script.length < longestScript) scripts.push(`${scripts.pop()}\n${script}`)
    else scripts.push(script)
  }
  return scripts
}

const longestScript = 60_000

function ownProgram(script: string, options: Pick<ExecOptions, 'signal' | 'input'> = {}) {
  const program = ['/bin/sh', '-c', `${awaitGate}; exec ${stderr}>&-\n${script}`]
  return { entrance: undefined, program, options: { ...options, timeout: scriptMs } }
}

/** Caches go to the temporary folder, because the home folder cannot be written. */
const cacheFolders = { TMPDIR: '/tmp', XDG_CACHE_HOME: '/tmp/.cache', npm_config_cache: '/tmp/.npm' }

function environment({ inheritEnv }: SandboxHandleOptions, added: readonly (Variables | undefined)[]): Variables {
  return childEnv({ host: process.env, inherit: inheritEnv, added: [cacheFolders, ...added] })
}

function noFolder(cwd: string): Error {
  return fileError('ENOENT', `The working folder ${cwd} does not exist (any more); create it, or use another one`, cwd)
}

const mostNotes = 10

/** Adds the notes of the sandbox after the output of the command. */
function withNotes(result: ExecResult, notes: readonly string[], { onOutput }: ExecOptions): ExecResult {
  if (notes.length === 0) return result
  const shown = [...new Set(notes)].slice(0, mostNotes)
  const text = shown.map((note) => `[sandbox] ${note}\n`).join('')
  if (!onOutput) return { ...result, stderr: `${result.stderr}${/(^|\n)$/.test(result.stderr) ? '' : '\n'}${text}` }
  try {
    onOutput(text, 'stderr')
  } catch {
    // a failing listener does not affect the command
  }
  return result
}
