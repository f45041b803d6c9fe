import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { rounds } from '../soak.ts'
import { newSession, openDesk, openEditor, prompt, textOf } from './acp-kit.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

test('AC21 what is no message gets an error of JSON-RPC, and the next prompt is answered', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  const lines = [
    'no JSON',
    '{"jsonrpc":"2.0",',
    '[]',
    '[{"jsonrpc":"2.0","id":1,"method":"initialize"}]',
    'null',
    '1e999',
    '"text"',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"initialize"}',
    '\uFEFF{}',
    `{"a":${'['.repeat(20_000)}`,
  ]
  for (const line of lines) editor.send(`${line}\n`)
  editor.send('\n\r\n')
  const wrong = await Promise.all(
    lines.map((_, i) =>
      editor.until(() => editor.frames.filter(({ message }) => message.id === null && message.error).length > i),
    ),
  )
  expect(wrong).toHaveLength(lines.length)
  const codes = editor.frames.flatMap(({ message }) => (message.id === null ? [message.error.code] : []))
  expect([...new Set(codes)].sort()).toEqual([-32600, -32700].sort())
  service.play([{ say: 'alive' }])
  expect(await prompt(editor, sessionId, 'are you there?')).toEqual({ stopReason: 'end_turn' })
  expect(textOf(editor.updates(sessionId))).toBe('alive')
})

test('AC21 requests with any parameters get an answer or an error, and none ends the process', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  const methods = [
    ...['authenticate', 'logout', 'session/new', 'session/load', 'session/resume', 'session/list', 'session/delete'],
    ...['session/close', 'session/set_mode', 'session/set_config_option', 'session/prompt', 'nothing', '__proto__'],
  ]
  const names = [
    'sessionId',
    'cwd',
    'mcpServers',
    'prompt',
    'cursor',
    'modeId',
    'configId',
    'value',
    'methodId',
    '_meta',
  ]
  const value = fc.oneof(
    fc.constantFrom(sessionId, '/', '/nowhere', '../..', 'mode', 'constructor', '', '\0', '\ud800'),
    fc.jsonValue({ maxDepth: 3 }),
    fc.constant([{ type: 'resource', resource: { uri: 'file://%', blob: '' } }]),
  )
  const request = fc.tuple(
    fc.constantFrom(...methods),
    fc.oneof(
      { weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...names), value) },
      { weight: 1, arbitrary: fc.jsonValue() },
    ),
  )
  await fc.assert(
    fc.asyncProperty(request, async ([method, params]) => {
      const { error } = await editor.sendRequest(method, params)
      if (error) expect([error.code, typeof error.message]).toEqual([expect.any(Number), 'string'])
    }),
    { numRuns: rounds(100, 3000) },
  )
  editor.notify('session/cancel', { sessionId: 'none' })
  editor.send(`${JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params: 7 })}\n`)
  editor.send(`${JSON.stringify({ jsonrpc: '2.0', id: 'unasked', result: {} })}\n`)
  const other = await newSession(editor, desk)
  expect(await prompt(editor, other.sessionId, 'still there?')).toEqual({ stopReason: 'end_turn' })
})
