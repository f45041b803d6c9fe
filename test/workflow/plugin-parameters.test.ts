import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definePlugin, type PluginDefinition } from '../../src/plugins/index.ts'
import { call, type Step, texts } from '../../src/testing/scripted.ts'
import { definition, world } from './kit.ts'

const zodDrink = z.object({
  kind: z.enum(['tea', 'coffee']),
  cups: z.number().min(1).default(2),
  milk: z.object({ from: z.string() }).optional(),
  name: z
    .string()
    .refine((name) => name !== 'Nemo', 'Nemo drinks nothing')
    .optional(),
})
const jsonDrink = {
  type: 'object',
  properties: {
    kind: { enum: ['tea', 'coffee'] },
    cups: { type: 'number', minimum: 1 },
    milk: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] },
  },
  required: ['kind'],
}

describe.each([
  ['called natively', false],
  ['called in text', true],
])('M01 the tool of a plugin, %s,', (_, isText) => {
  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ['a word outside of an enum', { kind: 'gin' }, /kind/],
    ['a number below its minimum', { kind: 'tea', cups: 0 }, /cups/],
    ['a nested object without a required field', { kind: 'tea', milk: {} }, /milk/],
  ]
  const refined: typeof wrong = [['what a refinement refuses', { kind: 'tea', name: 'Nemo' }, /Nemo drinks nothing/]]

  test.each([
    ['zod', zodDrink, [...wrong, ...refined]],
    ['JSON Schema', jsonDrink, wrong],
  ] as const)('is refused by its schema of %s, with the reason, and does not run', async (_, schema, cases) => {
    const { poured, provider } = await serve(
      schema,
      cases.map(([, input]) => input),
      isText,
    )
    const told = texts(provider.requests[1]!.messages).at(-1)!
    expect(told.match(/Validation error/g)).toHaveLength(cases.length)
    for (const [, , reason] of cases) expect(told).toMatch(reason)
    expect(poured).toEqual([])
  })

  test('gets what its schema made of the parameters, defaults filled in', async () => {
    const { poured } = await serve(zodDrink, [{ kind: 'tea' }, { kind: 'coffee', cups: '3' }], isText)
    expect(poured).toEqual([
      { kind: 'tea', cups: 2 },
      { kind: 'coffee', cups: 3 },
    ])
  })

  async function serve(schema: object, inputs: readonly object[], isText: boolean) {
    const poured: unknown[] = []
    const bar = definePlugin({
      toolId: 'bar',
      displayName: 'Bar',
      description: 'Serves.',
      llmToolSchemas: { pour: schema } as PluginDefinition['llmToolSchemas'] & object,
      async onResponseComplete({ executeToolCall }) {
        await executeToolCall('pour', (parameters) => String(poured.push(parameters)))
      },
    })
    const natively = inputs.map((input, i) => call(String(i), 'pour', { ...input }))
    const inText = inputs.map((input) => `<tool_use name="pour">${JSON.stringify(input)}</tool_use>`).join('\n')
    const steps: Step[] = [isText ? inText : natively, 'Cheers.']
    const { workflow, provider } = world(steps, {
      definitions: [{ ...definition('bar'), ...(isText && { textTools: true }) }],
      plugins: [bar],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Pour')
    await workflow.close()
    return { poured, provider }
  }
})
