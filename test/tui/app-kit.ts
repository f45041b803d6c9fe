import { PassThrough } from 'node:stream'
import { createAgent, createMemoryStore, createSession } from 'libero'
import { createAuthority } from 'libero/authority'
import { codingTools } from 'libero/presets'
import { memoryExecution } from 'libero/testing'
import type { Clock, ExecutionContext, Provider, ToolDef } from 'libero/types'
import type { AgentRequest, Chat } from '../../src/chat/chat.ts'
import type { ChatCommand } from '../../src/chat/command.ts'
import { createChat } from '../../src/chat/create-chat.ts'
import { runApp } from '../../src/tui/app.ts'
import { openKeyboard } from '../../src/tui/input/keyboard.ts'
import { createLines } from '../../src/tui/run-tui.ts'
import type { Output, TerminalStreams } from '../../src/tui/terminal/output.ts'
import type { Surface } from '../../src/tui/terminal/surface.ts'
import { type MemoryScreen, memoryScreen } from './memory-screen.ts'

interface AppSetup {
  readonly provider: Provider
  readonly columns?: number
  readonly rows?: number
  readonly tools?: Readonly<Record<string, ToolDef>>
  readonly files?: Readonly<Record<string, string>>
  readonly execution?: ExecutionContext
  readonly env?: Readonly<Record<string, string>>
  readonly commands?: readonly ChatCommand[]
  readonly keys?: Readonly<Record<string, string>>
  /** Wraps what the app draws on. */
  readonly watch?: (surface: Surface) => Surface
}

/** The interactive terminal in this process: a real chat and agent, an emulator, and a clock that the test advances. */
export interface AppInMemory {
  readonly screen: MemoryScreen
  readonly chat: Chat
  /** As the host of the chat tells the person of something. */
  notify(text: string): void
  /** How many timers wait. */
  readonly timers: number
  /** The bytes of keys, as a terminal sends them. */
  type(bytes: string): void
  /** So many milliseconds pass; what waits only for promises happens before and after. */
  pass(ms?: number): Promise<void>
  /** Time passes until this is so. */
  until(condition: () => boolean): Promise<void>
  /** Resolves when the app has ended; rejects if it threw. */
  readonly ended: Promise<void>
  /** Leaves it, whatever is open. */
  close(): Promise<void>
}

const cwd = '/project'

export async function openApp({ columns = 80, rows = 24, ...setup }: AppSetup): Promise<AppInMemory> {
  const screen = memoryScreen(columns, rows)
  const stdin = Object.assign(new PassThrough(), { isTTY: true as const, setRawMode: () => stdin })
  const app = await openAppOn({ ...setup, stdin, output: screen.output })
  return Object.assign(app, {
    screen,
    type: (bytes: string) => void stdin.write(bytes),
    async until(condition: () => boolean) {
      for (let turn = 0; turn < 2000; turn++) {
        if (condition()) return
        await app.pass(10)
        await new Promise((resolve) => setTimeout(resolve, turn < 50 ? 0 : 5)) // code may be loaded for the first time
      }
      throw new Error(`too long:\n${screen.visible().join('\n')}`)
    },
  })
}

/** The same on given streams. */
export async function openAppOn(
  setup: Omit<AppSetup, 'columns' | 'rows'> & Pick<TerminalStreams, 'stdin'> & { readonly output: Output },
): Promise<Omit<AppInMemory, 'screen' | 'type' | 'until'>> {
  const { provider, tools = codingTools, files, env = {}, stdin, output } = setup
  const clock = steppedClock(1_000_000)
  const { execution = memoryExecution({ cwd, ...(files && { files }) }) } = setup
  const store = createMemoryStore()
  let tell: AgentRequest['notify'] = () => {}
  const chat = createChat({
    store,
    clock,
    async openAgent({ interactor, notify, settings: { mode = 'ask' } }) {
      tell = notify
      const authority = createAuthority({ mode, interactors: [interactor], clock })
      const session = await createSession({ store, clock })
      const agent = createAgent({ provider, tools, authority, execution, session, clock })
      const close = async (): Promise<void> => {
        await agent.destroy()
        await authority.close()
      }
      const model = { provider: 'puppet', model: 'puppet-1', contextWindow: 200_000 }
      return { agent, authority, settings: { model, mode, folder: cwd }, close }
    },
  })
  const keyboard = openKeyboard({ stdin, stderr: output }, { clock })!
  const ending = new AbortController()
  const opened = chat.open({})
  const ended = runApp({
    ...{ chat, output, keyboard, clock, cwd, signal: ending.signal },
    env: { TERM_PROGRAM: 'vscode', LIBERO_REDUCED_MOTION: '1', NO_COLOR: '1', ...env },
    ...(setup.watch && { watch: setup.watch }),
    history: memoryHistory(),
    ...createLines(setup.commands ?? []),
    ...(setup.keys && { keys: setup.keys }),
  })
  ended.catch(() => {}) // reported to the test that awaits it
  await opened
  const app = {
    ...{ chat, ended },
    notify: (text: string) => tell({ kind: 'warning', text }),
    get timers() {
      return clock.pending
    },
    async pass(ms = 0) {
      await settle()
      clock.advance(ms)
      await settle()
    },
    async close() {
      ending.abort()
      await ended
      await chat.close()
    },
  }
  await app.pass(50)
  return app
}

/** Runs what waits only for promises. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A clock that stands still until it is advanced. Cheaper than `fakeClock`: a sweep advances it ten thousand times. */
function steppedClock(start: number): Clock & { advance(ms: number): void; readonly pending: number } {
  let now = start
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>()
  const nextDue = (until: number) => [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
  return {
    now: () => now,
    timer(ms, fire) {
      const timer = { at: now + ms, fire }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    get pending() {
      return timers.size
    },
    advance(ms) {
      const until = now + ms
      for (let due = nextDue(until); due; due = nextDue(until)) {
        timers.delete(due)
        now = due.at
        due.fire()
      }
      now = until
    },
  }
}

function memoryHistory() {
  const lines: string[] = []
  return {
    add: (text: string): void => void lines.unshift(text),
    recent: () => lines,
    search: (query: string) => lines.filter((line) => line.includes(query)),
  }
}
