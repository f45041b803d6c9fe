import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { gate } from './mock-service.ts'
import { order, scratch, service, start, startRpc } from './rpc-kit.ts'

// Each of them starts a process.
const test = testInTurns(3)

describe('commands over pipes', () => {
  test('C013 hello returns version, provider and model', async () => {
    const client = startRpc(await service())
    const { data } = await client.ask({ type: 'hello' })
    expect(data).toEqual({ protocol_version: 1, version: '0.1.0', provider: 'deepseek', model: 'mock-1' })
  })

  test('C014 with a token in the environment, no command runs before a hello with it', async () => {
    const mock = await service()
    const client = startRpc(mock, { env: { ZOTCORE_RPC_TOKEN: 'open sesame' } })
    const refused = await client.ask({ type: 'prompt', message: 'hello?' })
    expect(refused).toMatchObject({ success: false, error: 'auth required: send hello with token first' })
    expect(await client.ask({ type: 'hello', token: 'open sesame' })).toMatchObject({ success: true })
    client.send({ type: 'prompt', message: 'hello' })
    await client.next('done')
    expect(mock.requests).toHaveLength(1)
  })

  test('C014 a wrong token ends the process', async () => {
    const client = startRpc(await service(), { env: { ZOTCORE_RPC_TOKEN: 'open sesame' } })
    expect(await client.ask({ type: 'hello', token: 'open barley' })).toMatchObject({
      success: false,
      error: 'invalid token',
    })
    expect(await client.exited).toBe(1)
  })

  test('C018 a second prompt is acknowledged after the first one is done', async () => {
    const mock = await service()
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'first' })
    client.send({ id: '2', type: 'prompt', message: 'second' })
    client.end()
    expect(await client.exited).toBe(0)
    const heads = client.frames.filter(({ type }) => ['response', 'user_message', 'done'].includes(type))
    expect(heads.map(({ id, type, content }) => id ?? content?.[0].text ?? type)).toEqual([
      '1',
      'first',
      'done',
      '2',
      'second',
      'done',
    ])
  })

  test('C019 C020 short commands are answered while it is busy', async () => {
    const mock = await service()
    const held = gate()
    const cwd = scratch()
    mock.play([{ say: 'one' }, { hang: held }])
    const client = startRpc(mock, { cwd })
    client.send({ type: 'prompt', message: 'go' })
    await client.next('text_delta')
    expect((await client.ask({ type: 'ping' })).data).toEqual({ pong: true })
    const { data: busy } = await client.ask({ type: 'get_state' })
    expect(busy).toMatchObject({ provider: 'deepseek', model: 'mock-1', busy: true, message_count: 1 })
    held.open()
    await client.next('done')
    const { data: idle } = await client.ask({ type: 'get_state' })
    expect(idle).toMatchObject({ busy: false, message_count: 2 })
    expect(idle.usage).toMatchObject({ input: 60, output: 7, cache_read: 40, cache_write: 0 })
    expect(Object.keys(idle).toSorted()).toEqual(['busy', 'cwd', 'message_count', 'model', 'provider', 'usage'])
  })

  test('C021 C022 messages are listed with roles and sizes, and cleared', async () => {
    const mock = await service()
    mock.play([{ call: 'bash', args: { command: 'echo hi' } }])
    const client = startRpc(mock)
    const data = Buffer.from('twelve bytes').toString('base64')
    client.send({ type: 'prompt', message: 'look', images: [{ mime_type: 'image/png', data }] })
    await client.next('done')
    const { messages } = (await client.ask({ type: 'get_messages' })).data
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(messages[0].content).toContainEqual({ type: 'image', mime_type: 'image/png', bytes: 12 })
    expect(messages[1].content[0]).toMatchObject({ type: 'tool_call', name: 'bash', args: { command: 'echo hi' } })
    expect(messages[2].content[0]).toMatchObject({ type: 'tool_result', is_error: false })
    expect(messages.every(({ time }: { time: string }) => !Number.isNaN(Date.parse(time)))).toBe(true)
    expect(await client.ask({ type: 'clear' })).toMatchObject({ success: true })
    expect((await client.ask({ type: 'get_state' })).data.message_count).toBe(0)
    client.send({ type: 'prompt', message: 'anew' })
    await client.next('done')
    expect(mock.requests.at(-1).messages.filter(({ role }: { role: string }) => role !== 'system')).toHaveLength(1)
  })

  test('C022 a conversation cleared during a run is empty at once, and stays so', async () => {
    const mock = await service()
    const held = gate()
    mock.play([{ say: 'one' }, { hang: held }])
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    await client.next('text_delta')
    expect(await client.ask({ type: 'clear' })).toMatchObject({ success: true })
    expect((await client.ask({ type: 'get_state' })).data.message_count).toBe(0)
    held.open()
    await client.next('done')
    expect((await client.ask({ type: 'get_messages' })).data.messages).toEqual([])
  })

  test('C023 C024 another model of the same provider can be chosen, an unknown one cannot', async () => {
    const client = start(['rpc', '--provider', 'deepseek', '--api-key', 'sk-test'])
    const { models } = (await client.ask({ type: 'get_models' })).data
    expect(models.length).toBeGreaterThan(1)
    for (const model of models)
      expect(model).toEqual({
        id: expect.any(String),
        provider: 'deepseek',
        context_window: expect.any(Number),
        max_output: expect.any(Number),
        reasoning: expect.any(Boolean),
      })
    const other = models[1].id
    expect((await client.ask({ type: 'set_model', model: other })).data).toEqual({ model: other })
    expect((await client.ask({ type: 'get_state' })).data.model).toBe(other)
    expect(await client.ask({ type: 'set_model', model: 'no-such' })).toMatchObject({
      success: false,
      error: 'unknown model "no-such" (provider="deepseek")',
    })
    expect((await client.ask({ type: 'get_state' })).data.model).toBe(other)
  })

  test('C023 a model set during a prompt is used for its next call', async () => {
    const mock = await service()
    const held = gate()
    mock.play([{ say: 'one' }, { hang: held }, { call: 'bash', args: { command: 'true' } }])
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    await client.next('text_delta')
    expect(await client.ask({ type: 'set_model', model: 'mock-2' })).toMatchObject({ success: true })
    held.open()
    await client.next('done')
    expect(mock.requests.map(({ model }) => model)).toEqual(['mock-1', 'mock-2'])
    expect(await client.ask({ type: 'set_model', model: 'mock-3' })).toMatchObject({ success: false })
  })

  test('C025 compact keeps the last four messages behind a summary', async () => {
    const mock = await service()
    const client = startRpc(mock)
    client.send({ id: 'early', type: 'compact' })
    await client.next('error', ({ message }) => /empty/.test(message))
    await client.next('done')
    for (const message of ['one', 'two', 'three']) {
      client.send({ type: 'prompt', message })
      await client.next('done')
      if (message !== 'two') continue
      client.send({ type: 'compact' })
      expect((await client.next('error')).message).toMatch(/nothing to compact: the last 4/)
      await client.next('done')
    }
    mock.play([{ say: 'They counted.' }])
    client.send({ id: 'c', type: 'compact' })
    const from = client.frames.length
    expect(await client.next('compact_done')).toEqual({ summary: 'They counted.', type: 'compact_done' })
    expect((await client.ask({ type: 'ping' })).success).toBe(true)
    expect(order(client.frames.slice(from))).toEqual(['response', 'compact_done', 'response'])
    const { messages } = (await client.ask({ type: 'get_messages' })).data
    expect(messages).toHaveLength(5)
    expect((await client.ask({ type: 'get_state' })).data.usage).toMatchObject({ input: 4 * 60, output: 4 * 7 })
    expect(messages[0]).toMatchObject({ role: 'user' })
    expect(messages[0].content[0].text).toMatch(/^## Context Summary \(compacted\)\n\nThey counted\./)
    mock.play([{ say: ' ' }], [{ say: ' ' }])
    for (const message of ['four']) client.send({ type: 'prompt', message })
    await client.next('done')
    client.send({ type: 'compact' })
    await client.next('error')
    await client.next('done')
  })

  test('C026 FC-07 an unreadable line gets a response, and the next line is read', async () => {
    const client = startRpc(await service())
    client.send(
      'not json\n\n  \r\n[1]\n{"type":"dance","id":"d"}\n{"type":"ping","id":7}\n{"type":"set_model","id":"s"}\n',
    )
    await client.next('response', ({ id }) => id === 's')
    const [text, list, dance, number, model] = client.frames
    expect(text).toMatchObject({ command: '', success: false })
    expect(text.error).toMatch(/^malformed json: /)
    expect(text).not.toHaveProperty('id')
    expect(list.error).toMatch(/^malformed json: /)
    expect(dance).toEqual({ command: 'dance', error: 'unknown command', id: 'd', success: false, type: 'response' })
    expect(number.error).toMatch(/^malformed json: .*id/)
    expect(number).not.toHaveProperty('id')
    expect(model).toMatchObject({ id: 's', success: false })
    expect((await client.ask({ type: 'ping' })).success).toBe(true)
  })
})

describe('flags', () => {
  test('may be anywhere after rpc, and --rpc means the same', async () => {
    const mock = await service()
    const cwd = scratch()
    const client = start([
      '--rpc',
      '--cwd',
      cwd,
      '--append-system-prompt',
      'First.',
      '--provider',
      'deepseek',
      '--append-system-prompt=Second.',
      '--base-url',
      mock.url,
      '--api-key',
      'sk-test',
      '--model',
      'mock-9',
      '--system-prompt',
      'Be a parrot.',
      '--tools',
      'bash,read',
    ])
    const { data } = await client.ask({ type: 'get_state' })
    expect(data.cwd).toBe(cwd)
    client.send({ type: 'prompt', message: 'go' })
    await client.next('done')
    const [request] = mock.requests
    expect(request.model).toBe('mock-9')
    expect(request.messages[0].content).toBe('Be a parrot.\n\nFirst.\n\nSecond.')
    const names = request.tools.map((one: { function: { name: string } }) => one.function.name)
    expect(names.toSorted()).toEqual(['bash', 'read'])
  })

  test('that only zot has are accepted, with a note on stderr', async () => {
    const client = startRpc(await service(), {
      args: ['--no-yolo', '--ext', 'x', '--no-ext', '--with-skills', '--no-skill', '--no-tools', '--reasoning', 'low'],
    })
    await client.ask({ type: 'ping' })
    expect(client.stderr()).toMatch(/--no-yolo has no effect/)
    expect(client.stderr()).toMatch(/--ext has no effect/)
  })

  test.each([
    ['with skills', ['--with-skills'], true],
    ['without them, as by default', [], false],
    ['without them where both flags stand', ['--with-skills', '--no-skill'], false],
  ])('it works %s', async (_, args, hasSkills) => {
    const mock = await service()
    const home = await temporary('rpc-home-')
    await mkdir(join(home, 'skills/greet'), { recursive: true })
    await writeFile(join(home, 'skills/greet/SKILL.md'), '---\nname: greet\ndescription: Greets.\n---\nSay moin.\n')
    const client = startRpc(mock, { args, home })
    client.send({ type: 'prompt', message: 'go' })
    await client.next('done')
    const names = mock.requests[0].tools.map((one: { function: { name: string } }) => one.function.name)
    expect(names.includes('skills_use')).toBe(hasSkills)
  })

  test.each([
    ['an unknown one', ['--provder', 'x'], 2, /--provder.*--provider/s],
    [
      'an unknown tool',
      ['--provider', 'deepseek', '--api-key', 'k', '--tools', 'bush'],
      2,
      /"bush"; did you mean bash/,
    ],
    ['a number that is none', ['--max-steps', 'many'], 2, /--max-steps must be a whole number/],
    ['a folder that is not there', ['--cwd', '/desk/nowhere'], 2, /\/desk\/nowhere: there is no such folder/],
    ['a provider without a key', ['--provider', 'deepseek'], 1, /DEEPSEEK_API_KEY|libero login/],
  ])('%s ends it before the first frame', async (_, args, code, why) => {
    const client = start(['rpc', ...args])
    client.send({ id: '1', type: 'ping' })
    expect(await client.exited).toBe(code)
    expect(client.frames).toEqual([])
    expect(client.stderr()).toMatch(why)
  })
})

describe('permissions', () => {
  const harm = { call: 'bash', args: { command: 'rm -rf /' } } as const
  const write = { call: 'write', args: { path: 'made.txt', content: 'here' } } as const

  test('F005 by default everything is allowed except calls that need an approval in every mode', async () => {
    const mock = await service()
    mock.play([write, harm], [{ say: 'I could not.' }])
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    const written = await client.next('tool_result')
    const harmed = await client.next('tool_result')
    expect(written.is_error).toBe(false)
    expect(harmed.is_error).toBe(true)
    expect(harmed.content[0].text).toMatch(/^Blocked: /)
    await client.next('done')
    expect(mock.requests).toHaveLength(2)
  })

  test.each(['ask', 'allowlist'])(
    'F003 F005 in the mode %s the run halts where an approval is needed',
    async (mode) => {
      const mock = await service()
      mock.play([{ call: 'read', args: { path: 'none.txt' } }, write])
      const client = startRpc(mock, { args: ['--mode', mode] })
      client.send({ type: 'prompt', message: 'go' })
      await client.next('done')
      const results = client.frames.filter(({ type }) => type === 'tool_result')
      expect(results.map(({ is_error }) => is_error)).toEqual([true, true])
      expect(results[1].content[0].text).toMatch(/permission|approv|ask/i)
      expect(order(client.frames)).not.toContain('error')
      expect(mock.requests).toHaveLength(1)
      // The conversation stays complete: no call waits for an answer.
      client.send({ type: 'prompt', message: 'and now?' })
      await client.next('turn_end', ({ stop }) => stop === 'end')
      const { messages } = (await client.ask({ type: 'get_messages' })).data
      expect(messages.map(({ role }: { role: string }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'user',
        'assistant',
      ])
      // The client and the model get the same results.
      const told = results.map(({ id, is_error, content }) => ({ type: 'tool_result', call_id: id, is_error, content }))
      expect(messages[2].content).toEqual(told)
    },
  )

  test('F005 in the mode plan calls that change something are refused', async () => {
    const mock = await service()
    mock.play([write])
    const client = startRpc(mock, { args: ['--mode', 'plan'] })
    client.send({ type: 'prompt', message: 'go' })
    expect((await client.next('tool_result')).is_error).toBe(true)
    await client.next('done')
  })
})
