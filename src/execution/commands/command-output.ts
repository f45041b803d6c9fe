import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'

type OnOutput = NonNullable<ExecOptions['onOutput']>

interface CommandOutput {
  /** Stops listening and returns what was kept; empty if a listener received the output. */
  end(): { stdout: string; stderr: string }
}

/** Reads both streams of a command: passes the output to a listener, or keeps its end. Consumes the buffers. */
export function commandOutput(
  { stdout, stderr }: { stdout: Readable; stderr: Readable },
  onOutput: OnOutput | undefined,
): CommandOutput {
  const endOut = listen(stdout, outputSink(onOutput, 'stdout', { consumes: true }))
  const endErr = listen(stderr, outputSink(onOutput, 'stderr', { consumes: true }))
  return { end: () => ({ stdout: endOut(), stderr: endErr() }) }
}

/** Receives one output stream of a command. */
interface OutputSink {
  take(chunk: Buffer): void
  /** Returns what was kept. A listener receives the rest of an incomplete character here. */
  end(): string
}

/** Passes output to a listener, or keeps its end. `consumes`: the buffers are not used afterwards. */
function outputSink(onOutput: OnOutput | undefined, from: 'stdout' | 'stderr', { consumes = false } = {}): OutputSink {
  return onOutput ? listeningSink(onOutput, from) : keepingSink(consumes)
}

/** At most this many bytes are read per window; the rest waits for the next one. */
const mostPerWindow = 4 * 1024 * 1024
const windowMs = 100

function listen(stream: Readable, sink: OutputSink): () => string {
  let opened = performance.now()
  let arrived = 0
  let resume: NodeJS.Timeout | undefined

  stream.on('error', () => {}) // treated like the end
  stream.on('data', (chunk: Buffer) => {
    const now = performance.now()
    if (now - opened > windowMs) {
      opened = now
      arrived = 0
    }
    arrived += chunk.length
    sink.take(chunk)
    if (arrived <= mostPerWindow) return
    stream.pause()
    resume = setTimeout(() => stream.resume(), opened + windowMs - now)
  })

  return () => {
    clearTimeout(resume)
    stream.destroy()
    return sink.end()
  }
}

function listeningSink(onOutput: OnOutput, from: 'stdout' | 'stderr'): OutputSink {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const tell = (text: string): void => {
    if (text === '') return
    try {
      const told: unknown = onOutput(text, from)
      if (told instanceof Promise) told.catch(() => {})
    } catch {
      // a failing listener does not affect the command
    }
  }
  return {
    take: (chunk) => tell(decoder.decode(chunk, { stream: true })),
    end() {
      tell(decoder.decode())
      return ''
    },
  }
}

/** Bytes kept of each stream. */
export const mostKept = 10 * 1024 * 1024
const pageSize = 64 * 1024

/** Keeps the last bytes in pages; the oldest page is reused when the others suffice. */
function keepingSink(consumes: boolean): OutputSink {
  const pages: Buffer[] = []
  let size = 0

  function addPage(): void {
    const spare = size - pageSize >= mostKept ? pages.shift() : undefined
    if (spare) size -= pageSize
    pages.push(spare ?? Buffer.allocUnsafe(pageSize))
  }

  return {
    take(chunk) {
      for (let at = 0; at < chunk.length; ) {
        if (size === pages.length * pageSize) addPage()
        const copied = chunk.copy(pages.at(-1)!, size % pageSize, at)
        size += copied
        at += copied
      }
      if (consumes) freeBuffer(chunk)
    },
    end() {
      const decoder = new StringDecoder('utf8')
      const from = size > mostKept ? wholeFrom(pages, size - mostKept) : 0
      const texts = pages.map((page, n) =>
        decoder.write(page.subarray(Math.max(0, from - n * pageSize), size - n * pageSize)),
      )
      return texts.join('') + decoder.end()
    },
  }
}

/** Frees a copied buffer at once: the garbage collector is too slow for a flood of them. */
function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** The start of the first whole character from a position on. */
function wholeFrom(pages: readonly Buffer[], from: number): number {
  const isRest = (at: number) => (pages[Math.floor(at / pageSize)]![at % pageSize]! & 0b1100_0000) === 0b1000_0000
  let at = from
  while (at < from + 3 && isRest(at)) at++
  return at
}

interface CapturedOutput {
  write(bytes: Uint8Array, from: 'stdout' | 'stderr'): void
  /** Returns what was kept. A listener receives the rest of an incomplete character here. */
  end(): Pick<ExecResult, 'stdout' | 'stderr'>
}

/** Captures both streams of a command that runs elsewhere: passes them to a listener, or keeps their end. */
export function captureOutput({ onOutput }: Pick<ExecOptions, 'onOutput'> = {}): CapturedOutput {
  const sinks = { stdout: outputSink(onOutput, 'stdout'), stderr: outputSink(onOutput, 'stderr') }
  return {
    write: (bytes, from) => sinks[from].take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    end: () => ({ stdout: sinks.stdout.end(), stderr: sinks.stderr.end() }),
  }
}

/** The end of a text, of at most `mostKept` bytes. */
export function endOfText(text: string): string {
  if (text.length * 3 <= mostKept) return text
  const sink = outputSink(undefined, 'stdout')
  sink.take(Buffer.from(text))
  return sink.end()
}
