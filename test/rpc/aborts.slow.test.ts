import { describe, expect, test } from 'vitest'
import { isRunning, ownSeconds } from '../processes.ts'
import { gate, type Reply } from './mock-service.ts'
import { type Client, type Frame, ofPrompt, order, service, startRpc, until } from './rpc-kit.ts'

interface Aborted {
  readonly client: Client
  readonly frames: readonly Frame[]
}

/** Prompts, aborts at the frame `when`, and waits for the end. */
async function abort(reply: Reply, when: (client: Client) => Promise<unknown>): Promise<Aborted> {
  const mock = await service()
  mock.play(reply)
  const client = startRpc(mock)
  client.send({ id: '1', type: 'prompt', message: 'go' })
  await when(client)
  expect(await client.ask({ type: 'abort' })).toMatchObject({ success: true, command: 'abort' })
  await client.next('done')
  const frames = ofPrompt(client.frames)
  expect(frames.filter(({ type }) => type === 'done')).toHaveLength(1)
  expect(frames.at(-1)).toEqual({ type: 'done' })
  expect(order(frames)).not.toContain('error')
  // The process is alive, and its conversation can be continued.
  client.send({ id: '2', type: 'prompt', message: 'and now?' })
  await client.next('response', ({ id }) => id === '2')
  await client.next('turn_end', ({ stop }) => stop === 'end')
  await client.next('done')
  return { client, frames }
}

describe('abort in every phase', () => {
  test('C038 before the stream opens', async () => {
    const hangs = gate()
    const { frames } = await abort({ hangBefore: hangs }, () => hangs.reached)
    hangs.open()
    expect(order(frames)).toEqual(['user_message', 'turn_start', 'turn_end', 'done'])
    expect(frames[2]).toMatchObject({ stop: 'aborted' })
  })

  test('C015 while text is streamed', async () => {
    const { frames } = await abort([{ say: 'So far' }, { hang: gate() }], (client) => client.next('text_delta'))
    expect(order(frames).slice(3)).toEqual(['text_delta', 'usage', 'assistant_message', 'turn_end', 'done'])
    const ended = frames.find(({ type }) => type === 'turn_end')
    expect(ended).toEqual({ error: 'context canceled', stop: 'aborted', type: 'turn_end' })
    expect(frames.find(({ type }) => type === 'assistant_message').content).toEqual([{ text: 'So far', type: 'text' }])
  })

  test('C015 while the arguments of a call are streamed', async () => {
    const { frames } = await abort(
      [{ say: 'I shall' }, { call: 'bash', args: '{"command": "to' }, { hang: gate() }],
      (client) => client.next('tool_use_args'),
    )
    expect(order(frames).slice(-4)).toEqual(['tool_use_end', 'usage', 'turn_end', 'done'])
    for (const type of ['assistant_message', 'tool_call', 'tool_result']) expect(order(frames)).not.toContain(type)
  })

  test('C016 while a tool runs: it and the waiting calls get a result, and no process is left', async () => {
    const sleep = `sleep ${ownSeconds()}`
    const { frames } = await abort(
      [
        { call: 'bash', args: { command: `echo begun; ${sleep}` } },
        { call: 'bash', args: { command: 'echo never' } },
      ],
      (client) => client.next('tool_progress'),
    )
    const after = order(frames).slice(order(frames).indexOf('turn_end') + 1)
    expect(after).toEqual(['tool_progress', 'tool_result', 'tool_result', 'done'])
    const results = frames.filter(({ type }) => type === 'tool_result')
    expect(results.map(({ is_error }) => is_error)).toEqual([true, true])
    await until(() => !isRunning(sleep), 'the command is gone')
  })

  test('C017 when nothing is under way', async () => {
    const client = startRpc(await service())
    expect(await client.ask({ id: 'x', type: 'abort' })).toEqual({
      command: 'abort',
      id: 'x',
      success: true,
      type: 'response',
    })
  })

  test('C018 queued prompts are not lost', async () => {
    const mock = await service()
    mock.play([{ say: 'one' }, { hang: gate() }], [{ say: 'two' }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'first' })
    client.send({ id: '2', type: 'prompt', message: 'second' })
    await client.next('text_delta')
    client.send({ type: 'abort' })
    await client.next('done')
    await client.next('response', ({ id }) => id === '2')
    await client.next('done')
    const stops = client.frames.filter(({ type }) => type === 'turn_end').map(({ stop }) => stop)
    expect(stops).toEqual(['aborted', 'end'])
  })

  test('C025 while a summary is being made: done, and nothing else', async () => {
    const mock = await service()
    const client = startRpc(mock)
    for (const message of ['one', 'two', 'three']) {
      client.send({ type: 'prompt', message })
      await client.next('done')
    }
    const hangs = gate()
    mock.play({ hangBefore: hangs })
    client.send({ id: 'c', type: 'compact' })
    await client.next('response', ({ id }) => id === 'c')
    await hangs.reached
    const from = client.frames.length
    await client.ask({ type: 'abort' })
    await client.next('done')
    expect(order(client.frames.slice(from))).toEqual(['response', 'done'])
    expect((await client.ask({ type: 'get_state' })).data.message_count).toBe(6)
    hangs.open()
  })
})
