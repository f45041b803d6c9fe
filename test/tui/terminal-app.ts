import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type IPty, spawn } from '@lydell/node-pty'
import { tool } from 'libero/testing'
import { todowrite, writeFile as writeFileTool } from 'libero/tools'
import type { Caret } from '../../src/tui/terminal/surface.ts'
import { compileCache } from '../compile-cache.ts'
import { type MemoryScreen, memoryScreen } from './memory-screen.ts'
import type { PuppetCall } from './puppet-model.ts'

/** What the test tells the process. */
export type FromTest =
  | { readonly do: 'open'; readonly kind: 'golden' | 'fuzz' }
  | { readonly do: 'say' | 'think' | 'notify'; readonly text: string }
  | { readonly do: 'reply'; readonly calls: readonly PuppetCall[] }
  | { readonly do: 'retry' | 'fail' | 'finish' | 'stop' | 'close' | 'exit' }
  /** Time passes, once so many bytes were typed and the window has this size. It answers. */
  | {
      readonly do: 'pass'
      readonly ms: number
      readonly typed: number
      readonly columns: number
      readonly rows: number
    }

/** What the process answers. */
export interface ToTest {
  /** The mark that it wrote to the terminal behind what it has drawn. */
  readonly mark: number
  /** What it drew since the last answer. */
  readonly drawn: readonly Drawn[]
  readonly phase: string
  readonly queued: number
  readonly prompts: number
  readonly todos: number
  readonly isAsked: boolean
  readonly calls: number
  readonly isOver: boolean
}

/** A sequence without a meaning. */
export const markOf = (mark: number): string => `\x1b]5379;${mark}\x07`

export type Drawn =
  | { readonly commit: readonly string[] }
  | { readonly frame: readonly string[]; readonly most: number; readonly caret?: Caret }
  | { readonly clear: true }

/** Tools whose calls end when the test lets them: `look` is allowed, `change` is asked about. */
export function terminalTools(kind: 'golden' | 'fuzz') {
  const open: (() => void)[] = []
  const said = kind === 'golden' ? 'one\ntwo\nthree' : 'a result\nof two lines'
  const execute = (): Promise<string> => new Promise((resolve) => open.push(() => resolve(said)))
  const look = tool('look', execute, { effects: () => [], isConcurrencySafe: true })
  return {
    tools: { look, change: tool('change', execute), todowrite, write_file: writeFileTool },
    open: (): number => open.length,
    finish(): void {
      for (const done of open.splice(0)) done()
    },
  }
}

/** The interactive terminal in a process with a real pseudo-terminal, whose clock and model the test drives. */
export interface TerminalApp {
  readonly screen: MemoryScreen
  /** All bytes that came from it. */
  readonly raw: string
  readonly state: ToTest
  tell(message: FromTest): void
  type(bytes: string): void
  pass(ms?: number): Promise<void>
  until(condition: (state: ToTest) => boolean): Promise<void>
  /** Calls the listener with what was drawn, when it is on the screen. */
  onDrawn(listener: (drawn: Drawn) => void): void
  close(): Promise<void>
}

/** A process in a pseudo-terminal that opens one app after the other. */
export interface TerminalProcess {
  open(kind: 'golden' | 'fuzz', columns: number, rows: number): Promise<TerminalApp>
  end(): Promise<void>
}

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const child = fileURLToPath(new URL('./terminal-app-child.ts', import.meta.url))

export async function startTerminalProcess(): Promise<TerminalProcess> {
  const path = join(tmpdir(), `libero-terminal-${process.pid}-${Date.now()}.sock`)
  const server = createServer()
  const connected = new Promise<Socket>((resolve) => server.once('connection', resolve))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const pty = spawn(node, ['--conditions=libero-source', child, path], {
    ...{ cols: 80, rows: 24, name: 'xterm-256color', encoding: null },
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), NODE_NO_WARNINGS: '1', ...compileCache },
  })
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()))
  let failed = ''
  pty.onData((data) => {
    failed += data
  })
  const socket = await Promise.race([connected, exited.then(() => Promise.reject(new Error(failed)))])
  const wire = createWire(pty, socket)
  return {
    open: (kind, columns, rows) => openApp(wire, kind, columns, rows),
    async end() {
      wire.tell({ do: 'exit' })
      await exited
      server.close()
    },
  }
}

type Wire = ReturnType<typeof createWire>

/** The terminal and the socket of the process, with how much went over the terminal in each direction. */
function createWire(pty: IPty, socket: Socket) {
  let typed = 0
  const answers: ToTest[] = []
  let wake = (): void => {}
  let show = (_: Buffer): void => {}
  pty.onData((data) => {
    const bytes = data as unknown as Buffer // `encoding: null` gives bytes
    show(bytes)
    wake()
  })
  createInterface({ input: socket }).on('line', (line) => {
    answers.push(JSON.parse(line))
    wake()
  })
  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  return {
    get typed() {
      return typed
    },
    pty,
    changed,
    onData(listener: (bytes: Buffer) => void): void {
      show = listener
    },
    tell: (message: FromTest): void => void socket.write(`${JSON.stringify(message)}\n`),
    type(bytes: string): void {
      typed += Buffer.byteLength(bytes)
      pty.write(bytes)
    },
    async answer(): Promise<ToTest> {
      while (answers.length === 0) await changed()
      return answers.shift()!
    },
  }
}

async function openApp(wire: Wire, kind: 'golden' | 'fuzz', columns: number, rows: number): Promise<TerminalApp> {
  const screen = memoryScreen(columns, rows)
  const decoder = new TextDecoder()
  let raw = ''
  let state: ToTest | undefined
  let listener = (_: Drawn): void => {}
  wire.pty.resize(columns, rows)
  wire.onData((bytes) => {
    const text = decoder.decode(bytes, { stream: true })
    raw += text
    screen.output.write(text)
  })
  screen.output.on('resize', () => wire.pty.resize(screen.emulator.cols, screen.emulator.rows))
  const app: TerminalApp = {
    screen,
    get raw() {
      return raw
    },
    get state() {
      return state!
    },
    tell: wire.tell,
    type: wire.type,
    async pass(ms = 0) {
      const { cols, rows: high } = screen.emulator
      wire.tell({ do: 'pass', ms, typed: wire.typed, columns: cols, rows: high })
      state = await wire.answer()
      while (!raw.includes(markOf(state.mark))) await wire.changed()
      raw = raw.replace(markOf(state.mark), '')
      for (const drawn of state.drawn) listener(drawn)
    },
    async until(condition) {
      await app.pass()
      for (let turn = 0; turn < 1000; turn++) {
        if (condition(state!)) return
        await app.pass(10)
      }
      throw new Error(`too long:\n${screen.visible().join('\n')}`)
    },
    onDrawn(given) {
      listener = given
    },
    async close() {
      wire.tell({ do: 'close' })
      await app.until(({ isOver }) => isOver)
      await app.pass()
    },
  }
  wire.tell({ do: 'open', kind })
  return app
}
