import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { ExecOptions } from '../../core/execution.ts'

type OnOutput = NonNullable<ExecOptions['onOutput']>

export interface CommandOutput {
  /** Stops listening and tells what was kept; empty for whoever heard it all. */
  end(): { stdout: string; stderr: string }
}

/** Listens to both streams of a command: hands on what comes, or keeps the end of it. Nobody else may use what they give. */
export function commandOutput(
  { stdout, stderr }: { stdout: Readable; stderr: Readable },
  onOutput: OnOutput | undefined,
): CommandOutput {
  const endOut = listen(stdout, outputSink(onOutput, 'stdout', { consumes: true }))
  const endErr = listen(stderr, outputSink(onOutput, 'stderr', { consumes: true }))
  return { end: () => ({ stdout: endOut(), stderr: endErr() }) }
}

/** Takes one stream of a command, byte by byte. */
export interface OutputSink {
  take(chunk: Buffer): void
  /** What was kept; a listener hears here what was still missing to a character. */
  end(): string
}

/** Tells a listener what comes, or keeps the end of it. `consumes`: nobody else needs the bytes afterwards. */
export function outputSink(
  onOutput: OnOutput | undefined,
  from: 'stdout' | 'stderr',
  { consumes = false } = {},
): OutputSink {
  return onOutput ? tellingSink(onOutput, from) : keepingSink(consumes)
}

/** At most so much within one window; a flood waits for the next. */
const mostPerWindow = 4 * 1024 * 1024
const windowMs = 100

function listen(stream: Readable, sink: OutputSink): () => string {
  let opened = performance.now()
  let arrived = 0
  let resume: NodeJS.Timeout | undefined

  stream.on('error', () => {}) // as good as its end
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

function tellingSink(onOutput: OnOutput, from: 'stdout' | 'stderr'): OutputSink {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const tell = (text: string): void => {
    if (text === '') return
    try {
      const told: unknown = onOutput(text, from)
      if (told instanceof Promise) told.catch(() => {})
    } catch {
      // a listener that fails is no reason for the command to
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

/** Bytes of each stream. */
export const mostKept = 10 * 1024 * 1024
const pageSize = 64 * 1024

/** Keeps the last bytes, in pages: the oldest is written anew when the others are enough. */
function keepingSink(consumes: boolean): OutputSink {
  const pages: Buffer[] = []
  let size = 0

  function turnPage(): void {
    const spare = size - pageSize >= mostKept ? pages.shift() : undefined
    if (spare) size -= pageSize
    pages.push(spare ?? Buffer.allocUnsafe(pageSize))
  }

  return {
    take(chunk) {
      for (let at = 0; at < chunk.length; ) {
        if (size === pages.length * pageSize) turnPage()
        const copied = chunk.copy(pages.at(-1)!, size % pageSize, at)
        size += copied
        at += copied
      }
      if (consumes) giveBack(chunk)
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

/** A flood of buffers piles up before the collector takes note of them: what was copied goes at once. */
function giveBack({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Past the rest of a character whose beginning was cut off. */
function wholeFrom(pages: readonly Buffer[], from: number): number {
  const isRest = (at: number) => (pages[Math.floor(at / pageSize)]![at % pageSize]! & 0b1100_0000) === 0b1000_0000
  let at = from
  while (at < from + 3 && isRest(at)) at++
  return at
}
