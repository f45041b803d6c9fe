import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Io, StopSignal } from '../../src/cli/io.ts'
import { libero } from '../../src/cli/libero.ts'

/** An `Io` in memory, except for a folder that is removed after the test. */
export interface FakeIo extends Omit<Io, 'env' | 'fetch'> {
  readonly env: Record<string, string | undefined>
  fetch: typeof globalThis.fetch
  readonly said: { out: string; err: string }
  /** The exit codes given to `quit`. */
  readonly quits: number[]
  /** The current signal listeners. */
  readonly signals: ReadonlySet<unknown>
  signal(signal: StopSignal): void
  crash(error: unknown): void
  /** Clears the output. */
  clear(): void
}

type FakeIoOptions = Partial<Pick<Io, 'env' | 'cwd' | 'home' | 'userHome' | 'fetch'>> & {
  readonly stdin?: string | Readable
}

/** A machine without keys, network, or stdin other than given. */
export function fakeIo(more: FakeIoOptions = {}): FakeIo {
  const folder = mkdtempSync(join(tmpdir(), 'libero-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const said = { out: '', err: '' }
  const collect = (name: 'out' | 'err'): Writable =>
    new Writable({
      decodeStrings: false,
      write(chunk, _, done) {
        said[name] += chunk
        done()
      },
    })
  const [stdout, stderr] = [collect('out'), collect('err')]
  const signals = new Set<(signal: StopSignal) => void>()
  const crashes = new Set<(error: unknown) => void>()
  const quits: number[] = []
  return {
    stdin: typeof more.stdin === 'object' ? more.stdin : Readable.from(more.stdin ? [Buffer.from(more.stdin)] : []),
    stdout,
    stderr,
    env: { ...more.env },
    cwd: more.cwd ?? folder,
    home: more.home ?? join(folder, 'home'),
    userHome: more.userHome ?? folder,
    fetch: more.fetch ?? (() => Promise.reject(new TypeError('fetch failed'))),
    onSignal(listener) {
      signals.add(listener)
      return () => void signals.delete(listener)
    },
    onCrash(listener) {
      crashes.add(listener)
      return () => void crashes.delete(listener)
    },
    quit: (exitCode) => void quits.push(exitCode),
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
    said,
    quits,
    signals,
    signal: (signal) => {
      for (const listener of signals) listener(signal)
    },
    crash: (error) => {
      for (const listener of crashes) listener(error)
    },
    clear: () => void Object.assign(said, { out: '', err: '' }),
  }
}

/** Runs `libero …` in this process. */
export async function runLibero(
  args: readonly string[],
  io: FakeIo = fakeIo(),
): Promise<{ code: number; out: string; err: string }> {
  const code = await libero(args, io)
  return { code, ...io.said }
}
