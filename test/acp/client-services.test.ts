import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { callIn, choose, type Json, newSession, ofKind, openDesk, openEditor, prompt } from './acp-kit.ts'
import { clientWorld } from './client-world.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const files = { fs: { readTextFile: true, writeTextFile: true } }
const lastResult = (): string => JSON.stringify(service.requests.at(-1).messages.at(-1).content)

test('AC15 what is not saved in the editor is what tools read and edit, and edits go through the editor', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'saved\n')
  desk.write('b.txt', 'one\r\ntwo\r\n')
  const world = clientWorld()
  const path = `${desk.cwd}/a.txt`
  world.buffers.set(path, 'typed, not saved\n')
  const editor = await openEditor(desk, { capabilities: files, handlers: { ...world.handlers, ...choose('allow') } })
  const { sessionId } = await newSession(editor, desk)
  service.play([{ call: 'read_file', args: { path: 'a.txt' } }])
  await prompt(editor, sessionId, 'read')
  expect(lastResult()).toContain('typed, not saved')

  service.play([{ call: 'edit', args: { path: 'a.txt', old_string: 'not saved', new_string: 'and kept' } }])
  await prompt(editor, sessionId, 'edit')
  expect([desk.read('a.txt'), world.written]).toEqual(['typed, and kept\n', [path]])

  // A file without unsaved changes keeps its bytes.
  service.play(
    [{ call: 'read_file', args: { path: 'b.txt' } }],
    [{ call: 'edit', args: { path: 'b.txt', old_string: 'two', new_string: 'TWO' } }],
  )
  await prompt(editor, sessionId, 'go on')
  expect(desk.read('b.txt')).toBe('one\r\nTWO\r\n')
  service.play([{ call: 'write_file', args: { path: 'new/c.txt', content: 'c' } }])
  await prompt(editor, sessionId, 'create')
  expect(desk.read('new/c.txt')).toBe('c')

  // The editor is not asked for what lies outside of the folder.
  service.play([{ call: 'read_file', args: { path: '/etc/hostname' } }])
  await prompt(editor, sessionId, 'look elsewhere')
  expect(world.read.filter((one) => !one.startsWith(desk.cwd))).toEqual([])
})

test('AC16 a command without a sandbox runs in a terminal of the editor, which the call shows; cancelling ends it', async () => {
  const desk = openDesk(service)
  const world = clientWorld()
  const editor = await openEditor(desk, {
    capabilities: { terminal: true },
    handlers: { ...world.handlers, ...choose('allow') },
  })
  const { sessionId } = await newSession(editor, desk)
  service.play([{ call: 'shell', args: { command: 'echo out; echo err >&2; exit 3' } }])
  await prompt(editor, sessionId, 'run')
  const call = callIn(editor.updates(sessionId))
  expect(call).toMatchObject({ kind: 'execute', title: 'echo out; echo err >&2; exit 3', status: 'failed' })
  expect(call.content).toEqual([{ type: 'terminal', terminalId: 't1' }])
  expect([lastResult(), world.commands]).toEqual([
    expect.stringMatching(/out.*err.*exit 3/s),
    ['echo out; echo err >&2; exit 3'],
  ])
  expect(world.terminals.size).toBe(0)

  service.play([{ call: 'shell', args: { command: 'echo begun; sleep 60' } }])
  const running = prompt(editor, sessionId, 'run long')
  await editor.until(({ params }) => params?.update?.content?.[0]?.terminalId === 't2')
  editor.notify('session/cancel', { sessionId })
  expect(await running).toEqual({ stopReason: 'cancelled' })
  expect(world.terminals.size).toBe(0)
})

test('AC17 a client that offers neither files nor terminals is not asked for them', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'saved\n')
  const world = clientWorld()
  const editor = await openEditor(desk, { handlers: { ...world.handlers, ...choose('allow') } })
  const { sessionId } = await newSession(editor, desk)
  service.play([{ call: 'read_file', args: { path: 'a.txt' } }], [{ call: 'shell', args: { command: 'echo here' } }])
  await prompt(editor, sessionId, 'go')
  expect(lastResult()).toContain('here')
  expect([world.read, world.commands]).toEqual([[], []])
  expect(ofKind(editor.updates(sessionId), 'tool_call')).toHaveLength(2)
})

test('AC18 the tools of MCP servers that the editor names can be called', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk, { handlers: choose('allow') })
  const script = fileURLToPath(new URL('../cli/mcp-server.mjs', import.meta.url))
  const server = {
    name: 'my server!',
    command: process.execPath,
    args: [script, 'demo'],
    env: [],
  }
  const { sessionId } = await newSession(editor, desk, { mcpServers: [server] })
  await prompt(editor, sessionId, 'which tools?')
  const names: string[] = service.requests.at(-1).tools.map((tool: Json) => tool.function.name)
  expect(names.filter((name) => name.startsWith('mcp_my_server_'))).not.toEqual([])
  const wrong = { name: 'x', type: 'http', url: 'ftp://nowhere', headers: [] }
  await expect(newSession(editor, desk, { mcpServers: [wrong] })).rejects.toMatchObject({ code: -32602 })
})

test('AC19 a client that goes leaves its run, and a later one finds the session as it was', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  const held = gate()
  service.play([{ say: 'half' }, { hang: held }])
  const running = prompt(editor, sessionId, 'begin').catch(() => {})
  await held.reached
  expect(await editor.end()).toBe(0)
  await running
  held.open()
  const next = await openEditor(desk)
  await next.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  service.play([{ say: 'whole' }])
  expect(await prompt(next, sessionId, 'go on')).toEqual({ stopReason: 'end_turn' })
  const users = service.requests.at(-1).messages.filter(({ role }: Json) => role === 'user')
  expect(JSON.stringify(users).match(/begin/g)).toHaveLength(1)
})
