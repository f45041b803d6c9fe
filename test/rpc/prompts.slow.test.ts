import { describe, expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { plainTurn } from './check-grammar.ts'
import { gate } from './mock-service.ts'
import { type Frame, ofPrompt, order, quiet, scratch, service, startRpc } from './rpc-kit.ts'

// Each of them starts a process.
const test = testInTurns(2)

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/
const keysOf = (frame: Frame): string[] => Object.keys(frame).toSorted()

describe('a prompt over pipes', () => {
  test('C002 C003 a refused key gives the frames of the seed’s first run', async () => {
    const mock = await service()
    mock.play({ status: 401 })
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'check the current directory' })
    await client.next('done')
    expect(order(client.frames)).toEqual(['response', 'user_message', 'turn_start', 'turn_end', 'error', 'done'])
    const [response, said, begun, ended, error] = client.frames
    expect(response).toEqual({
      command: 'prompt',
      data: { started: true },
      id: '1',
      success: true,
      type: 'response',
    })
    expect(said.content).toEqual([{ text: 'check the current directory', type: 'text' }])
    expect(begun).toEqual({ step: 1, type: 'turn_start' })
    expect(keysOf(ended)).toEqual(['error', 'stop', 'type'])
    expect(ended.stop).toBe('error')
    expect(ended.error).toMatch(/401/)
    expect(error.message).toBe(ended.error)
    expect(client.stderr()).toMatch(quiet)
  })

  test('C006 C007 C009 a run with a tool gives the frames of the seed’s second run, in their order', async () => {
    const mock = await service()
    mock.play([{ call: 'bash', args: { command: 'echo kernel; exit 0' } }], [{ say: 'This' }, { say: ' system' }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'run uname -a' })
    await client.next('done')
    expect(order(client.frames)).toEqual([
      'response',
      'user_message',
      'turn_start',
      'assistant_start',
      'tool_use_start',
      'tool_use_args',
      'tool_use_end',
      'usage',
      'assistant_message',
      'tool_call',
      'turn_end',
      'tool_progress',
      'tool_result',
      ...plainTurn,
      'done',
    ])
    const of = (type: string): Frame[] => client.frames.filter((frame) => frame.type === type)
    const [call] = of('tool_call')
    const { id } = call
    expect(call).toEqual({ args: { command: 'echo kernel; exit 0' }, id, name: 'bash', type: 'tool_call' })
    expect(of('tool_use_start')).toEqual([{ id, name: 'bash', type: 'tool_use_start' }])
    const pieces = of('tool_use_args').map(({ delta }) => delta)
    expect(JSON.parse(pieces.join(''))).toEqual(call.args)
    const [asking, answering] = of('assistant_message')
    expect(asking.content).toEqual([{ args: call.args, id, name: 'bash', type: 'tool_call' }])
    expect(answering.content).toEqual([{ text: 'This system', type: 'text' }])
    expect(of('turn_end').map(({ stop }) => stop)).toEqual(['tool_use', 'end'])
    expect(of('turn_start').map(({ step }) => step)).toEqual([1, 2])
    expect(of('tool_progress')).toEqual([{ id, text: 'kernel\n', type: 'tool_progress' }])
    const [result] = of('tool_result')
    expect(result).toMatchObject({ id, is_error: false })
    expect(result.content[0].text).toMatch(/^\$ echo kernel; exit 0\nkernel\n\[exit 0\] /)
    expect(mock.requests[1].messages.at(-1).content).toBe(result.content[0].text)
  })

  test('C001 C005 C012 every line is a bare object with its keys in order, and done comes once, last', async () => {
    const mock = await service()
    const client = startRpc(mock)
    const lines: string[] = []
    client.child.stdout.on('data', (text: string) => lines.push(text))
    client.send({ id: 'a', type: 'prompt', message: 'hello' })
    await client.next('done')
    const text = lines.join('')
    expect(text.endsWith('\n')).toBe(true)
    for (const line of text.trimEnd().split('\n')) {
      const frame = JSON.parse(line)
      expect(Object.keys(frame)).toEqual(keysOf(frame))
      for (const key of ['jsonrpc', 'method', 'params']) expect(frame).not.toHaveProperty(key)
    }
    expect(client.frames.find(({ type }) => type === 'user_message').time).toMatch(stamp)
    expect(client.frames.filter(({ type }) => type === 'done')).toEqual([{ type: 'done' }])
    expect(client.frames.at(-1)).toEqual({ type: 'done' })
  })

  test('C008 usage reports each call and the total', async () => {
    const mock = await service()
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'one' })
    await client.next('done')
    client.send({ type: 'prompt', message: 'two' })
    await client.next('done')
    const [first, second] = client.frames.filter(({ type }) => type === 'usage')
    const each = { input: 60, output: 7, cache_read: 40, cache_write: 0 }
    expect(first).toMatchObject({ ...each, cumulative: each })
    expect(second).toMatchObject({ ...each, cumulative: { input: 120, output: 14, cache_read: 80, cache_write: 0 } })
    for (const { cost_usd, cumulative } of [first, second]) {
      expect(typeof cost_usd).toBe('number')
      expect(keysOf(cumulative)).toEqual(['cache_read', 'cache_write', 'cost_usd', 'input', 'output'])
    }
  })

  test('C011 a failing tool has its progress and then an error result', async () => {
    const mock = await service()
    mock.play([{ call: 'bash', args: { command: 'echo before; exit 4' } }])
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    await client.next('tool_progress')
    const result = await client.next('tool_result')
    expect(result.is_error).toBe(true)
    expect(result.content[0].text).toMatch(/\[exit 4\] \d/)
    await client.next('done')
  })

  test('C029 an image reaches the model, and bad base64 is refused', async () => {
    const mock = await service()
    const client = startRpc(mock, { provider: 'together' })
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    client.send({ id: '1', type: 'prompt', message: '', images: [{ mime_type: 'image/png', data }] })
    const said = await client.next('user_message')
    expect(said.content).toEqual([{ type: 'image', mime_type: 'image/png', bytes: 70 }])
    await client.next('done')
    expect(JSON.stringify(mock.requests[0].messages.at(-1))).toContain(`data:image/png;base64,${data}`)
    const refused = await client.ask({ type: 'prompt', message: 'x', images: [{ mime_type: 'image/png', data: '!!' }] })
    expect(refused).toMatchObject({ success: false, command: 'prompt' })
    expect(refused.error).toMatch(/base64/)
  })

  test('C030 at the step cap there is an error, then done', async () => {
    const mock = await service()
    const again = [{ call: 'bash', args: { command: 'true' } }] as const
    mock.play(again, again, again)
    const client = startRpc(mock, { args: ['--max-steps', '2'] })
    client.send({ type: 'prompt', message: 'go' })
    await client.next('done')
    expect(client.frames.slice(-2)).toEqual([{ message: 'max steps (2) exceeded', type: 'error' }, { type: 'done' }])
    expect(mock.requests).toHaveLength(2)
  })

  test('C037 calls of one turn have their results in the order of the calls', async () => {
    const mock = await service()
    const cwd = scratch()
    mock.play([
      { call: 'grep', args: { pattern: 'nothing-at-all', path: '.' } },
      { call: 'read', args: { path: 'missing.txt' } },
      { call: 'glob', args: { pattern: '*' } },
    ])
    const client = startRpc(mock, { cwd })
    client.send({ type: 'prompt', message: 'go' })
    await client.next('done')
    const ids = (type: string): string[] => client.frames.filter((frame) => frame.type === type).map(({ id }) => id)
    expect(ids('tool_call')).toHaveLength(3)
    expect(ids('tool_result')).toEqual(ids('tool_call'))
  })

  test('a stream that breaks off reports the partial text, the reason, and done', async () => {
    const mock = await service()
    const broken = [{ say: 'Half an' }, 'break'] as const
    mock.play(broken, broken, broken, broken, broken, broken)
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    await client.next('done')
    const frames = ofPrompt(client.frames)
    expect(order(frames).slice(-5)).toEqual(['usage', 'assistant_message', 'turn_end', 'error', 'done'])
    expect(frames.find(({ type }) => type === 'turn_end')).toMatchObject({ stop: 'error' })
    expect(order(frames).filter((type) => type === 'usage')).toHaveLength(1)
  })

  test('a reply is visible while it is streamed', async () => {
    const mock = await service()
    const held = gate()
    mock.play([{ say: 'Early' }, { hang: held }, { say: ' late' }])
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'go' })
    expect(await client.next('text_delta')).toEqual({ delta: 'Early', type: 'text_delta' })
    held.open()
    await client.next('done')
  })
})
