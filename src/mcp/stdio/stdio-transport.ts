import type { Transport } from '@modelcontextprotocol/client'
import { AgentError, messageOf } from '../../core/errors.ts'
import { atMost } from '../../platform/at-most.ts'
import { createRedactor, longestSecret } from '../../platform/redact.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { secretsOf } from '../error-text.ts'
import { createLineReader, LineTooLong, sendLine } from './line-reader.ts'
import { readMessage } from './read-message.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/** A transport over the standard streams of a server process: exactly one process, from `start` to `close`. */
export interface StdioTransport extends Transport {
  readonly pid: number | undefined
  /** The end of its stderr, safe for a terminal and without its configured secrets. */
  readonly stderr: string
  /** How many lines were no messages. */
  readonly skippedLines: number
  /** How it ended, such as "it exited with code 3". */
  readonly ending: string | undefined
}

export interface StdioTransportOptions {
  /** Absolute; the base of `config.cwd`. Default: that of this process. */
  readonly cwd?: string
  readonly limits?: Partial<StdioLimits>
}

/** After this time other work gets a turn. */
const turnMs = 10
/** How long the process may take to exit after its output ended. */
const exitMs = 1000
/** The waits for remaining output after the exit. They are limited: a descendant may hold the output open. */
const restMs = 500
const mostRests = 10

/** The process is started by `start`. */
export function createStdioTransport(config: McpServerConfig, options: StdioTransportOptions = {}): StdioTransport {
  const limits = { ...defaultLimits, ...options.limits }
  const tail = createTail(limits.stderrBytes, longestSecret)
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
      const [, text = ''] = createRedactor({ secrets: secretsOf(config) }).pieces(tail.parts())
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

  /** Follows a process until nothing of it is left. */
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
    notify(() => transport.onclose?.())
  }

  async function rest(reading: Promise<void>): Promise<void> {
    for (let n = 0, before = -1; n < mostRests && before !== lines; n++) {
      before = lines
      if (await atMost(restMs, reading)) return
    }
  }

  /** Resolves at the end of the output. Uses events, because an async iterator would delay each call. */
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

    /** Lets other work run; meanwhile nothing is read. */
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
      notify(() => transport.onmessage?.(read.message))
      return
    }
    skippedLines++
    notify(() => transport.onerror?.(failure(`wrote a line that was skipped: ${read.problem}`)))
  }

  function giveUp(running: ServerProcess, reason: string): void {
    if (state === 'closed') return
    ending = reason
    state = 'closed'
    running.child.stdout.destroy()
    notify(() => transport.onerror?.(failure(`was ended: ${reason}`)))
    void running.end(0)
  }

  /** Calls a listener, which may throw. */
  function notify(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      try {
        transport.onerror?.(failure(`said something that could not be handled: ${messageOf(error)}`, error))
      } catch {
        // the error handler throws too
      }
    }
  }

  return transport
}

/** Limits on a server process. */
interface StdioLimits {
  /** The largest message in either direction. Default 16 MB. */
  readonly lineBytes: number
  /** After so many lines that are no messages the server is ended. Default 100. */
  readonly skippedLines: number
  /** How much of stderr is kept. Default 64 KB. */
  readonly stderrBytes: number
  /** How much may wait for the server to read. Default 32 MB. */
  readonly unreadBytes: number
  /** Milliseconds to exit by itself after its input ends. Default 2,000. */
  readonly inputGraceMs: number
  /** Between SIGTERM and SIGKILL. Default 2,000. */
  readonly termGraceMs: number
}

const megabyte = 1024 * 1024

const defaultLimits: StdioLimits = {
  lineBytes: 16 * megabyte,
  skippedLines: 100,
  stderrBytes: 64 * 1024,
  unreadBytes: 32 * megabyte,
  inputGraceMs: 2000,
  termGraceMs: 2000,
}

/** A number of bytes for people. */
function sizeOf(bytes: number): string {
  return bytes % megabyte === 0 ? `${bytes / megabyte} MB` : `${bytes} bytes`
}

/** The end of a byte stream, in constant memory. */
interface Tail {
  add(bytes: Uint8Array): void
  /** The last `textBytes` bytes without half a character at their beginning, and what was written just before them. */
  parts(): [before: string, text: string]
}

/**
 * Keeps the last bytes in a ring buffer: the `textBytes` that are shown, and `beforeBytes` before them, in which a reader
 * recognises what the cut splits.
 */
export function createTail(textBytes: number, beforeBytes: number): Tail {
  const mostBytes = textBytes + beforeBytes
  let ring: Buffer | undefined
  let at = 0
  let isFull = false

  return {
    add(bytes) {
      if (bytes.length === 0) return
      ring ??= Buffer.alloc(mostBytes)
      const last = bytes.subarray(Math.max(0, bytes.length - mostBytes))
      const first = Math.min(last.length, mostBytes - at)
      ring.set(last.subarray(0, first), at)
      ring.set(last.subarray(first), 0)
      isFull ||= at + last.length >= mostBytes
      at = (at + last.length) % mostBytes
    },

    parts() {
      if (!ring) return ['', '']
      const all = isFull ? Buffer.concat([ring.subarray(at), ring.subarray(0, at)]) : ring.subarray(0, at)
      let cut = Math.max(0, all.length - textBytes)
      const isCut = isFull || cut > 0
      while (isCut && isInsideCharacter(all[cut])) cut++
      return [all.toString('utf8', 0, cut), all.toString('utf8', cut)]
    },
  }
}

const isInsideCharacter = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
