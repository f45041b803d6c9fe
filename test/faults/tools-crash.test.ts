import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { type Agent, createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, type Step, scripted, texts } from '../../src/testing/index.ts'
import { createAskUserTool } from '../../src/tools/index.ts'
import { rounds, sampleOf, testInTurns } from '../soak.ts'
import { answersOf, everyTool, openCallsOf, openWorld, type World } from './tools-kit.ts'

const test = testInTurns(2)

const worlds: World[] = []
afterEach(() => Promise.all(worlds.splice(0).map(({ close }) => close())))

function world(): World {
  const opened = openWorld()
  worlds.push(opened)
  return opened
}

/** A call that changes a file once: doing it twice would show. */
const changes = {
  write_file: [
    { path: 'a.txt', content: 'new one\n' },
    'new one\n',
    /^Updated a\.txt \(1 line; had been written before/,
  ],
  edit: [
    { path: 'a.txt', old_string: 'one', new_string: 'new one' },
    'new one\n',
    /^Edited a\.txt \(an earlier attempt/,
  ],
  multi_edit: [
    { path: 'a.txt', edits: [{ old_string: 'one', new_string: 'new one' }] },
    'new one\n',
    /^Edited a\.txt \(an earlier attempt of this call had already done it\)$/,
  ],
} as const

describe.each(Object.entries(changes))('a %s that was cut off by a crash', (tool, [input, after, doneBefore]) => {
  const before = 'one\n'

  test('finds the file as it was, and changes it', async () => {
    const { at, held, answer } = await crashedDuring(before)
    writeFileSync(at('a.txt'), before)
    expect(await answer()).toMatchObject({ output: expect.stringMatching(/^(Updated|Edited) a\.txt/), isError: false })
    expect(held('a.txt')).toBe(after)
  })

  test('finds its own change, says so, and does not make it again', async () => {
    const { held, answer } = await crashedDuring(before)
    expect(held('a.txt')).toBe(after)
    expect(await answer()).toMatchObject({ output: expect.stringMatching(doneBefore), isError: false })
    expect(held('a.txt')).toBe(after)
  })

  test.each([
    ['the change of another process', 'theirs: one\n'],
    ['its own change with another one on top', `${after}and theirs\n`],
    ['no file', undefined],
  ])('finds %s, and leaves it alone', async (_, now) => {
    const { at, held, answer } = await crashedDuring(before)
    if (now === undefined) rmSync(at('a.txt'))
    else writeFileSync(at('a.txt'), now)
    const { output, isError } = await answer()
    expect(output).toMatch(/^Tool error: "a\.txt" was changed by something else while this call was interrupted/)
    expect(isError).toBe(true)
    if (now === undefined) expect(() => held('a.txt')).toThrow('ENOENT')
    else expect(held('a.txt')).toBe(now)
  })

  /** Runs the call, and takes back all of the log from its result on. */
  async function crashedDuring(content: string) {
    const here = world()
    here.put('a.txt', content)
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const { execution } = here
    const agent = createAgent({
      provider: scripted([call('1', tool, input)], 'fin'),
      session,
      execution,
      tools: everyTool,
    })
    await agent.run({ prompt: 'go' })
    const entries = await store.read('s')
    const left = await storeOf(
      entries.slice(
        0,
        entries.findIndex(({ type }) => type === 'call_result'),
      ),
    )
    return {
      ...here,
      async answer() {
        const again = await loadSession(left, 's')
        await createAgent({ provider: scripted('fin'), session: again, execution, tools: everyTool }).run()
        return answersOf(again.turns).get('1')!
      },
    }
  }
})

async function storeOf(entries: readonly LogEntry[]): Promise<SessionStore> {
  const store = createMemoryStore()
  const { epoch } = await store.lease('s', { owner: 'crashed', ttlMs: 0, create: true })
  await store.append('s', entries, { epoch, head: 0 })
  return store
}

/** What the model says, by how far a conversation has come, so that it goes on where a crash has left it. */
const plans: Readonly<Record<string, readonly Step[]>> = {
  parent: [
    [
      call('1', 'read_file', { path: 'a.txt' }),
      call('2', 'edit', { path: 'a.txt', old_string: 'one', new_string: 'one one' }),
      call('3', 'shell', { command: 'echo ran >> shell.log' }),
      call('4', 'multi_edit', { path: 'a.txt', edits: [{ old_string: 'two', new_string: 'two two' }] }),
    ],
    [
      call('5', 'write_file', { path: 'b.txt', content: 'b\n' }),
      call('6', 'todowrite', { todos: [{ content: 'rest', status: 'pending' }] }),
      call('7', 'spawn', { task: 'child' }),
      call('8', 'ask_user', { question: 'Why?' }),
    ],
    [call('9', 'todoread'), call('10', 'grep', { pattern: 'two' })],
    'fin',
  ],
  child: [[call('c1', 'edit', { path: 'c.txt', old_string: 'see', new_string: 'see see' })], 'the child is done'],
}

const model = (): ReturnType<typeof scripted> =>
  scripted(
    ...Array<Step>(40).fill(({ messages }) => {
      const [who = ''] = texts(messages).map((text) => text.replace('user: ', ''))
      const said = messages.filter(({ role }) => role === 'assistant').length
      return plans[who]?.[said] ?? new Error(`"${who}" has nothing to say after ${said} turns`)
    }),
  )

test.each(sampleOf(['after', 'before'] as const, 1))(
  'a process that dies at any entry of a session, %s it is stored, does everything once',
  { timeout: 120_000 },
  async (when) => {
    let deaths = 0
    const interrupted = new Set<string>()
    const step = rounds(3, 1)
    // Before its first entry is stored there is no session.
    const from = (when === 'after' ? 1 : 2) + Math.floor(Math.random() * step)
    for (let nth = from, isOver = false; !isOver; nth += step) {
      expect(nth, 'the loop ends').toBeLessThan(200)
      const here = world()
      here.put('a.txt', 'one\ntwo\n')
      here.put('c.txt', 'see\n')
      const store = createMemoryStore()
      const asked: string[] = []
      const begin = async (session: Awaited<ReturnType<typeof createSession>>): Promise<Agent> =>
        createAgent({
          ...{ provider: model(), session, execution: createProcessContext({ cwd: here.root }) },
          tools: {
            ...everyTool,
            askUser: createAskUserTool({ onRequest: ({ question }) => void asked.push(question) }),
          },
        })
      const first = await begin(await createSession({ store: dying(store, nth, when), id: 's' }))
      isOver = await first.run({ prompt: 'parent' }).then(
        () => true,
        () => false,
      )
      await first.destroy()

      const again = await loadSession(store, 's')
      const second = await begin(again)
      if (!isOver) {
        deaths++
        await second.run(again.turns.length === 0 ? { prompt: 'parent' } : {})
      }
      await second.destroy()
      expect(openCallsOf(again.turns)).toEqual([])
      const answers = answersOf(again.turns)
      expect(answers.size, `death ${nth}`).toBe(10)
      for (const [id, { output }] of answers) if (output.startsWith('Interrupted: ')) interrupted.add(id)
      expect(here.held('a.txt'), `death ${nth}`).toBe('one one\ntwo two\n')
      expect(here.held('b.txt')).toBe('b\n')
      expect(here.held('c.txt'), `death ${nth}`).toBe('see see\n')
      expect(ranIn(here), `death ${nth}`).toBeLessThanOrEqual(1)
      expect(answers.get('9')!.output).toBe('1. [ ] rest')
      expect(asked.length).toBeGreaterThan(0)
      if (isOver) expect([ranIn(here), asked]).toEqual([1, ['Why?']])
    }
    expect(deaths).toBeGreaterThan(20 / step)
    if (step > 1) interrupted.add('3') // its place may not be in the sample
    expect([...interrupted], 'only what may not run twice is told to be interrupted').toEqual(['3'])
  },
)

function ranIn({ at }: World): number {
  try {
    return readFileSync(at('shell.log'), 'utf8').split('\n').length - 1
  } catch {
    return 0
  }
}

/** A store whose process dies at its nth write, after or before it was applied. */
function dying(store: SessionStore, nth: number, when: 'after' | 'before'): SessionStore {
  let n = 0
  return {
    ...store,
    async append(...args) {
      if (++n > nth || (n === nth && when === 'before')) throw new Error('the process died')
      await store.append(...args)
      if (n === nth) throw new Error('the process died')
    },
  }
}
