import { describe, expect, test } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { coding } from '../../presets/index.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSession, loadSession } from '../../sessions/session.ts'
import { memoryExecution, tool } from '../../testing/index.ts'
import { offline } from './offline.ts'
import { understand } from './requests.ts'

const files = {
  'package.json': '{ "name": "shop", "scripts": { "test": "node --test" } }\n',
  'src/cart.js': 'export const one = 1 // TODO\nexport const two = 2\n',
  'notes.txt': 'apples\npears\n',
}

function world() {
  const knows = (command: string) => (/^(?:echo|git|pwd)/.test(command) ? { stdout: 'hello\n' } : { exitCode: 127 })
  const execution = memoryExecution({ files, exec: knows })
  const agent = createAgent({ ...coding, provider: offline(), execution })
  const ask = async (prompt: string) => (await agent.run({ prompt })).text
  return { execution, agent, ask }
}

describe('plain requests become real tool calls', () => {
  test.each([
    ['list the files', '`notes.txt`, `package.json`, `src/`'],
    ['Could you please list src?', '`cart.js`'],
    ['show me notes.txt', 'apples'],
    ['show line 2 of notes.txt', 'pears'],
    ['search for TODO in src', 'src/cart.js:1:export const one = 1 // TODO'],
    ['find files named *.js', '`src/cart.js`'],
    ['run `echo hello`', 'It worked. It printed:\n\n```\nhello\n```'],
    ['what changed?', 'hello'],
    ['what can you do?', '- list the files in src'],
    ['read nothing.txt', 'I could not read `nothing.txt`'],
    ['search for unicorns', '`unicorns` is nowhere'],
  ])('%s', async (prompt, answer) => {
    const { ask, agent } = world()
    expect(await ask(prompt)).toContain(answer)
    await agent.destroy()
  })

  test('files are changed by tools', async () => {
    const { ask, agent, execution } = world()
    const at = (path: string) => execution.files.get(`/project/${path}`)
    expect(await ask('replace "one" with `first` in src/cart.js')).toContain('Done.')
    expect(at('src/cart.js')).toContain('export const first = 1')
    await ask('create docs/new.md with hello world')
    expect(at('docs/new.md')).toBe('hello world\n')
    expect(await ask('create notes.txt with other words')).toContain('is there already')
    await ask('append "plums" to notes.txt')
    expect(at('notes.txt')).toBe('apples\npears\nplums\n')
    expect(await ask('summarise what you did')).toContain('changed `docs/new.md`')
    await agent.destroy()
  })

  test('several requests are done one after another', async () => {
    const { ask, agent } = world()
    const calls: string[] = []
    agent.hooks.hook('tool:after', ({ name }) => void calls.push(name))
    await ask('list the files, then read notes.txt; run pwd\nremember to buy milk')
    expect(calls).toEqual(['list_files', 'read_file', 'shell', 'todoread', 'todowrite'])
    expect(await ask('show the todo list')).toContain('buy milk')
    await agent.destroy()
  })

  test('what fails stops what was to come after it, and says so', async () => {
    const { ask, agent } = world()
    const said = await ask('read nothing.txt then list the files')
    expect(said).toContain('not done: “list the files”')
    await agent.destroy()
  })

  test('a denial is reported as one', async () => {
    const execution = memoryExecution({ files, exec: () => ({}) })
    const authority = { mode: 'ask', interactors: [() => false] } as const
    const agent = createAgent({ ...coding, provider: offline(), execution, authority })
    const { text } = await agent.run({ prompt: 'replace apples with plums in notes.txt' })
    expect(text).toContain('I was not allowed to change `notes.txt`: denied by user: declined')
    await agent.destroy()
  })
})

test('it says that it is no language model: at first, in help, and when unsure', async () => {
  const { ask, agent } = world()
  const first: string[] = []
  const off = agent.hooks.hook('stream:text', ({ delta }) => void first.push(delta))
  await ask('list the files')
  off()
  expect(first.join('')).toMatch(/^\(I am the offline model: .* not a language model/)
  expect(await ask('list the files')).not.toContain('language model')
  expect(await ask('help')).toContain('not a language model')
  expect(await ask('write me a poem about the sea')).toContain('not a language model')
  await agent.destroy()
})

test.each([
  ['lsit files', 'list the files in src'],
  ['refactor everything', 'replace "colour"'],
  ['replace foo with bar', 'In which file'],
  ['what is the weather', 'list the files in src'],
])('when unsure (%s) it asks, the nearest example first', async (prompt, nearest) => {
  const { ask, agent } = world()
  const said = await ask(prompt)
  expect(said).toContain('?')
  const examples = [...said.matchAll(/“([^”]+)”/g)].map(([, one]) => one)
  expect(examples.length === 0 ? said : `${examples[1]}`).toContain(nearest)
  await agent.destroy()
})

test('it goes on where it was after its process ended', async () => {
  const store = createMemoryStore()
  const execution = memoryExecution({ files })
  const id = 's1'
  const first = createAgent({ ...coding, provider: offline(), execution, session: await createSession({ store, id }) })
  first.hooks.hook('tool:after', () => first.abort())
  await first.run({ prompt: 'read notes.txt then list src' }).catch(() => {})
  await first.destroy()
  const second = createAgent({ ...coding, provider: offline(), execution, session: await loadSession(store, id) })
  const { text } = await second.run({})
  expect(text).toContain('`cart.js`')
  await second.destroy()
})

test('behavior.schema and usage: a shape that is trivial is filled, and it costs nothing', async () => {
  const agent = createAgent({ provider: offline(), tools: { x: tool('x', () => '') } })
  const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }
  const { output, cost, totalIn, totalOut } = await agent.run({ prompt: 'hello', behavior: { schema } })
  expect(output).toEqual({ answer: expect.stringContaining('Hello.') })
  expect(cost).toBe(0)
  expect(totalIn).toBeGreaterThan(5)
  expect(totalOut).toBeGreaterThan(10)
  await agent.destroy()
})

test('a long conversation is summed up by it, by an extract of what was said and done', async () => {
  const { execution } = world()
  const session = await createSession()
  const behavior = { compactStrategy: 'summary', compactThreshold: 2000, compactKeepTurns: 2 } as const
  const agent = createAgent({ ...coding, provider: offline(), execution, session, behavior })
  const summaries: string[] = []
  agent.log.subscribe((entry) => {
    if (entry.type === 'compaction') summaries.push(JSON.stringify(entry.summary))
  })
  for (let i = 0; i < 12; i++)
    await agent.run({ prompt: `read notes.txt then create n${i}.txt with ${'word '.repeat(60)}` })
  expect(summaries.length).toBeGreaterThan(0)
  expect(summaries[0]).toContain('read notes.txt then create')
  expect(summaries[0]).toContain('not by a language model')
  expect((await agent.run({ prompt: 'list the files' })).text).toContain('`notes.txt`')
  await agent.destroy()
})

test.each([
  ["'a ", 30_000],
  ['"', 99_000],
  ['and list ', 11_000],
  ['a/', 49_000],
  ['```', 33_000],
  ['; ', 49_000],
  ['then ', 19_000],
  ['run a\n', 16_000],
  ['run x\nx\nx\nx\nx\n', 7000],
  ['replace a with in ', 5000],
])('a hundred thousand characters of %j are read to the end, or left', (piece, count) => {
  expect(understand(piece.repeat(count)).length).toBeLessThanOrEqual(40)
})
