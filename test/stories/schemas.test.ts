import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { createAgent, createMemoryStore, createSession, defineTool, zodToJsonSchema } from '../../src/index.ts'
import { call, type Step, scripted, texts } from '../../src/testing/index.ts'

const trip = {
  type: 'object',
  properties: { to: { type: 'string' }, days: { type: 'number' } },
  required: ['to'],
}
const zodTrip = z.object({ to: z.string().min(2), days: z.number().default(3) })
const arkTrip = type({ to: 'string >= 2', days: 'number = 3' })
const valibotTrip = v.object({ to: v.pipe(v.string(), v.minLength(2)), days: v.optional(v.number(), 3) })
const miniTrip = mini.object({ to: mini.string().check(mini.minLength(2)), days: mini._default(mini.number(), 3) })

class TripSchema {
  readonly inner = zodTrip['~standard']
  readonly jsonSchema = this.inner.jsonSchema
  readonly '~standard' = this
  validate(value: unknown) {
    return this.inner.validate(value)
  }
}

const libraries = [
  ['zod', zodTrip],
  ['arktype', arkTrip],
  ['valibot with a JSON Schema beside it', { schema: valibotTrip, jsonSchema: trip }],
  [
    'zod/mini with a JSON Schema beside it',
    { schema: miniTrip, jsonSchema: mini.toJSONSchema(miniTrip, { io: 'input' }) },
  ],
  ['a class whose methods use `this`', new TripSchema()],
  ['what z.toJSONSchema gives', z.toJSONSchema(zodTrip, { io: 'input' })],
] as const

describe.each(libraries)('E04 a schema of %s', (_, schema) => {
  const defined = defineTool({
    name: 'book',
    description: 'Books.',
    input: schema as typeof zodTrip,
    execute: ({ to, days }) => `${to} for ${days}`,
  })
  const plain = {
    spec: { name: 'book', description: 'Books.', inputSchema: schema },
    execute: ({ to, days }: { to: string; days: number }) => `${to} for ${days}`,
  }

  test.each([
    ['defineTool', defined],
    ['spec.inputSchema', plain],
  ])('in %s describes a tool, fills in defaults and refuses with path and reason', async (_, book) => {
    const calls = [
      call('1', 'book', { to: 'Bern' }),
      call('2', 'book', { to: 'Bern', days: '5' }),
      call('3', 'book', { to: 'B' }),
    ]
    const provider = scripted(calls, 'fin')
    const agent = createAgent({ provider, tools: { book } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toMatch(/^user: ←Bern for 3 ←Bern for 5 ←Validation error: to: /)
    const { inputSchema } = provider.requests[0]!.tools[0]!
    expect(inputSchema).toMatchObject({ type: 'object', properties: { to: { type: 'string' } }, required: ['to'] })
    expect(inputSchema).not.toHaveProperty('$schema')
  })

  test('in behavior.schema gives the answer its shape, with one more try and the reason', async () => {
    const provider = scripted('Bern.', answer({ to: 'B' }), answer({ to: 'Bern' }))
    const agent = createAgent({ provider, behavior: { schema } })
    const { output } = await agent.run({ prompt: 'Where to?' })
    expect(output).toEqual({ to: 'Bern', days: 3 })
    expect(texts(provider.requests[2]!.messages).at(-1)).toContain('does not fit: to: ')
    expect(provider.requests[1]!.tools[0]!.inputSchema).toMatchObject({ required: ['to'] })
  })
})

describe('E04 structured output', () => {
  const City = z.object({ name: z.string(), founded: z.string().transform((day) => new Date(day)) })
  const bern = { name: 'Bern', founded: '1191-01-01' }

  test('has the type of its schema, of the agent or of the run', async () => {
    const provider = scripted('Bern.', answer(bern), 'Bern.', answer({ to: 'Bern' }), 'Bern.', answer({ to: 'Bern' }))
    const agent = createAgent({ provider, behavior: { schema: City } })
    const ofAgent = await agent.run({ prompt: 'Which?' })
    expectTypeOf(ofAgent.output).toEqualTypeOf<{ name: string; founded: Date } | undefined>()
    const ofRun = await agent.run({ prompt: 'Which?', behavior: { schema: arkTrip } })
    expectTypeOf(ofRun.output).toEqualTypeOf<{ to: string; days: number } | undefined>()
    const ofJson = await agent.run({ prompt: 'Which?', behavior: { schema: trip } })
    expectTypeOf(ofJson.output).toEqualTypeOf<unknown>()
    expect(ofAgent.output?.founded.getUTCFullYear()).toBe(1191)
    expect([ofRun.output, ofJson.output]).toEqual([{ to: 'Bern', days: 3 }, { to: 'Bern' }])
  })

  test('that is more than data is kept in the log as JSON', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store })
    const agent = createAgent({ provider: scripted('Bern.', answer(bern)), session, behavior: { schema: City } })
    await agent.run({ prompt: 'Which?' })
    const ended = (await store.read(session.id)).find((entry) => entry.type === 'run_ended')
    expect(ended).toMatchObject({ output: { name: 'Bern', founded: '1191-01-01T00:00:00.000Z' } })
  })

  test('may be validated by an async schema, and be no object', async () => {
    const Known = z.array(z.string().refine(async (name) => name !== 'Atlantis', 'no such place'))
    const provider = scripted('Done.', answer({ value: ['Atlantis'] }), answer({ value: ['Bern'] }))
    const { output } = await createAgent({ provider, behavior: { schema: Known } }).run({ prompt: 'Where?' })
    expect(output).toEqual(['Bern'])
    expect(texts(provider.requests[2]!.messages).at(-1)).toContain('does not fit: 0: no such place')
  })
})

describe('E04 a schema of the wrong kind', () => {
  const provider = scripted()

  test.each([
    ['a library that writes no JSON Schema', valibotTrip, /Pass \{ schema, jsonSchema \}.*toJsonSchema\(schema\)/],
    ['zod/mini, which writes none', mini.object({ to: mini.string() }), /z\.toJSONSchema\(schema\) for zod\/mini/],
    ['a part that JSON Schema cannot say', z.object({ at: z.date() }), /Date cannot.*Pass \{ schema, jsonS/],
    ['the inside of a zod schema', { ...zodTrip }, /as it is, as in z\.object/],
    ['zod inside a JSON Schema', { type: 'object', properties: { a: z.string() } }, /as it is, as in z\.object/],
    [
      'a text',
      'object',
      /behavior\.schema must be a schema of zod, valibot or arktype, or a JSON Schema, got "object"/,
    ],
    ['a type that does not exist', { type: 'objekt' }, /behavior\.schema: .*no type "objekt", did you mean "object"/],
    [
      'one in an item of a property',
      { type: 'object', properties: { days: { type: 'array', items: { type: ['null', 'numbr'] } } } },
      /behavior\.schema\.properties\.days\.items: .*"numbr", did you mean "number"/,
    ],
  ])('such as %s is refused with the right call', (_, schema, message) => {
    // @ts-expect-error not every one of these is a schema
    expect(() => createAgent({ provider, behavior: { schema } })).toThrow(message)
  })

  test('is a type error', () => {
    const misuse = (): void => {
      // @ts-expect-error a class that is no schema
      zodToJsonSchema(new Map())
      // @ts-expect-error the input of a typed tool needs a schema that has types
      defineTool({ name: 'a', description: '', input: trip, execute: () => '' })
      // @ts-expect-error there is no such field of the input
      defineTool({ name: 'a', description: '', input: zodTrip, execute: ({ from }) => from })
    }
    expect(misuse).toThrow(/zodToJsonSchema\(schema\) must be a schema of zod/)
  })

  test('zodToJsonSchema takes the schema itself, too', () => {
    expect(zodToJsonSchema(zodTrip)).toMatchObject({ type: 'object', required: ['to'] })
    expect(zodToJsonSchema(zodTrip)).not.toHaveProperty('_zod')
  })

  test('beside a check of the tool is refused', () => {
    const book = {
      spec: { name: 'b', description: '', inputSchema: zodTrip },
      check: () => undefined,
      execute: () => '',
    }
    expect(() => createAgent({ provider, tools: { book } })).toThrow(/put that check into the schema/)
  })
})

test('E04 an async schema that refuses is told and logged as any other', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store })
  const Known = z.object({ to: z.string().refine(async (name) => name !== 'Atlantis', 'no such place') })
  const book = defineTool({ name: 'book', description: '', input: Known, execute: ({ to }) => to })
  const provider = scripted([call('1', 'book', { to: 'Atlantis' }), call('2', 'book', { to: 'Bern' })], 'fin')
  const agent = createAgent({ provider, session, tools: { book } })
  const rejected: unknown[] = []
  agent.hooks.hook('validation:reject', ({ callId, error }) => void rejected.push([callId, error]))
  await agent.run({ prompt: 'go' })
  expect(rejected).toEqual([['1', 'to: no such place']])
  expect(texts(agent.turns)[2]).toBe('user: ←Validation error: to: no such place ←Bern')
  const results = (await store.read(session.id)).filter((entry) => entry.type === 'call_result')
  expect(results).toMatchObject([{ outcome: 'invalid', isError: true }, { outcome: 'done' }])
})

const answer = (input: Record<string, unknown>): Step => [call('out', '__output__', input)]
