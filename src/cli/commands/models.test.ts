import { beforeEach, expect, test } from 'vitest'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { knownProviders } from '../models/providers.ts'
import { command } from './models.ts'

let io: FakeIo
beforeEach(() => {
  io = fakeIo()
})

const run = (words: string[], values = {}): Promise<number> => command.run!({ words, values }, io)

test('the models of a provider are listed with context window and price, the marked default first', async () => {
  expect(await run(['anthropic'])).toBe(0)
  const [head, first] = io.said.out.split('\n')
  expect(head).toMatch(/^model +context +output +thinks +in \$\/M +out \$\/M$/)
  expect(first).toMatch(/^anthropic\/claude-sonnet-5 \* +\S+k?M? +yes +\d/)
  expect(io.said.out).toMatch(/^anthropic\/claude-haiku-4-5 +200k +64k +yes +1\.00 +5\.00$/m)
})

test('prices of models with tiers are those of a short prompt', async () => {
  await run(['google'], { json: true })
  const { models } = JSON.parse(io.said.out)
  expect(models.find(({ id }: { id: string }) => id === 'gemini-2.5-pro')).toMatchObject({
    inputPrice: 1.25,
    outputPrice: 10,
  })
})

test('without a provider only usable models are listed, with the one that is used by default', async () => {
  io.env.CEREBRAS_API_KEY = 'k'
  await run([])
  const providers = new Set(
    io.said.out
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split('/')[0]),
  )
  expect([...providers]).toEqual(['cerebras', 'offline'])
  expect(io.said.err).toContain('used by default: cerebras/gpt-oss-120b (CEREBRAS_API_KEY is set)')
})

test('deprecated models and those that write no text are listed only with --all', async () => {
  await run(['openai'], { json: true })
  const some = JSON.parse(io.said.out).models.map(({ id }: { id: string }) => id)
  expect(some.filter((id: string) => /embed|whisper|dall-e/.test(id))).toEqual([])
  io.clear()
  await run(['openai'], { json: true, all: true })
  const all = JSON.parse(io.said.out).models
  expect(all.length).toBeGreaterThan(some.length)
})

test('the models of a local server come from the server, with control characters in names made visible', async () => {
  io.fetch = async () => Response.json({ data: [{ id: 'qwen3:8b' }, { id: 'x\u001b[2J' }] })
  expect(await run(['ollama'])).toBe(0)
  expect(io.said.out).toMatch(/^ollama\/qwen3:8b \* +yes +free +free$/m)
  expect(io.said.out).toContain('ollama/x␛[2J')
})

test.each([{}, { json: true }])(
  'UI-01 nor is the one that would be used trusted with the terminal: %j',
  async (values) => {
    io.fetch = async () => Response.json({ data: [{ id: 'x\u001b[2J\u009b31m\u202e' }] })
    expect(await run(['ollama'], values)).toBe(0)
    const shown = io.said.out + io.said.err
    for (const sign of ['\u001b', '\u009b', '\u202e']) expect(shown).not.toContain(sign)
    expect(shown).toMatch(/31m/)
  },
)

test('a server that does not answer means an error with the next step', async () => {
  expect(await run(['ollama'])).toBe(1)
  expect(io.said.err).toBe('ollama does not answer on this machine, or has no model: start it, then try again\n')
})

test('a provider that does not exist is a usage error', async () => {
  await expect(run(['antropic'])).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('did you mean anthropic?'),
  })
})

test('the help names the order in which providers are searched', () => {
  const order = [...knownProviders({}).values()].filter(({ isFree }) => !isFree).map(({ name }) => name)
  expect(command.details?.join(' ')).toContain(`the first of ${order.join(', ')} and those of the config`)
})
