import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fakeIo, runLibero } from '../cli/fake-io.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import {
  callIn,
  choose,
  frameProblems,
  type Json,
  never,
  newSession,
  ofKind,
  openDesk,
  openEditor,
  prompt,
  textOf,
} from './acp-kit.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('AC01 a client initializes, opens a session and gets the answer of the model as it streams', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { result } = editor.frames.find(({ from }) => from === 'agent')!.message
  expect(result).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: 'libero' },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
  })
  const { sessionId } = await newSession(editor, desk)
  service.play([{ say: 'Hello' }, { say: ', you' }])
  expect(await prompt(editor, sessionId, 'hi')).toEqual({ stopReason: 'end_turn' })
  const updates = editor.updates(sessionId)
  expect(textOf(updates)).toBe('Hello, you')
  expect(ofKind(updates, 'user_message_chunk')).toEqual([]) // the client shows its own prompts
  const at = (matches: (message: Json) => boolean): number => editor.frames.findIndex(({ message }) => matches(message))
  expect(at(({ result: sent }) => sent?.sessionId === sessionId)).toBeLessThan(
    at(({ method }) => method === 'session/update'),
  )
  expect(await editor.end()).toBe(0)
})

test('AC02 sessions are listed by folder, resumed without and loaded with their history, closed and deleted', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'one\n')
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  service.play([{ say: 'I read it.' }, { call: 'read_file', args: { path: 'a.txt' } }], [{ say: 'It says one.' }])
  await prompt(editor, sessionId, 'what is in a.txt?')
  const live = editor.updates(sessionId)
  const listed = await editor.request('session/list', { cwd: desk.cwd })
  expect(listed.sessions).toEqual([
    { sessionId, cwd: desk.cwd, title: 'what is in a.txt?', updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
  ])
  expect((await editor.request('session/list', { cwd: '/' })).sessions).toEqual([])
  await editor.request('session/close', { sessionId })
  await expect(prompt(editor, sessionId, 'again')).rejects.toMatchObject({ code: -32002 })

  const loaded = editor.frames.length
  expect(await editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })).toMatchObject({
    modes: { currentModeId: 'ask' },
    configOptions: [{ id: 'mode' }, { id: 'model' }, { id: 'thinking' }],
  })
  const answeredAt = editor.frames.findIndex(({ message }, i) => i > loaded && message.result?.modes)
  const replayed = editor.frames.slice(loaded, answeredAt).flatMap(({ message }) => message.params?.update ?? [])
  expect(textOf(replayed, 'user_message_chunk')).toBe('what is in a.txt?')
  expect(textOf(replayed)).toBe('I read it.It says one.')
  expect(callIn(replayed)).toEqual({ ...callIn(live), sessionUpdate: 'tool_call' })

  await editor.request('session/close', { sessionId })
  const resumed = editor.frames.length
  await editor.request('session/resume', { sessionId, cwd: desk.cwd })
  service.play([{ say: 'Still here.' }])
  await prompt(editor, sessionId, 'and now?')
  const after = editor.frames.slice(resumed).flatMap(({ message }) => message.params?.update ?? [])
  expect(textOf(after)).toBe('Still here.')
  expect(ofKind(after, 'user_message_chunk')).toEqual([])
  expect(service.requests.at(-1).messages.filter(({ role }: Json) => role === 'user')).toHaveLength(2)

  await editor.request('session/delete', { sessionId })
  expect((await editor.request('session/list', {})).sessions).toEqual([])
  await editor.request('session/delete', { sessionId }) // it is gone already
  const load = editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  await expect(load).rejects.toMatchObject({ code: -32002, message: expect.stringContaining('session/list') })
})

test('AC02 a session that is asked for twice at once is opened twice, one after the other, and works', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  await prompt(editor, sessionId, 'begin')
  const load = () => editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  await Promise.all([load(), load(), editor.request('session/resume', { sessionId, cwd: desk.cwd })])
  service.play([{ say: 'once' }])
  const from = editor.frames.length
  expect(await prompt(editor, sessionId, 'go on')).toEqual({ stopReason: 'end_turn' })
  const after = editor.frames.slice(from).flatMap(({ message }) => message.params?.update ?? [])
  expect(textOf(after)).toBe('once')
  const held = gate()
  service.play([{ hang: held }])
  const running = prompt(editor, sessionId, 'work')
  await held.reached
  await expect(load()).rejects.toMatchObject({ code: -32600, message: expect.stringContaining('at work') })
  await editor.request('session/close', { sessionId })
  expect(await running).toEqual({ stopReason: 'cancelled' })
  held.open()
})

test('AC03 a prompt may have images, embedded and linked resources', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  service.play([{ say: 'Seen.' }])
  const blocks = [
    { type: 'text', text: 'Compare ' },
    { type: 'resource_link', uri: `file://${desk.cwd}/b%20c.txt`, name: 'b c.txt' },
    { type: 'image', mimeType: 'image/png', data: pixel },
    { type: 'resource', resource: { uri: `file://${desk.cwd}/d.txt`, text: 'not saved yet' } },
    { type: 'resource', resource: { uri: 'x:1', mimeType: 'application/zip', blob: 'AAAA' } },
  ]
  await editor.request('session/prompt', { sessionId, prompt: blocks })
  const sent = JSON.stringify(service.requests.at(-1).messages.at(-1).content)
  expect(sent).toContain(`Compare [@b c.txt](${desk.cwd}/b c.txt)`)
  expect(sent).toContain(`The file ${desk.cwd}/d.txt:\\n\`\`\`\\nnot saved yet`)
  expect(sent).toContain(pixel)
  expect(sent).toContain('[x:1: application/zip, not shown]')
  for (const wrong of [[], [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }]])
    await expect(editor.request('session/prompt', { sessionId, prompt: wrong })).rejects.toMatchObject({ code: -32602 })

  await editor.request('session/close', { sessionId })
  const from = editor.frames.length
  await editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  const shown = editor.frames.slice(from).flatMap(({ message }) => message.params?.update?.content ?? [])
  expect(shown).toContainEqual({ type: 'image', mimeType: 'image/png', data: pixel })
  expect(shown).toContainEqual({ type: 'resource_link', uri: `file://${desk.cwd}/d.txt`, name: 'd.txt' })
})

test('AC04 calls have kinds, absolute locations with lines, and diffs of what changed', async () => {
  const desk = openDesk(service)
  desk.write('src/a.txt', 'one\ntwo\nthree\nfour\nfive\n')
  const editor = await openEditor(desk, { handlers: choose('allow') })
  const { sessionId } = await newSession(editor, desk)
  const path = `${desk.cwd}/src/a.txt`
  service.play(
    [{ call: 'read_file', args: { path: 'src/a.txt', offset: 2, limit: 1 } }],
    [{ call: 'edit', args: { path: 'src/a.txt', old_string: 'four', new_string: 'FOUR' } }],
    [{ call: 'write_file', args: { path, content: 'new\n' } }],
    [{ call: 'write_file', args: { path: 'made.txt', content: 'made\n' } }],
    [{ call: 'multi_edit', args: { path: 'made.txt', edits: [{ old_string: 'made', new_string: 'MADE' }] } }],
    [{ call: 'grep', args: { pattern: 'MADE' } }],
    [{ call: 'read_file', args: { path: 'none.txt' } }],
  )
  await prompt(editor, sessionId, 'go')
  const updates = editor.updates(sessionId)
  const ids = ofKind(updates, 'tool_call').map(({ toolCallId }) => toolCallId)
  const [read, edit, write, create, multi, grep, failed] = ids.map((id) => callIn(updates, id))
  expect(read).toMatchObject({ kind: 'read', status: 'completed', locations: [{ path, line: 2 }] })
  expect(read.title).toBe('read_file src/a.txt')
  expect(edit).toMatchObject({ kind: 'edit', status: 'completed', locations: [{ path, line: 4 }] })
  const before = 'one\ntwo\nthree\nfour\nfive\n'
  expect(edit.content).toEqual([{ type: 'diff', path, oldText: before, newText: before.replace('four', 'FOUR') }])
  expect(write.content).toEqual([{ type: 'diff', path, oldText: before.replace('four', 'FOUR'), newText: 'new\n' }])
  const made = `${desk.cwd}/made.txt`
  expect(create.content).toEqual([{ type: 'diff', path: made, oldText: null, newText: 'made\n' }])
  expect(multi.content).toEqual([{ type: 'diff', path: made, oldText: 'made\n', newText: 'MADE\n' }])
  expect([create.locations, multi.locations]).toEqual([[{ path: made, line: 1 }], [{ path: made, line: 1 }]])
  expect([grep.kind, grep.status, failed.status]).toEqual(['search', 'completed', 'failed'])
  const statuses = updates.filter(({ toolCallId }) => toolCallId === ids[1]).flatMap(({ status }) => status ?? [])
  expect(statuses).toEqual(['pending', 'in_progress', 'completed'])
  expect(desk.read('made.txt')).toBe('MADE\n')
})

test('AC05 a permission has our scopes, each with what it covers in words, and counts as long as it says', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'a')
  const asked: Json[] = []
  let choice = 'allow-session'
  const editor = await openEditor(desk, {
    handlers: {
      'session/request_permission': (params) => {
        asked.push(params)
        return { outcome: { outcome: 'selected', optionId: choice } }
      },
    },
  })
  const { sessionId } = await newSession(editor, desk)
  const write = (path: string, content: string) => [{ call: 'write_file', args: { path, content } }]
  service.play(write('a.txt', 'b'), write('a.txt', 'c'))
  await prompt(editor, sessionId, 'go')
  expect(desk.read('a.txt')).toBe('c')
  expect(asked).toHaveLength(1) // the second write is covered
  expect(asked[0].options).toEqual([
    { optionId: 'allow', kind: 'allow_once', name: 'Allow once' },
    {
      optionId: 'allow-session',
      kind: 'allow_always',
      name: expect.stringMatching(/^Allow in this session: write_file in /),
    },
    { optionId: 'allow-project', kind: 'allow_always', name: expect.stringMatching(/^Allow always: write_file in /) },
    { optionId: 'deny', kind: 'reject_once', name: 'Deny' },
  ])
  const [call] = ofKind(editor.updates(sessionId), 'tool_call')
  expect(asked[0].toolCall).toMatchObject({
    toolCallId: call.toolCallId,
    title: 'write_file a.txt',
    rawInput: { path: 'a.txt', content: 'b' },
    content: [{ type: 'diff', oldText: 'a', newText: 'b' }, { type: 'content' }],
  })
  choice = 'deny'
  service.play(write('sub/b.txt', 'x'))
  await prompt(editor, sessionId, 'again')
  expect(callIn(editor.updates(sessionId), asked[1].toolCall.toolCallId).status).toBe('failed')
  expect(() => desk.read('sub/b.txt')).toThrow()
  choice = 'an option that was not offered'
  service.play(write('sub/b.txt', 'x'))
  await prompt(editor, sessionId, 'again')
  expect(() => desk.read('sub/b.txt')).toThrow()
})

test('AC06 modes, models and thinking are modes and config options, and each answer has the full list', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk, { handlers: choose('deny') })
  const opened = await newSession(editor, desk)
  const { sessionId } = opened
  expect(opened.modes.availableModes.map(({ id }: Json) => id)).toEqual(['ask', 'plan', 'allowlist', 'yolo'])
  expect(opened.configOptions.map(({ category }: Json) => category)).toEqual(['mode', 'model', 'thought_level'])
  const set = (configId: string, value: string) =>
    editor.request('session/set_config_option', { sessionId, configId, value })
  const values = ({ configOptions }: Json) => configOptions.map(({ currentValue }: Json) => currentValue)
  expect(values(opened)).toEqual(['ask', 'mock/mock-1', 'off'])
  expect(values(await set('thinking', 'high'))).toEqual(['ask', 'mock/mock-1', 'high'])
  expect(values(await set('model', 'mock/mock-2'))).toEqual(['ask', 'mock/mock-2', 'high'])
  await editor.request('session/set_mode', { sessionId, modeId: 'plan' })
  await editor.until(({ params }) => params?.update?.currentModeId === 'plan')
  const told = await editor.until(({ params }) => params?.update?.configOptions?.[0].currentValue === 'plan')
  expect(values(told.params.update)).toEqual(['plan', 'mock/mock-2', 'high'])
  service.play([{ call: 'write_file', args: { path: 'a.txt', content: 'x' } }])
  await prompt(editor, sessionId, 'go')
  expect(service.requests.at(-1).model).toBe('mock-2')
  expect(() => desk.read('a.txt')).toThrow() // the mode plan refuses it
  await expect(set('mode', 'none')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('ask, plan'),
  })
  await expect(set('colour', 'red')).rejects.toMatchObject({ code: -32602 })
})

test('AC07 the todo list and a presented plan are plans; a plan that is accepted leaves the mode plan', async () => {
  const desk = openDesk(service)
  const asked: Json[] = []
  const editor = await openEditor(desk, {
    flags: ['--mode', 'plan'],
    handlers: {
      'session/request_permission': (params) => {
        asked.push(params)
        return { outcome: { outcome: 'selected', optionId: 'yes' } }
      },
    },
  })
  const { sessionId } = await newSession(editor, desk)
  const todos = [
    { content: 'Look', status: 'completed' },
    { content: 'Write', status: 'in_progress' },
  ]
  service.play(
    [{ call: 'present_plan', args: { plan: '# A plan\n\n1. Look\n2. Write\n   - more' } }],
    [{ call: 'todowrite', args: { todos } }],
  )
  await prompt(editor, sessionId, 'plan it')
  const plans = ofKind(editor.updates(sessionId), 'plan').map(({ entries }) => entries)
  expect(plans).toEqual([
    [
      { content: 'Look', priority: 'medium', status: 'pending' },
      { content: 'Write', priority: 'medium', status: 'pending' },
    ],
    todos.map((todo) => ({ ...todo, priority: 'medium' })),
  ])
  expect(asked[0].toolCall).toMatchObject({ kind: 'switch_mode', title: 'Go ahead with this plan?' })
  expect(asked[0].toolCall.content[0].content.text).toContain('1. Look')
  expect(ofKind(editor.updates(sessionId), 'current_mode_update')).toEqual([
    { sessionUpdate: 'current_mode_update', currentModeId: 'ask' },
  ])
  expect(JSON.stringify(service.requests.at(-2).messages.at(-1))).toContain('approved the plan')
})

test('AC08 skills and custom commands are slash commands that run', async () => {
  const desk = openDesk(service)
  mkdirSync(`${desk.home}/commands`)
  writeFileSync(`${desk.home}/commands/greet.md`, '---\ndescription: Greets\n---\nSay hello to $ARGUMENTS')
  mkdirSync(`${desk.home}/skills/poems`, { recursive: true })
  writeFileSync(`${desk.home}/skills/poems/SKILL.md`, '---\nname: poems\ndescription: Writes poems\n---\nRhyme.')
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  service.play([{ say: 'Hi!' }])
  await prompt(editor, sessionId, '/greet me at once') // before the list has come
  expect(JSON.stringify(service.requests.at(-1).messages.at(-1))).toContain('Say hello to me at once')
  const listed = await editor.until(({ params }) => params?.update?.availableCommands)
  const commands: Json[] = listed.params.update.availableCommands
  expect(commands.map(({ name }) => name)).toEqual(expect.arrayContaining(['greet', 'skill:poems', 'compact', 'cost']))
  expect(commands.map(({ name }) => name)).not.toContain('quit')
  service.play([{ say: 'Hello!' }])
  await prompt(editor, sessionId, '/greet the world')
  expect(JSON.stringify(service.requests.at(-1).messages.at(-1))).toContain('Say hello to the world')
  service.play([{ say: 'Roses are red' }])
  await prompt(editor, sessionId, '/skill:poems about roses')
  expect(JSON.stringify(service.requests.at(-1).messages)).toContain('Rhyme.')
  const asked = service.requests.length
  expect(await prompt(editor, sessionId, '/cost')).toEqual({ stopReason: 'end_turn' })
  expect([textOf(editor.updates(sessionId)), service.requests.length]).toEqual([
    expect.stringContaining('3 model calls'),
    asked,
  ])
  service.play([{ say: 'It is a path.' }])
  await prompt(editor, sessionId, '/nothing of ours')
  expect(JSON.stringify(service.requests.at(-1).messages.at(-1))).toContain('/nothing of ours')
})

test('AC09 a question of a tool is a form of the client; where it has none, the model asks in its answer', async () => {
  const desk = openDesk(service)
  const asked: Json[] = []
  const editor = await openEditor(desk, {
    capabilities: { elicitation: { form: {} } },
    handlers: {
      'elicitation/create': (params) => {
        asked.push(params)
        return { action: 'accept', content: { answer: '1' } }
      },
    },
  })
  const { sessionId } = await newSession(editor, desk)
  const question = { question: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }] }
  service.play([{ call: 'ask_user', args: question }])
  await prompt(editor, sessionId, 'go')
  const [call] = ofKind(editor.updates(sessionId), 'tool_call')
  expect(asked).toMatchObject([
    {
      mode: 'form',
      toolCallId: call.toolCallId,
      message: 'Which colour?',
      requestedSchema: {
        properties: {
          answer: {
            oneOf: [
              { const: '0', title: 'red' },
              { const: '1', title: 'blue' },
            ],
          },
        },
      },
    },
  ])
  expect(JSON.stringify(service.requests.at(-1).messages.at(-1))).toContain('The user answered: blue')

  const plain = await openEditor(desk)
  const other = await newSession(plain, desk)
  await prompt(plain, other.sessionId, 'go')
  const tools = service.requests.at(-1).tools.map((tool: Json) => tool.function.name)
  expect(tools).toContain('present_plan')
  expect(tools).not.toContain('ask_user') // the model asks in its answer
})

test('AC10 the client gets the use of the context and the title of the session', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  service.play([{ say: 'ok' }])
  await prompt(editor, sessionId, 'name \u202ethis\nthing')
  const updates = editor.updates(sessionId)
  expect(ofKind(updates, 'usage_update')).toMatchObject([{ used: 107, size: 1000 }])
  expect(ofKind(updates, 'session_info_update')).toEqual([
    { sessionUpdate: 'session_info_update', title: expect.stringMatching(/^name (?:\\u202e)?this thing$/) },
  ])
})

test('AC11 two sessions work at once in one process', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk)
  const [one, other] = [await newSession(editor, desk), await newSession(editor, desk)]
  const held = gate()
  service.play([{ say: 'first' }, { hang: held }, { say: ' done' }], [{ say: 'second' }])
  const first = prompt(editor, one.sessionId, 'one')
  await held.reached
  expect(await prompt(editor, other.sessionId, 'two')).toEqual({ stopReason: 'end_turn' })
  held.open()
  expect(await first).toEqual({ stopReason: 'end_turn' })
  expect([textOf(editor.updates(one.sessionId)), textOf(editor.updates(other.sessionId))]).toEqual([
    'first done',
    'second',
  ])
})

test('AC12 a prompt that is cancelled is answered with cancelled: while the model streams, while a permission waits, before it begins', async () => {
  const desk = openDesk(service)
  const editor = await openEditor(desk, { handlers: { 'session/request_permission': () => never } })
  const { sessionId } = await newSession(editor, desk)
  const held = gate()
  service.play([{ say: 'I beg' }, { hang: held }])
  const running = prompt(editor, sessionId, 'one')
  const waiting = prompt(editor, sessionId, 'two')
  await held.reached
  await editor.until(({ params }) => params?.update?.content?.text === 'I beg')
  editor.notify('session/cancel', { sessionId })
  expect([await running, await waiting]).toEqual([{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }])
  held.open()

  service.play([{ call: 'write_file', args: { path: 'a.txt', content: 'x' } }], [{ say: 'not said' }])
  const asking = prompt(editor, sessionId, 'three')
  const request = await editor.until(({ method }) => method === 'session/request_permission')
  editor.notify('session/cancel', { sessionId })
  expect(await asking).toEqual({ stopReason: 'cancelled' })
  await editor.until(({ method, params }) => method === '$/cancel_request' && params.requestId === request.id)
  expect(() => desk.read('a.txt')).toThrow()

  service.play([{ say: 'Here again.' }])
  expect(await prompt(editor, sessionId, 'four')).toEqual({ stopReason: 'end_turn' })
  expect(textOf(editor.updates(sessionId))).toContain('Here again.')
})

test('AC13 without a model, opening a session asks for a login, which is offered for a terminal', async () => {
  const desk = openDesk(service, { provider: undefined, providers: {} })
  const editor = await openEditor(desk, { capabilities: { auth: { terminal: true } } })
  expect(editor.frames[1]!.message.result.authMethods).toEqual([
    { type: 'terminal', id: 'login', name: 'Log in', description: expect.any(String), args: ['login'] },
  ])
  await expect(newSession(editor, desk)).rejects.toMatchObject({
    code: -32000,
    message: expect.stringContaining('libero login'),
  })
  await expect(editor.request('authenticate', { methodId: 'login' })).rejects.toMatchObject({ code: -32000 })
  const io = fakeIo({ home: desk.home, stdin: '' })
  expect((await runLibero(['acp', '--provider', 'anthropic', 'login'], io)).err).toContain('key')
  const plain = await openEditor(desk)
  expect(plain.frames[1]!.message.result.authMethods[0]).toMatchObject({
    description: expect.stringContaining('libero login'),
  })
  expect(plain.frames[1]!.message.result.authMethods[0]).not.toHaveProperty('type')
})

test('AC14 what the published schema does not allow is found in messages of both sides', () => {
  const good = { jsonrpc: '2.0', id: 1, method: 'session/prompt', params: { sessionId: 's', prompt: [] } }
  expect(frameProblems([{ from: 'editor', message: good }])).toEqual([])
  const wrong = [
    { from: 'editor', message: { ...good, params: { sessionId: 's' } } },
    { from: 'agent', message: { jsonrpc: '2.0', id: 1, result: { stopReason: 'bored' } } },
    {
      from: 'agent',
      message: {
        jsonrpc: '2.0',
        method: 'session/update',
        params: { sessionId: 's', update: { sessionUpdate: 'none' } },
      },
    },
    { from: 'agent', message: { jsonrpc: '2.0', method: 'session/unknown', params: {} } },
  ] as const
  expect(frameProblems(wrong)).toHaveLength(4)
})
