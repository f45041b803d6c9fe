import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import type { ExecOptions, ExecResult, ExecutionHandle } from '../core/execution.ts'

/** A command in a terminal of the client. */
export interface ClientTerminal {
  readonly id: string
  currentOutput(): Promise<{ readonly output: string; readonly truncated: boolean }>
  waitForExit(): Promise<{ readonly exitCode?: number | null; readonly signal?: string | null }>
  kill(): Promise<unknown>
  release(): Promise<unknown>
}

export interface NewTerminal {
  readonly command: string
  readonly args: string[]
  readonly cwd: string
  readonly env: { readonly name: string; readonly value: string }[]
  readonly outputByteLimit: number
}

export type CreateTerminal = (terminal: NewTerminal) => Promise<ClientTerminal>

interface TerminalOptions {
  readonly create: CreateTerminal
  /** Told before the command ends, so that a screen can show the terminal. */
  readonly onStart?: (callId: string, terminalId: string) => void
  /** How often new output is asked for, in milliseconds. Default 500. */
  readonly pollMs?: number
  /** How long the end of a killed command is waited for, in milliseconds. Default 5000. */
  readonly killGraceMs?: number
}

/** The end of longer output is kept. */
const mostOutput = 1024 * 1024

/**
 * Runs a command in a terminal of the client until it ends, is stopped or takes too long. stdout and stderr come together, and
 * processes that it leaves behind are the client's.
 */
export async function runInTerminal(
  handle: ExecutionHandle,
  command: string,
  { cwd = '.', env = {}, timeout = 0, signal, onOutput, call }: ExecOptions,
  { create, onStart, pollMs = 500, killGraceMs = 5000 }: TerminalOptions,
): Promise<ExecResult> {
  signal?.throwIfAborted()
  const terminal = await create({
    command: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
    args: ['-c', command],
    cwd: posix.resolve(handle.cwd, cwd),
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    outputByteLimit: mostOutput,
  })
  if (call) onStart?.(call.callId, terminal.id)
  const output = new TerminalOutput(terminal, onOutput)
  const stop = { timedOut: false }
  const lost = Promise.withResolvers<undefined>()
  let isLost = false
  let grace: ReturnType<typeof setTimeout> | undefined
  const kill = (): void => {
    terminal.kill().catch(() => {})
    grace ??= setTimeout(() => {
      isLost = true
      lost.resolve(undefined)
    }, killGraceMs)
  }
  const timer = timeout > 0 && timeout <= longestTimer ? setTimeout(() => tooLong(), timeout) : undefined
  const tooLong = (): void => {
    stop.timedOut = true
    kill()
  }
  const poll = setInterval(() => void output.read().catch(() => {}), pollMs)
  signal?.addEventListener('abort', kill, { once: true })
  if (signal?.aborted) kill()
  try {
    const ended = await Promise.race([terminal.waitForExit(), lost.promise])
    if (ended) await Promise.race([output.read(), lost.promise])
    const { exitCode, signal: killedBy } = ended ?? {}
    signal?.throwIfAborted()
    return {
      stdout: onOutput ? '' : output.text,
      stderr: '',
      exitCode: stop.timedOut ? null : (exitCode ?? null),
      ...(killedBy && { signal: killedBy }),
      ...(stop.timedOut && { timedOut: true }),
    }
  } finally {
    clearTimeout(timer)
    clearTimeout(grace)
    clearInterval(poll)
    signal?.removeEventListener('abort', kill)
    const released = terminal.release().catch(() => {})
    if (!isLost) await released // a client that does not even end a command may not answer this either
  }
}

/** Timers of Node cannot be longer. */
const longestTimer = 2 ** 31 - 1

/** The output of a terminal, of which the client gives the whole end each time. */
class TerminalOutput {
  readonly #terminal: ClientTerminal
  readonly #onOutput: ExecOptions['onOutput']
  #reading: Promise<void> | undefined
  text = ''

  constructor(terminal: ClientTerminal, onOutput: ExecOptions['onOutput']) {
    this.#terminal = terminal
    this.#onOutput = onOutput
  }

  /** Takes what is new. One request at a time: answers must not overtake each other. */
  async read(): Promise<void> {
    const before = this.#reading
    const own = (async () => {
      await before?.catch(() => {})
      const { output } = await this.#terminal.currentOutput()
      const added = newPart(this.text, output)
      this.text = output
      if (added !== '') this.#onOutput?.(added, 'stdout')
    })()
    this.#reading = own
    await own
  }
}

/** What `now` has beyond `before`, whose beginning the client may have dropped meanwhile. */
function newPart(before: string, now: string): string {
  if (now.startsWith(before)) return now.slice(before.length)
  const end = before.slice(-overlap)
  const at = now.lastIndexOf(end)
  return at < 0 ? now : now.slice(at + end.length)
}

const overlap = 4096
