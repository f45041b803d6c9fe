import { expect, test } from 'vitest'
import { assembleAgent } from '../../core/agent.ts'
import { scripted, tool } from '../../testing/index.ts'
import { matchToolCalling } from './match-tool-calling.ts'
import { withTextTools } from './with-text-tools.ts'

/** Lets a model call `remove` in its text; gives back what ran, and what the model was told. */
async function say(body: string, form = (inner: string) => `<tool_use name="remove">${inner}</tool_use>`) {
  const ran: unknown[] = []
  const remove = tool('remove', (input) => {
    ran.push(input)
    return 'removed'
  })
  const properties = { path: { type: 'string' }, dry_run: { type: 'boolean' } }
  const spec = { ...remove.spec, inputSchema: { type: 'object', properties } }
  const model = scripted(form(body), 'done')
  const patterns = [{ tag: 'tool_call', nameIn: 'json' }] as const
  const agent = assembleAgent({ provider: withTextTools(model, { patterns }), tools: { remove: { ...remove, spec } } })
  await agent.run({ prompt: 'go' })
  return { ran, told: JSON.stringify(model.requests[1]?.messages.at(-1)) }
}

test.each([
  ['path: x, dry_run: True', 'at position 0'],
  ['{"path": "x", "dry_run": maybe(True)}', 'at position 25'],
  ['{"path": "\\d", "dry_run": true}', 'not a JSON escape'],
  ['{"path": "x", "dry_run": true', 'looks cut off'],
  ['["x"]', 'expected a JSON object, got array'],
])('Q02 the body %s is refused, with the reason, and nothing runs', async (body, reason) => {
  const { ran, told } = await say(body)
  expect(ran).toEqual([])
  expect(told).toContain('the arguments could not be read')
  expect(told).toContain(reason)
})

test('Q02 a call that has its name inside is refused by that name', async () => {
  const named = (args: string): string => `<tool_call>{"name": "remove", "arguments": ${args}}</tool_call>`
  const { ran, told } = await say('{"path": "\\d"}', named)
  expect(ran).toEqual([])
  expect(told).toContain('not a JSON escape')
  expect((await say('{"path": 3.10}', named)).ran).toEqual([{ path: '3.10' }])
})

test.each([
  '{"path": "x", "dry_run": True}',
  "{'path': 'x', 'dry_run': True}",
  '{path: "x", /* try */ dry_run: "yes",}',
  '```json\n{"path": "x", "dry_run": true}\n```',
])('Q02 the body %s is read by the reader of the engine', async (body) => {
  expect((await say(body)).ran).toEqual([{ path: 'x', dry_run: true }])
})

test('Q02 unreadable calls are marked for a program that looks for calls', () => {
  const call = matchToolCalling('<tool_use name="t">{"a": "\\;"}</tool_use>')
  expect(call?.parameters).toEqual({ input: '{"a": "\\;"}' })
  expect(call?.unreadable).toBe('at position 7: \\; is not a JSON escape; write \\\\ for a backslash')
})
