import { Writable } from 'node:stream'
import type { Output } from '../../src/cli/io.ts'
import { createTerminal, type Terminal } from '../../src/tui/terminal/terminal.ts'

interface FakeTerminal {
  readonly terminal: Terminal
  readonly said: { out: string; err: string }
  /** Every write to either stream, in order. */
  readonly writes: string[]
  resize(columns: number, rows?: number): void
}

export interface FakeTerminalOptions {
  /** Which of the two streams are terminals. */
  readonly tty?: 'both' | 'stdout' | 'stderr' | 'none'
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
}

/** A terminal that records what is written to it. */
export function fakeTerminal({
  tty = 'both',
  columns = 80,
  rows = 24,
  env = {},
}: FakeTerminalOptions = {}): FakeTerminal {
  const said = { out: '', err: '' }
  const writes: string[] = []
  const size = { columns, rows }
  const output = (name: 'out' | 'err', isTTY: boolean): Output => {
    const stream = new Writable({
      decodeStrings: false,
      write(chunk: string, _, done) {
        said[name] += Buffer.from(chunk).toString() // as bytes: fails on half a character
        writes.push(chunk)
        done()
      },
    })
    if (!isTTY) return stream
    const sizes = { columns: { get: () => size.columns }, rows: { get: () => size.rows } }
    return Object.defineProperties(Object.assign(stream, { isTTY }), sizes)
  }
  const stdout = output('out', tty === 'both' || tty === 'stdout')
  const stderr = output('err', tty === 'both' || tty === 'stderr')
  return {
    terminal: createTerminal({ stdout, stderr, env }),
    said,
    writes,
    resize: (to, high = rows) => Object.assign(size, { columns: to, rows: high }),
  }
}
