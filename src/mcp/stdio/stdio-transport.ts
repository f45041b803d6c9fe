import type { Transport } from '@modelcontextprotocol/client'
import { AgentError, messageOf } from '../../core/errors.ts'
import { atMost } from '../../platform/at-most.ts'
import { createRedactor } from '../../platform/redact.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { createLineReader, LineTooLong, sendLine } from './line-reader.ts'
import { readMessage } from './read-message.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'
import { createTail } from './tail.ts'

/** A server that is a process of ours, and speaks by its standard streams: exactly one process, from `start` to `close`. */
export interface StdioTransport extends Transport {
  readonly pid: number | undefined
  /** The end of what it wrote there, fit for a terminal, without the secrets that we gave it. */
  readonly stderr: string
  /** Lines that were no messages. */
  readonly skippedLines: number
  /** How it ended, in words that follow its name: "it exited with code 3". */
  readonly ending: string | undefined
}

export interface StdioTransportOptions {
  /** Absolute; where `config.cwd` begins. Default: that of this process. */
  readonly cwd?: string
  readonly limits?: Partial<StdioLimits>
}

/** So long messages are handed over before others have a turn. */
const turnMs = 10
/** So long the process may take to end after its output did. */
const exitMs = 1000
/** So long we wait for more of what a process left behind when it ended, and so often at most: something may hold its output for ever. */
const restMs = 500
const mostRests = 10

/** Makes a transport for one server; nothing is started before `start`. */
export function createStdioTransport(config: McpServerConfig, options: StdioTransportOptions = {}): StdioTransport {
  const limits = { ...defaultLimits, ...options.limits }
  const tail = createTail(limits.stderrBytes)
  let state: 'new' | 'starting' | 'open' | 'closed' = 'new'
  let server: ServerProcess | undefined
  let over: Promise<void> | undefined
  let starting: Promise<ServerProcess> | undefined
  let ending: string | undefined
  let lines = 0
  let skippedLines = 0

  const transport: StdioTransport = {
    get pid() {
      return server?.child.pid
    },
    get stderr() {
      const text = createRedactor({ env: config.env ?? {} }).text(tail.text())
      return visibleText(text).slice(-limits.stderrBytes)
    },
    get skippedLines() {
      return skippedLines
    },
    get ending() {
      return ending
    },

    async start() {
      if (state !== 'new') throw failure('was started or closed before; make a new transport for each process')
      state = 'starting'
      try {
        starting = startServerProcess(config, { cwd: options.cwd ?? process.cwd(), graceMs: limits.termGraceMs })
        server = await starting
      } catch (error) {
        state = 'closed'
        throw error
      }
      over = follow(server)
      if (isClosed()) throw failure('was closed before it had started')
      state = 'open'
    },

    async send(message) {
      if (state !== 'open' || !server)
        throw failure(`is not connected${ending === undefined ? '' : `: ${ending}`}; connect to it again`)
      await sendLine(server.child.stdin, message, limits).catch((error: unknown) => {
        throw failure(`cannot be sent a message: ${messageOf(error)}`, error)
      })
    },

    async close() {
      state = 'closed'
      const begun = await starting?.catch(() => undefined)
      await begun?.end(limits.inputGraceMs)
      await over
    },
  }

  const isClosed = (): boolean => state === 'closed'

  function failure(problem: string, cause?: unknown): AgentError {
    return new AgentError(`The MCP server "${config.name}" ${problem}`, { cause })
  }

  /** From its start until nothing of it is left. */
  async function follow(running: ServerProcess): Promise<void> {
    const { child, exited, end } = running
    child.stderr.on('data', (bytes: Buffer) => tail.add(bytes))
    const reading = read(running).then(async () => {
      if (!(await atMost(exitMs, exited)) && state === 'open') giveUp(running, 'it closed its output')
    })
    const how = await exited
    ending ??= how
    state = 'closed'
    await end(0)
    await rest(reading)
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    tell(() => transport.onclose?.())
  }

  async function rest(reading: Promise<void>): Promise<void> {
    for (let n = 0, before = -1; n < mostRests && before !== lines; n++) {
      before = lines
      if (await atMost(restMs, reading)) return
    }
  }

  /** Resolves when there is nothing more to read. By events, not by an iterator: each call waits for every turn that this takes. */
  function read(running: ServerProcess): Promise<void> {
    const { stdout } = running.child
    const reader = createLineReader(limits.lineBytes)
    const over = Promise.withResolvers<void>()
    let isOver = false
    let isPaused = false

    function handOver(lines: Iterator<string>): void {
      const until = performance.now() + turnMs
      try {
        for (let next = lines.next(); !next.done; next = lines.next()) {
          receive(next.value)
          if (skippedLines >= limits.skippedLines) {
            giveUp(running, `it wrote ${skippedLines} lines that are no messages`)
            return
          }
          if (performance.now() >= until) {
            goOnLater(lines)
            return
          }
        }
      } catch (error) {
        const isLong = error instanceof LineTooLong
        giveUp(running, isLong ? `it sent a line longer than ${sizeOf(limits.lineBytes)}` : messageOf(error))
      }
      if (isOver) over.resolve()
    }

    /** Others have their turn; meanwhile nothing more is read. */
    function goOnLater(lines: Iterator<string>): void {
      isPaused = true
      stdout.pause()
      setImmediate(() => {
        isPaused = false
        handOver(lines)
        if (!isPaused) stdout.resume()
      })
    }

    stdout.on('data', (chunk: Buffer) => handOver(reader.take(chunk)))
    for (const end of ['end', 'close', 'error'])
      stdout.once(end, () => {
        isOver = true
        if (!isPaused) over.resolve()
      })
    return over.promise
  }

  function receive(line: string): void {
    lines++
    const read = readMessage(line)
    if ('message' in read) {
      tell(() => transport.onmessage?.(read.message))
      return
    }
    skippedLines++
    tell(() => transport.onerror?.(failure(`wrote a line that was skipped: ${read.problem}`)))
  }

  function giveUp(running: ServerProcess, reason: string): void {
    if (state === 'closed') return
    ending = reason
    state = 'closed'
    running.child.stdout.destroy()
    tell(() => transport.onerror?.(failure(`was ended: ${reason}`)))
    void running.end(0)
  }

  /** What listens must not stop us. */
  function tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      try {
        transport.onerror?.(failure(`said something that could not be handled: ${messageOf(error)}`, error))
      } catch {
        // nobody is left to hear it
      }
    }
  }

  return transport
}

/** How much of a server is borne, and for how long. */
export interface StdioLimits {
  /** Of one message, either way. Default 16 MB. */
  readonly lineBytes: number
  /** Lines that are no messages, until it is ended. Default 100. */
  readonly skippedLines: number
  /** What is kept of stderr. Default 64 KB. */
  readonly stderrBytes: number
  /** What may wait for a server that does not read. Default 32 MB. */
  readonly unreadBytes: number
  /** How long it may take to end by itself when its input ends. Default 2,000. */
  readonly inputGraceMs: number
  /** Between SIGTERM and SIGKILL. Default 2,000. */
  readonly termGraceMs: number
}

const megabyte = 1024 * 1024

export const defaultLimits: StdioLimits = {
  lineBytes: 16 * megabyte,
  skippedLines: 100,
  stderrBytes: 64 * 1024,
  unreadBytes: 32 * megabyte,
  inputGraceMs: 2000,
  termGraceMs: 2000,
}

/** A number of bytes as people say it. */
export function sizeOf(bytes: number): string {
  return bytes % megabyte === 0 ? `${bytes / megabyte} MB` : `${bytes} bytes`
}
