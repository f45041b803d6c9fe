import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession } from '../index.ts'
import { call, scripted, texts } from '../testing/index.ts'
import { todoread, todowrite } from './todo.ts'

const tools = { todowrite, todoread }
const steps = [
  { content: 'read the code', status: 'completed' },
  { content: 'change it', status: 'in_progress' },
  { content: 'test it', status: 'pending' },
]
const shown = '1. [x] read the code\n2. [>] change it\n3. [ ] test it'

async function write(todos: unknown): Promise<{ text: string; details: unknown; read: string }> {
  const provider = scripted([call('1', 'todowrite', { todos })], [call('2', 'todoread')], 'fin')
  const agent = createAgent({ provider, tools })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (done.callId === '1' && (details = done.details)))
  await agent.run({ prompt: 'go' })
  const [, , text, , read] = texts(agent.turns).map((turn) => turn.replace(/^user: ←/, ''))
  return { text: text!, details, read: read! }
}

describe('the list', () => {
  test('A148 what one run wrote, the next one reads', async () => {
    const provider = scripted([call('1', 'todowrite', { todos: steps })], 'fin', [call('2', 'todoread')], 'fin')
    const agent = createAgent({ provider, tools })
    await agent.run({ prompt: 'plan' })
    await agent.run({ prompt: 'go on' })
    expect(texts(agent.turns)[2]).toBe('user: ←Noted: 1 of 3 done.')
    expect(texts(agent.turns)[6]).toBe(`user: ←${shown}`)
  })

  test('A148 it is there after a restart', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const writing = scripted([call('1', 'todowrite', { todos: steps })], 'fin')
    await createAgent({ provider: writing, session, tools }).run({ prompt: 'plan' })
    const provider = scripted([call('2', 'todoread')], 'fin')
    const agent = createAgent({ provider, session: await loadSession(store, 's'), tools })
    await agent.run({ prompt: 'go on' })
    expect(texts(agent.turns).at(-2)).toBe(`user: ←${shown}`)
  })

  test('writing replaces all of it', async () => {
    const provider = scripted(
      [call('1', 'todowrite', { todos: steps }), call('2', 'todowrite', { todos: [steps[2]] }), call('3', 'todoread')],
      'fin',
    )
    const agent = createAgent({ provider, tools })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toMatch(/←1\. \[ \] test it$/)
  })

  test('an empty one is said to be empty', async () => {
    expect(await write([])).toMatchObject({ text: 'The list is empty now.', read: '(the list is empty)' })
  })

  test('screens get it as details', async () => {
    expect((await write(steps)).details).toEqual({ todos: steps })
  })

  test('near misses are repaired', async () => {
    const todos = [
      'look',
      { content: ' dig ', status: 'In Progress' },
      { content: 'rest', status: 'done', id: 7 },
      { content: 'go' },
    ]
    expect((await write(todos)).read).toBe('1. [ ] look\n2. [>] dig\n3. [x] rest\n4. [ ] go')
    expect((await write(JSON.stringify(steps))).read).toBe(shown)
  })

  test.each([
    [
      'a status that is none',
      [{ content: 'a', status: 'later' }],
      'todos[0].status must be one of pending, in_progress, completed, got "later"',
    ],
    ['nothing to do', [steps[0], { content: ' ', status: 'pending' }], 'todos[1].content must say what is to be done'],
    ['an item that is none', [null], 'todos[0].content must say what is to be done'],
    ['too many', Array.from({ length: 101 }, () => 'a'), '101 todos are too many; write at most 100, in bigger steps'],
    ['too long a text', ['a'.repeat(501)], 'todos[0].content has 501 characters; at most 500 fit'],
  ])('%s is refused, and the list stays', async (_, todos, error) => {
    const { text, read } = await write(todos)
    expect(text).toBe(`Validation error: ${error}`)
    expect(read).toBe('(the list is empty)')
  })

  test('a log with nonsense under its name is an empty list', async () => {
    const agent = createAgent({ provider: scripted([call('1', 'todoread')], 'fin'), tools })
    await agent.log.append({ type: 'state', owner: 'todo', value: [null, { content: 1 }, 'x'] })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe('user: ←(the list is empty)')
  })

  test('A127 reading may share, writing may not', () => {
    expect(todoread).toMatchObject({ isConcurrencySafe: true, replay: 'pure' })
    expect(todowrite).toMatchObject({ isConcurrencySafe: false, replay: 'keyed' })
  })
})
