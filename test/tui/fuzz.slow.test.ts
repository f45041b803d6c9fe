import fc from 'fast-check'
import { tool } from 'libero/testing'
import { expect, test, vi } from 'vitest'
import { rounds } from '../soak.ts'
import { type AppInMemory, openApp } from './app-kit.ts'
import { type PuppetModel, puppetModel } from './puppet-model.ts'
import { startTerminalProcess, type TerminalApp, type TerminalProcess } from './terminal-app.ts'
import { modesAfter } from './tui-kit.ts'
import { WatchedSurface } from './watched-surface.ts'

test('UI75 whatever happens in whatever order, each committed line stands once and in order, and the cursor at the caret', async () => {
  const complaints = vi.spyOn(console, 'error').mockImplementation(() => {})
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, turns), { minLength: 1, maxLength: 200, size: 'max' }),
      size,
      async (steps, [columns, rows]) => {
        await play(steps, columns, rows)
        expect(complaints.mock.calls).toEqual([]) // a listener of the chat that throws is reported there
      },
    ),
    {
      endOnFailure: process.env.FUZZ_SHRINK !== '1',
      ...(process.env.FUZZ_PATH && { path: process.env.FUZZ_PATH }),
      numRuns: Number(process.env.FUZZ_RUNS ?? rounds(30, 3000)),
      // The same cases each time, so that a fault here is one of the change; npm run soak takes others.
      seed: Number(process.env.FUZZ_SEED ?? rounds(1, Date.now() % 1e9)),
    },
  )
  complaints.mockRestore()
}, 3_600_000)

test('UI75 the same in a real pseudo-terminal', async () => {
  const terminal = await startTerminalProcess()
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, turns), { minLength: 20, maxLength: 100, size: 'max' }),
        size,
        (steps, [columns, rows]) => playInTerminal(terminal, steps, columns, rows),
      ),
      {
        endOnFailure: true,
        numRuns: rounds(6, 300),
        seed: Number(process.env.FUZZ_SEED ?? rounds(2, Date.now() % 1e9)),
      },
    )
  } finally {
    await terminal.end()
  }
}, 3_600_000)

type Steps = readonly (readonly [Step, number])[]

async function playInTerminal(terminal: TerminalProcess, steps: Steps, columns: number, rows: number): Promise<void> {
  said = 0
  const surface = new WatchedSurface()
  const app = await terminal.open('fuzz', columns, rows)
  const drawing = { commit() {}, frame() {}, invalidate() {}, catchUp() {}, clear() {}, most: rows - 1 }
  const watched = surface.watch(drawing)
  surface.attach(app.screen)
  app.onDrawn((drawn) => {
    if ('commit' in drawn) watched.commit(drawn.commit)
    else if ('clear' in drawn) watched.clear()
    else {
      drawing.most = drawn.most
      watched.frame(drawn.frame, drawn.caret)
    }
  })
  const scene = sceneOf(app, surface)
  await app.pass(50)
  for (const [at, [{ act }]] of steps.entries()) {
    if (app.state.isOver) break
    await act(scene)
    await app.pass()
    if (app.state.isOver || app.screen.isAlternate) continue
    surface.expectLiveLines()
    if (at % 20 === 0) surface.expectCommittedLines()
  }
  app.tell({ do: 'finish' })
  await app.close()
  surface.expectCommittedLines()
  expect(modesAfter(app.raw)).toEqual([])
  for (const sequence of ['\x1b[3J', '\x1b[2J']) expect(app.raw).not.toContain(sequence)
}

/** What steps use, for an app in another process. */
function sceneOf(app: TerminalApp, surface: WatchedSurface): Scene {
  let calls = 0
  return {
    surface,
    app: {
      type: app.type,
      pass: app.pass,
      notify: (text) => app.tell({ do: 'notify', text }),
      screen: { ...app.screen, isSlow: false }, // a pseudo-terminal that is not read stops its process
    },
    model: {
      say: (text) => app.tell({ do: 'say', text }),
      think: (text) => app.tell({ do: 'think', text }),
      retry: () => app.tell({ do: 'retry' }),
      fail: () => app.tell({ do: 'fail' }),
      reply: (...all) => app.tell({ do: 'reply', calls: all }),
    },
    work: {
      call: (name) => ({ id: `c${++calls}`, name, input: { path: `file-${calls}.txt` } }),
      finish: () => app.tell({ do: 'finish' }),
    },
  }
}

async function play(steps: Steps, columns: number, rows: number): Promise<void> {
  said = 0 // a case alone, by its path, is the same as among others
  const surface = new WatchedSurface()
  const model = puppetModel()
  const work = openWork()
  const app = await openApp({ provider: model, columns, rows, tools: work.tools, watch: surface.watch })
  surface.attach(app.screen)
  const over = (): void => {
    surface.isOver = true
  }
  app.ended.then(over, over)
  try {
    for (const [at, [{ act }, turn]] of steps.entries()) {
      if (surface.isOver) break
      await act({ app, model, work, surface })
      for (let i = 0; i < turn; i++) await new Promise((resolve) => setImmediate(resolve))
      if (turn < inPeace) continue
      await app.pass()
      if (surface.isOver || app.screen.isSlow || app.screen.isAlternate) continue
      surface.expectLiveLines()
      if (at % 20 === 0) surface.expectCommittedLines()
    }
  } finally {
    app.screen.isSlow = false
    work.finish()
    await app.close()
  }
  await app.ended
  surface.expectCommittedLines()
  expect(modesAfter(app.screen.writes.join(''))).toEqual([])
  for (const write of app.screen.writes) expectFrame(write)
}

/** What changes rows is one synchronized frame, and clears neither screen nor scrollback. */
function expectFrame(write: string): void {
  expect(write).not.toContain('\x1b[3J')
  if (write.includes('\x1b[?1049')) return // a viewer takes a screen of its own
  expect(write).not.toContain('\x1b[2J')
  if (!write.includes('\x1b[J') && !write.includes('\x1b[K')) return
  expect(write.startsWith('\x1b[?2026h') && write.endsWith('\x1b[?2026l')).toBe(true)
  expect(write.split('\x1b[?2026l')).toHaveLength(2)
}

interface Scene {
  readonly app: Pick<AppInMemory, 'type' | 'pass' | 'notify' | 'screen'>
  readonly model: Pick<PuppetModel, 'say' | 'think' | 'retry' | 'fail' | 'reply'>
  readonly work: Pick<ReturnType<typeof openWork>, 'call' | 'finish'>
  readonly surface: WatchedSurface
}
interface Step {
  act(scene: Scene): void | Promise<void>
  readonly [fc.toStringMethod]: () => string
}

/** Tools whose calls end when the test lets them: one that is allowed, one that is asked about. */
function openWork() {
  const open: (() => void)[] = []
  let calls = 0
  const execute = (): Promise<string> =>
    new Promise((resolve) => open.push(() => resolve(`result ${calls}\nof two lines`)))
  const read = tool('look', execute, { effects: () => [], isConcurrencySafe: true })
  const write = tool('change', execute)
  return {
    tools: { look: read, change: write },
    call: (name: string) => ({ id: `c${++calls}`, name, input: { path: `file-${calls}.txt` } }),
    finish(): void {
      for (const done of open.splice(0)) done()
    },
  }
}

const size = fc.constantFrom<[number, number]>([80, 24], [40, 10], [20, 5], [120, 40], [33, 7])
const words = fc.array(
  fc.constantFrom(
    'alpha ',
    'beta ',
    '*gamma* ',
    '`code` ',
    '\n',
    '\n\n',
    '- item ',
    '漢字 ',
    'é',
    '```\n',
    '| a | b |\n',
    '# ',
  ),
  { maxLength: 12 },
)
const typed = fc.array(fc.constantFrom('a', 'bc ', '漢', 'é', '?', 'y', 'n', '\\', '@f'), {
  minLength: 1,
  maxLength: 5,
})
const keys = [
  ...['\r', '\x1b\r', '\x1b[1;3A', '\x1b', '\x7f', '\x1b[A', '\x1b[B', '\x1b[D', '\x1b[C', '\n', '\t', '\x1b[Z'],
  ...['\x0c', '\x12', '\x14', '\x0f', 'q', '/', '\x15', '\x17', '\x19', '\x1f', '\x1b[I', '\x1b[O', '\x03'],
  '\x1b[200~pasted\nin two lines\x1b[201~',
]
let said = 0

/** A terminal that changes its size twice between two frames cannot be followed: what is in between is drawn first. */
async function resize(
  { surface, app }: Scene,
  to: { readonly columns?: number; readonly rows?: number },
): Promise<void> {
  await app.pass()
  const { screen } = app
  const { columns = screen.emulator.cols, rows = screen.emulator.rows } = to
  if (!screen.isSlow) surface.resize(columns, rows)
  await app.pass()
}

/** How much of what a step began goes on before the next one. Most steps are followed by all that needs no time. */
const inPeace = 3
const turns = fc.oneof({ weight: 3, arbitrary: fc.constant(inPeace) }, { weight: 1, arbitrary: fc.nat(inPeace - 1) })

/** A step with the name by which a failure lists it. */
function steps<T>(
  weight: number,
  name: string,
  values: fc.Arbitrary<T>,
  act: (scene: Scene, value: T) => void | Promise<void>,
) {
  const arbitrary = values.map((value): Step => {
    const words = `${name}${value === undefined ? '' : ` ${JSON.stringify(value)}`}`
    return { act: (scene) => act(scene, value), [fc.toStringMethod]: () => words }
  })
  return { weight, arbitrary }
}
const nothing = fc.constant(undefined)

const step: fc.Arbitrary<Step> = fc.oneof(
  steps(8, 'say', words, ({ model }, all) => model.say(`${all.join('')}w${++said} `)),
  steps(1, 'think', words, ({ model }, all) => model.think(all.join(''))),
  steps(1, 'retry', nothing, ({ model }) => model.retry('the service is busy')),
  steps(1, 'fail', nothing, ({ model }) => model.fail(new Error('the line is cut'))),
  steps(2, 'reply', nothing, ({ model }) => model.reply()),
  steps(
    3,
    'call',
    fc.array(fc.constantFrom('look', 'change'), { minLength: 1, maxLength: 3 }),
    ({ model, work }, names) => model.reply(...names.map(work.call)),
  ),
  steps(3, 'finish calls', nothing, ({ work }) => work.finish()),
  steps(6, 'type', typed, ({ app }, all) => app.type(all.join(''))),
  steps(6, 'send', nothing, ({ app }) => app.type(`m${++said}\r`)),
  steps(5, 'key', fc.constantFrom(...keys), ({ app }, key) => app.type(key)),
  steps(1, 'notice', nothing, ({ app }) => app.notify(`notice ${++said}\nof two lines`)),
  steps(1, 'rewind', nothing, ({ app }) => app.type('\x15/rewind\r')),
  steps(2, 'answer', fc.constantFrom('y', 'n'), ({ app }, key) => app.type(key)),
  steps(5, 'pass', fc.integer({ min: 1, max: 600 }), ({ app }, ms) => app.pass(ms)),
  steps(2, 'columns', fc.integer({ min: 12, max: 130 }), (scene, columns) => resize(scene, { columns })),
  steps(2, 'rows', fc.integer({ min: 3, max: 45 }), (scene, rows) => resize(scene, { rows })),
  steps(2, 'slow', fc.boolean(), ({ app }, isSlow) => {
    app.screen.isSlow = isSlow
  }),
)
