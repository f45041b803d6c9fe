import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { compileCache } from '../compile-cache.ts'
import { checkGrammar } from './check-grammar.ts'
import { type MockService, startMockService } from './mock-service.ts'

// biome-ignore lint/suspicious/noExplicitAny: frames are what tests look into
export type Frame = any

/** A child process with JSON lines over its pipes. */
export interface Client {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Everything that came so far. */
  readonly frames: readonly Frame[]
  readonly stderr: () => string
  send(command: object | string): void
  /** Waits for a frame after the last one waited for; fails with all frames if none comes. */
  next(type: string, matches?: (frame: Frame) => boolean): Promise<Frame>
  /** Sends and waits for the response with its id. */
  ask(command: { readonly type: string; readonly id?: string; readonly [field: string]: unknown }): Promise<Frame>
  end(): void
  /** Begins to read stdout, if that was deferred. */
  listen(): void
  /** Exit code, or the signal it died of. */
  readonly exited: Promise<number | string>
}

export interface StartOptions {
  readonly args?: readonly string[]
  /** Default `deepseek`, which cannot see. */
  readonly provider?: string
  readonly env?: Readonly<Record<string, string>>
  readonly home?: string
  readonly cwd?: string
  /** Default true: stdout is read as it comes. */
  readonly reads?: boolean
}

/** How `libero` is started. */
export const liberoArgs = [await builtCli()] as const

/** `libero …`; it is ended with the test, whatever happens. */
export function start(command: readonly string[], { env = {}, home, cwd, reads = true }: StartOptions = {}): Client {
  const folder = cwd ?? scratch()
  const child = spawn(process.execPath, [...liberoArgs, ...command], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      LIBERO_HOME: home ?? join(folder, 'home'),
      ...compileCache,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const frames: Frame[] = []
  const waiting = new Set<() => void>()
  let looked = 0
  let parts: string[] = []
  let stderr = ''
  child.stdin.on('error', () => {})
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const listen = (): void => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      // A line may have megabytes: its unfinished part is not scanned again.
      const lines = text.split('\n')
      parts.push(lines[0]!)
      for (const line of lines.slice(1)) {
        frames.push(JSON.parse(parts.join('')))
        parts = [line]
      }
      for (const look of [...waiting]) look()
    })
  }
  if (reads) listen()
  const exited = new Promise<number | string>((done) => child.on('close', (code, signal) => done(code ?? signal ?? -1)))
  void exited.then(() => {
    for (const look of [...waiting]) look()
  })
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  })
  const isOver = (): boolean => child.stdout.readableEnded || child.stdout.destroyed

  const next: Client['next'] = (type, matches = () => true) =>
    new Promise((found, fail) => {
      const timer = setTimeout(() => give(new Error(`no ${type} came; ${told()}`)), patienceMs)
      const give = (error: Error): void => {
        clearTimeout(timer)
        waiting.delete(look)
        fail(error)
      }
      const look = (): void => {
        const at = frames.findIndex((frame, i) => i >= looked && frame.type === type && matches(frame))
        if (at < 0 && isOver()) give(new Error(`it ended without ${type}; ${told()}`))
        if (at < 0) return
        looked = at + 1
        clearTimeout(timer)
        waiting.delete(look)
        found(frames[at])
      }
      waiting.add(look)
      look()
    })
  const told = (): string =>
    `frames: ${frames
      .slice(-40)
      .map((frame) => JSON.stringify(frame).slice(0, 300))
      .join('\n')}\nstderr: ${stderr}`

  const client: Client = {
    child,
    frames,
    stderr: () => stderr,
    send: (what) => void child.stdin.write(typeof what === 'string' ? what : `${JSON.stringify(what)}\n`),
    next,
    async ask(what) {
      const id = what.id ?? `ask-${++asked}`
      client.send({ ...what, id })
      const from = looked
      const response = await next('response', (frame) => frame.id === id)
      looked = from // a later wait must not miss frames in between
      return response
    },
    end: () => child.stdin.end(),
    listen,
    exited,
  }
  return client
}

let asked = 0
const patienceMs = 15_000

/** A folder that is removed after the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-rpc-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A service that is closed after the test. */
export async function service(): Promise<MockService> {
  const mock = await startMockService()
  onTestFinished(() => mock.close())
  return mock
}

/** `libero rpc` with this service. The grammar of its frames is checked after each test. */
export function startRpc(
  mock: MockService,
  { args = [], provider = 'deepseek', ...options }: StartOptions = {},
): Client {
  const flags = ['--provider', provider, '--base-url', mock.url, '--api-key', 'sk-test', '--model', 'mock-1']
  const client = start(['rpc', ...flags, ...args], options)
  onTestFinished(() => expect(checkGrammar(client.frames, { isUnfinished: true })).toEqual([]))
  return client
}

/** What stderr says when nothing is wrong: nothing, or where there is no sandbox that, because the mode is `yolo`. */
export const quiet = /^(?:libero: no sandbox: .*\n)?$/

/** Waits until a condition is true, for a limited time. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let i = 0; i < 300; i++) {
    if (isSo()) return
    await new Promise((go) => setTimeout(go, 50))
  }
  throw new Error(`it never came to this: ${what}`)
}

/** The names of frames, for comparing orders; several deltas in a row are one. */
export function order(frames: readonly Frame[]): string[] {
  const streamed = new Set(['text_delta', 'tool_use_args', 'tool_progress'])
  return frames.map(({ type }) => type).filter((type, i, all) => !(streamed.has(type) && all[i - 1] === type))
}

/** The frames between the acknowledgement of a prompt and its end. */
export const ofPrompt = (frames: readonly Frame[]): Frame[] => frames.filter(({ type }) => type !== 'response')
