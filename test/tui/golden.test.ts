import { afterAll, beforeAll, test } from 'vitest'
import { openApp } from './app-kit.ts'
import { expectGolden } from './golden.ts'
import type { MemoryScreen } from './memory-screen.ts'
import { type PuppetCall, puppetModel } from './puppet-model.ts'
import { startTerminalProcess, type TerminalProcess, terminalTools } from './terminal-app.ts'

/** The same screens are drawn in this process, and by one in a real pseudo-terminal. */
const places = ['in this process', 'in a pseudo-terminal'] as const
const sizes = places.flatMap((place) =>
  (
    [
      [80, 24],
      [40, 10],
      [20, 5],
      [200, 60],
      [400, 100],
    ] as const
  ).map(([columns, rows]) => [columns, rows, place] as const),
)

const answer = `I run the tests *first*.

| file | result |
|---|---|
| cart.test.js | 1 failed |

\`\`\`js
const whole = items.reduce((sum, { price }) => sum + price, 0)
\`\`\`

- the rebate is **added**
- it should be subtracted`

test.for(sizes)(
  'UI76 the first screen, an answer that streams and one that is complete, at %i × %i %s',
  async ([columns, rows, place]) => {
    const { app, golden } = await opened(columns, rows, place)
    golden('first')
    app.type('Find the failing test and fix it')
    await app.pass(50)
    golden('typed')
    app.type('\r')
    await app.until(({ isAsked }) => isAsked)
    await app.pass(50)
    golden('waiting')
    app.say(answer)
    await app.pass(50)
    golden('streaming')
    app.reply()
    await app.until(({ phase }) => phase === 'idle')
    await app.pass(50)
    golden('answered')
    await app.close()
  },
)

test.for(sizes)(
  'UI76 UI67 calls at work, done and refused, and an approval, at %i × %i %s',
  async ([columns, rows, place]) => {
    const { app, golden, ask } = await opened(columns, rows, place)
    await ask('Look around')
    app.say('I look.')
    app.reply(look('1'), look('2'))
    await app.until(({ calls }) => calls === 2)
    await app.pass(50)
    golden('calls-at-work')
    app.finish()
    await app.until(({ isAsked }) => isAsked)
    await app.pass(50)
    golden('calls-done')
    app.reply({ id: 'w', name: 'write_file', input: { path: 'src/cart.js', content: 'one\ntwo\nthree\n' } })
    await app.until(() => app.screen.visible().some((row) => row.includes('n  no')))
    await app.pass(1000)
    golden('approval')
    app.type('n')
    await app.until(({ isAsked }) => isAsked)
    await app.pass(50)
    golden('refused')
    await app.close()
  },
)

test.for(sizes)(
  'UI76 commands to complete, the queue, the todo list and stopping, at %i × %i %s',
  async ([columns, rows, place]) => {
    const { app, golden, ask } = await opened(columns, rows, place)
    app.type('/se')
    await app.until(() => app.screen.visible().some((row) => row.includes('/sessions')))
    golden('completion')
    app.type('\x15')
    await ask('Work')
    const todos = [
      { content: 'Run the tests', status: 'completed' },
      { content: 'Fix the cart', status: 'in_progress' },
      { content: 'Run them again', status: 'pending' },
    ]
    app.reply({ id: 't', name: 'todowrite', input: { todos } })
    await app.until(({ todos: count, isAsked }) => count === 3 && isAsked)
    app.type('And look at rounding\x1b\r')
    await app.until(({ queued }) => queued === 1)
    await app.pass(50)
    golden('queue')
    app.stop()
    await app.until(({ phase }) => phase === 'idle')
    await app.pass(50)
    golden('stopped')
    await app.close()
  },
)

const look = (id: string): PuppetCall => ({ id, name: 'look', input: { path: `src/file-${id}.ts` } })

/** An app wherever it runs. */
interface GoldenApp {
  readonly screen: MemoryScreen
  type(bytes: string): void
  pass(ms?: number): Promise<void>
  until(condition: (state: GoldenState) => boolean): Promise<void>
  say(text: string): void
  reply(...calls: readonly PuppetCall[]): void
  finish(): void
  stop(): void
  close(): Promise<void>
}

interface GoldenState {
  readonly phase: string
  readonly queued: number
  readonly todos: number
  readonly isAsked: boolean
  readonly calls: number
}

let terminal: TerminalProcess
beforeAll(async () => {
  terminal = await startTerminalProcess()
})
afterAll(() => terminal?.end())

async function opened(columns: number, rows: number, place: (typeof places)[number]) {
  const app = await (place === 'in this process' ? openHere(columns, rows) : openInTerminal(columns, rows))
  const golden = (name: string): void => expectGolden(`${columns}x${rows}-${name}`, app.screen)
  const ask = async (text: string): Promise<void> => {
    app.type(`${text}\r`)
    await app.until(({ isAsked }) => isAsked)
  }
  return { app, golden, ask }
}

async function openHere(columns: number, rows: number): Promise<GoldenApp> {
  const model = puppetModel()
  const { tools, finish, ...work } = terminalTools('golden')
  const app = await openApp({ provider: model, columns, rows, tools, files: { 'src/cart.js': 'one\nthree\n' } })
  const state = (): GoldenState => {
    const { phase, queue, view } = app.chat.state
    return { phase, queued: queue.length, todos: view.todos.length, isAsked: model.isAsked, calls: work.open() }
  }
  const { screen, type, pass, close } = app
  const until: GoldenApp['until'] = (condition) => app.until(() => condition(state()))
  return { screen, type, pass, close, until, say: model.say, reply: model.reply, finish, stop: () => app.chat.stop() }
}

async function openInTerminal(columns: number, rows: number): Promise<GoldenApp> {
  const app = await terminal.open('golden', columns, rows)
  await app.pass(50)
  return Object.assign(app, {
    say: (text: string) => app.tell({ do: 'say', text }),
    reply: (...calls: readonly PuppetCall[]) => app.tell({ do: 'reply', calls }),
    finish: () => app.tell({ do: 'finish' }),
    stop: () => app.tell({ do: 'stop' }),
  })
}
