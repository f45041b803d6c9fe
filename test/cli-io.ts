import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Io } from '../src/cli/io.ts'

/** The outside world of a command under test: an empty home, no network, and ears for what it says. */
export interface TestIo extends Omit<Io, 'env' | 'fetch'> {
  readonly env: Record<string, string | undefined>
  fetch: typeof globalThis.fetch
  readonly stdin: PassThrough
  outText(): string
  errText(): string
  clear(): void
  remove(): Promise<void>
}

/** Makes one; its folder is to be removed. */
export async function testIo(): Promise<TestIo> {
  const folder = await mkdtemp(join(tmpdir(), 'libero-cli-'))
  let [out, err] = ['', '']
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  stdout.on('data', (chunk) => (out += chunk))
  stderr.on('data', (chunk) => (err += chunk))
  return {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    cwd: folder,
    home: join(folder, '.libero'),
    userHome: folder,
    fetch: async () => {
      throw new TypeError('fetch failed')
    },
    onSignal: () => () => {},
    onCrash: () => () => {},
    quit: () => {},
    out: (line) => void (out += `${line}\n`),
    err: (line) => void (err += `${line}\n`),
    outText: () => out,
    errText: () => err,
    clear: () => {
      ;[out, err] = ['', '']
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
