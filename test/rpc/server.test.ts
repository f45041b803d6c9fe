import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/core/agent.ts'
import { createAgent } from '../../src/create-agent.ts'
import type { RpcHost } from '../../src/rpc/index.ts'
import { call, memoryExecution, type Step, scripted, tool } from '../../src/testing/index.ts'
import { hostOf } from './agent-host.ts'
import { checkGrammar, type Frame, plainTurn } from './check-grammar.ts'
import { Client, converse } from './client.ts'
import { agentOf, typesOf } from './zot-kit.ts'

/** A step of the script that waits until the test releases it, or the run is aborted. */
class Door {
  readonly reached: Promise<void>
  open: () => void = () => {}
  readonly step: Step

  constructor(then: Step = 'through') {
    let arrive: () => void = () => {}
    this.reached = new Promise((go) => {
      arrive = go
    })
    this.step = (_, signal) =>
      new Promise((go, no) => {
        this.open = () => go(then)
        signal.addEventListener('abort', () => no(signal.reason), { once: true })
        arrive()
      })
  }
}

const prompt = (id: string, message = id) => ({ id, type: 'prompt', message })
const hostFor = (...steps: Step[]): RpcHost => hostOf(agentOf({ steps }))
const short = (frames: readonly Frame[]): string[] =>
  frames.map((frame) => (frame.type === 'response' ? `${frame.command} ${frame.id ?? '-'}` : frame.type))

describe('commands', () => {
  test('C013 hello returns version, provider and model', async () => {
    expect(await converse(hostFor(), { type: 'hello', id: 'h' })).toEqual([
      {
        type: 'response',
        command: 'hello',
        id: 'h',
        success: true,
        data: { protocol_version: 1, version: '0.0.0', provider: 'scripted', model: 'script-1' },
      },
    ])
  })

  test('C002 a prompt is acknowledged when it begins; without an id there is none in the response', async () => {
    const [response, next] = await converse(hostFor('Hi.'), { type: 'prompt', message: 'hello' })
    expect(response).toEqual({ type: 'response', command: 'prompt', success: true, data: { started: true } })
    expect(next!.type).toBe('user_message')
  })

  test('C017 abort when idle succeeds without further frames', async () => {
    expect(await converse(hostFor(), { type: 'abort', id: 'a' })).toEqual([
      { type: 'response', command: 'abort', id: 'a', success: true },
    ])
  })

  test('C018 prompts run in the order of their arrival', async () => {
    const frames = await converse(hostFor('one', 'two', 'three'), prompt('1'), prompt('2'), prompt('3'))
    expect(checkGrammar(frames)).toEqual([])
    const order = short(frames).filter((word) => word.startsWith('prompt') || word === 'done')
    expect(order).toEqual(['prompt 1', 'done', 'prompt 2', 'done', 'prompt 3', 'done'])
    const said = frames
      .filter(({ type }) => type === 'user_message')
      .map(({ content }) => (content as Frame[])[0]!.text)
    expect(said).toEqual(['1', '2', '3'])
  })

  test('C019 C020 short commands are answered while it is busy', async () => {
    const door = new Door()
    const client = new Client(hostFor(door.step))
    client.say(prompt('p'))
    await door.reached
    client.say({ type: 'ping', id: 'ping' }, { type: 'get_state', id: 'state' }, { type: 'get_models', id: 'models' })
    expect((await client.answer('ping')).data).toEqual({ pong: true })
    const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 }
    const state = { provider: 'scripted', model: 'script-1', cwd: '/desk/project', message_count: 1, busy: true, usage }
    expect((await client.answer('state')).data).toEqual(state)
    await client.answer('models')
    expect(typesOf(client.frames)).not.toContain('done')
    door.open()
    await client.until(({ type }) => type === 'done')
    client.say({ type: 'get_state', id: 'after' })
    expect((await client.answer('after')).data).toMatchObject({
      busy: false,
      message_count: 2,
      usage: { input: 10, output: 5 },
    })
    client.close()
    expect(await client.ended).toEqual({ reason: 'input_ended' })
    expect(checkGrammar(client.frames)).toEqual([])
  })

  test('C021 get_messages shows roles, calls, results and the size of images', async () => {
    const picture = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8=' } as const
    const agent = agentOf({
      steps: [{ thinking: 'hm', calls: [call('c1', 'shell', { a: 1 })] }, 'Done.'],
      tools: [tool('shell', () => ({ output: [{ type: 'text', text: 'seen' }, picture], isError: true }))],
      aliases: { shell: 'bash' },
    })
    const images = [{ mime_type: 'image/png', data: 'aGk=' }]
    const host = hostOf(agent, { toolName: (name) => (name === 'shell' ? 'bash' : name) })
    const client = new Client(host)
    client.say({ type: 'prompt', message: 'look', images, id: 'p' })
    await client.until(({ type }) => type === 'done')
    client.say({ type: 'get_messages', id: 'm' })
    const time = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/)
    expect((await client.answer('m')).data).toEqual({
      messages: [
        {
          role: 'user',
          time,
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', mime_type: 'image/png', bytes: 2 },
          ],
        },
        { role: 'assistant', time, content: [{ type: 'tool_call', id: 'c1', name: 'bash', args: { a: 1 } }] },
        {
          role: 'tool',
          time,
          content: [
            {
              type: 'tool_result',
              call_id: 'c1',
              is_error: true,
              content: [
                { type: 'text', text: 'seen' },
                { type: 'image', mime_type: 'image/png', bytes: 5 },
              ],
            },
          ],
        },
        { role: 'assistant', time, content: [{ type: 'text', text: 'Done.' }] },
      ],
    })
    client.close()
    await client.ended
  })

  test('C022 clear takes effect before later commands', async () => {
    const agent = agentOf({ steps: ['one', 'two'] })
    const frames = await converse(hostOf(agent), prompt('1'), { type: 'get_state', id: 's' })
    expect(frames.find(({ id }) => id === 's')).toMatchObject({ type: 'response', success: true })
    const again = await converse(hostOf(agent), { type: 'clear', id: 'c' }, { type: 'get_state', id: 's' }, prompt('2'))
    expect(short(again).slice(0, 3)).toEqual(['clear c', 'get_state s', 'prompt 2'])
    expect(again[0]).toEqual({ type: 'response', command: 'clear', id: 'c', success: true })
    expect(again[1]!.data).toMatchObject({ message_count: 0 })
    expect(agent.turns).toHaveLength(2)
  })

  test('C022 clear while busy is answered at once, and the conversation is empty when the run has ended', async () => {
    const door = new Door()
    const agent = agentOf({ steps: [door.step, 'next'] })
    const client = new Client(hostOf(agent))
    client.say(prompt('1'), prompt('2'))
    await door.reached
    client.say({ type: 'clear', id: 'c' }, { type: 'get_state', id: 's' }, { type: 'get_messages', id: 'm' })
    expect(await client.answer('c')).toMatchObject({ success: true })
    expect((await client.answer('s')).data).toMatchObject({ message_count: 0, busy: true })
    expect((await client.answer('m')).data).toEqual({ messages: [] })
    door.open()
    client.close()
    await client.ended
    expect(checkGrammar(client.frames)).toEqual([])
    expect(agent.turns.map(({ content }) => content)).toMatchObject([[{ text: '2' }], [{ text: 'next' }]])
  })

  test('C022 clear right after a prompt clears that prompt too, and not the next one', async () => {
    const agent = agentOf({ steps: ['one', 'two'] })
    const frames = await converse(hostOf(agent), prompt('1'), { type: 'clear', id: 'c' }, prompt('2'))
    expect(checkGrammar(frames)).toEqual([])
    expect(agent.turns.map(({ content }) => content)).toMatchObject([[{ text: '2' }], [{ text: 'two' }]])
  })

  test('a clear that fails is refused when idle, and reported when its response was already sent', async () => {
    const clear = () => Promise.reject(new Error('disk full'))
    const [refused] = await converse(hostOf(agentOf({}), { clear }), { type: 'clear', id: 'c' })
    expect(refused).toMatchObject({ success: false, error: 'disk full' })
    const door = new Door()
    const reports: string[] = []
    const client = new Client(hostOf(agentOf({ steps: [door.step] }), { clear }), {
      report: (one) => reports.push(one),
    })
    client.say(prompt('1'))
    await door.reached
    client.say({ type: 'clear', id: 'c' })
    await client.answer('c')
    door.open()
    client.close()
    await client.ended
    expect(reports).toEqual(['The conversation could not be cleared: disk full'])
  })

  test('C023 set_model takes effect at the next call, and an unknown one changes nothing', async () => {
    const provider = scripted('one', 'two')
    const host = hostOf(createAgent({ provider, execution: memoryExecution() }))
    const set = (id: string, model: unknown) => ({ type: 'set_model', id, model })
    const frames = await converse(host, set('a', 'script-2'), prompt('p'), set('b', 'gpt'), set('c', 7), set('d', ''))
    const answers = frames.filter(({ command }) => command === 'set_model')
    expect(answers).toEqual([
      { type: 'response', command: 'set_model', id: 'a', success: true, data: { model: 'script-2' } },
      {
        type: 'response',
        command: 'set_model',
        id: 'b',
        success: false,
        error: 'unknown model "gpt" (provider="scripted")',
      },
      {
        type: 'response',
        command: 'set_model',
        id: 'c',
        success: false,
        error: 'model must be a string, got a number',
      },
      {
        type: 'response',
        command: 'set_model',
        id: 'd',
        success: false,
        error: 'unknown model "" (provider="scripted")',
      },
    ])
    expect(provider.requests.map(({ model }) => model)).toEqual(['script-2'])
  })

  test('C024 get_models', async () => {
    const [answer] = await converse(hostFor(), { type: 'get_models' })
    const model = { provider: 'scripted', context_window: 1000, max_output: 100, reasoning: false }
    expect(answer!.data).toEqual({
      models: [
        { id: 'script-1', ...model },
        { id: 'script-2', ...model },
      ],
    })
  })

  test('C025 compact: compact_done alone, error then done, or done when it was cancelled', async () => {
    const agent = agentOf({})
    expect(await converse(hostOf(agent), { type: 'compact', id: 'c' })).toEqual([
      { type: 'response', command: 'compact', id: 'c', success: true, data: { started: true } },
      { type: 'compact_done', summary: 'a summary' },
    ])
    const compact = () => Promise.reject(new Error('nothing to compact'))
    const failed = await converse(hostOf(agent, { compact }), { type: 'compact' })
    expect(failed.slice(1)).toEqual([{ type: 'error', message: 'nothing to compact' }, { type: 'done' }])

    let cancel: () => void = () => {}
    const hanging = () =>
      new Promise<string>((_, no) => {
        cancel = () => no(new Error('aborted'))
      })
    const client = new Client(hostOf(agent, { compact: hanging, abort: () => cancel() }))
    client.say({ type: 'compact', id: 'c' })
    await client.answer('c')
    client.say({ type: 'abort', id: 'a' })
    client.close()
    await client.ended
    expect(short(client.frames)).toEqual(['compact c', 'abort a', 'done'])
    expect(checkGrammar(client.frames)).toEqual([])
  })

  test('C029 an image is passed on, also without a message; an invalid one is refused', async () => {
    const image = (data: unknown, mime_type: unknown = 'image/png') => ({
      type: 'prompt',
      message: '',
      images: [{ mime_type, data }],
    })
    const frames = await converse(
      hostFor('seen'),
      image('aGk='),
      image('aGk'),
      image('a?k='),
      image(''),
      image(7),
      image('aGk=', 7),
    )
    const responses = frames.filter(({ type }) => type === 'response')
    expect(responses.map(({ success, error }) => [success, error]).toSorted()).toEqual(
      [
        [true, undefined],
        ...Array(3).fill([false, 'image 0: data is not valid base64']),
        ...Array(2).fill([false, 'image 0 must be { mime_type, data } with base64 data']),
      ].toSorted(),
    )
    const seen = frames.find(({ type }) => type === 'user_message')
    expect(seen!.content).toEqual([{ type: 'image', mime_type: 'image/png', bytes: 2 }])
  })

  test.for([
    [{ type: 'prompt' }, 'a prompt needs a message or images'],
    [{ type: 'prompt', message: 7 }, 'message must be a string, got a number'],
    [{ type: 'prompt', message: 'x', images: 'y' }, 'images must be a list, got a string'],
  ] as const)('%j is refused: %s', async ([command, error]) => {
    expect(await converse(hostFor(), { id: 'x', ...command })).toEqual([
      { type: 'response', command: 'prompt', id: 'x', success: false, error },
    ])
  })
})

describe('C026 FC-07 lines that are no commands', () => {
  const malformed = (why: string) => ({
    type: 'response',
    command: '',
    success: false,
    error: expect.stringMatching(`^malformed json: .*${why}`),
  })
  const unknown = (command: string, more: object = {}) => ({
    type: 'response',
    command,
    success: false,
    error: 'unknown command',
    ...more,
  })
  test.for<[string, object[]]>([
    ['oops', [malformed('')]],
    ['{"type":"ping"', [malformed('')]],
    ['[1]', [malformed('expected an object, got a list')]],
    ['null', [malformed('expected an object, got null')]],
    ['"ping"', [malformed('expected an object, got a string')]],
    ['{"type":"ping","id":7}', [malformed('id must be a string, got a number')]],
    ['{"type":7}', [malformed('type must be a string, got a number')]],
    ['{"type":"dance","id":"d"}', [unknown('dance', { id: 'd' })]],
    ['{"type":"constructor"}', [unknown('constructor')]],
    ['{"type":"__proto__"}', [unknown('__proto__')]],
    ['{"__proto__":{"type":"ping"}}', [unknown('')]],
    ['{}', [unknown('')]],
    ['', []],
    [' \t\r', []],
  ])('%s', async ([line, answers]) => {
    const pong = { type: 'response', command: 'ping', success: true, data: { pong: true } }
    expect(await converse(hostFor(), line, { type: 'ping' })).toEqual([...answers, pong])
  })

  test('SV-19 the last of two equal keys counts, U+2028 ends nothing, and CRLF is tolerated', async () => {
    const frames = await converse(hostFor('x'), '{"type":"dance","type":"prompt","message":"a\u2028b"}\r')
    expect(frames[1]!.content).toEqual([{ type: 'text', text: 'a\u2028b' }])
  })

  test('a line that is not UTF-8', async () => {
    const client = new Client(hostFor())
    client.raw(Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a))
    client.close()
    await client.ended
    expect(client.frames).toEqual([malformed('not valid UTF-8')])
  })

  test('null means absent, as in Go', async () => {
    const [pong] = await converse(hostFor(), '{"type":"ping","id":null}')
    expect(pong).not.toHaveProperty('id')
  })
})

describe('C014 a token', () => {
  const token = 'sésame'
  async function ask(...commands: object[]) {
    const client = new Client(hostFor('hi'), { token })
    client.say(...commands)
    client.close()
    return { end: await client.ended, frames: client.frames }
  }

  test('must come first; other commands are refused, and reading goes on', async () => {
    const { end, frames } = await ask(
      { type: 'ping', id: '1' },
      { type: 'dance' },
      { type: 'hello', token },
      { type: 'ping', id: '2' },
    )
    expect(end.reason).toBe('input_ended')
    expect(frames.map(({ success, error }) => error ?? success)).toEqual([
      'auth required: send hello with token first',
      'auth required: send hello with token first',
      true,
      true,
    ])
  })

  test.for([undefined, '', 'sésam', 'sésamesésame', 'sesame', 7])('that is %j ends it', async (given) => {
    const { end, frames } = await ask({ type: 'hello', id: 'h', token: given }, { type: 'ping' })
    expect(end).toEqual({ reason: 'invalid_token', error: 'invalid token' })
    expect(frames).toEqual([{ type: 'response', command: 'hello', id: 'h', success: false, error: 'invalid token' }])
  })

  test('that is empty does not count', async () => {
    const client = new Client(hostFor(), { token: '' })
    client.say({ type: 'ping' }, { type: 'hello', token: 'anything' })
    client.close()
    await client.ended
    expect(client.frames.map(({ success }) => success)).toEqual([true, true])
  })
})

describe('abort', () => {
  test('C015 stops the prompt under way, and only that one', async () => {
    const door = new Door()
    const client = new Client(hostFor(door.step, 'two'))
    client.say(prompt('1'), prompt('2'))
    await door.reached
    client.say({ type: 'abort', id: 'a' })
    client.close()
    await client.ended
    expect(checkGrammar(client.frames)).toEqual([])
    expect(short(client.frames)).toEqual([
      ...['prompt 1', 'user_message', 'turn_start', 'abort a', 'turn_end', 'done'],
      ...['prompt 2', 'user_message', ...plainTurn, 'done'],
    ])
  })

  test('right after the prompt aborts it, before or after its start', async () => {
    const frames = await converse(hostFor('never'), prompt('1'), { type: 'abort', id: 'a' })
    expect(checkGrammar(frames)).toEqual([])
    expect(frames.filter(({ type }) => type === 'done')).toHaveLength(1)
    expect(typesOf(frames)).not.toContain('assistant_message')
  })

  test.for(['prompt', 'compact'])('of a %s that waits for a short command aborts it before it begins', async (type) => {
    const asked: string[] = []
    let release: () => void = () => {}
    const host = hostOf(agentOf({}), {
      models: () =>
        new Promise((go) => {
          release = () => go([])
        }),
      async prompt() {
        asked.push('prompt')
        return { status: 'completed', stopReason: 'end' }
      },
      async compact() {
        asked.push('compact')
        return 'a summary'
      },
    })
    const client = new Client(host)
    client.say(
      { type: 'get_models', id: 'm' },
      { type, id: '1', message: 'x' },
      { type, id: '2', message: 'y' },
      { type: 'abort', id: 'a' },
    )
    await client.answer('a')
    release()
    client.close()
    await client.ended
    const second = type === 'prompt' ? 'done' : 'compact_done'
    expect(short(client.frames)).toEqual(['abort a', 'get_models m', `${type} 1`, 'done', `${type} 2`, second])
    expect(asked).toEqual([type])
  })

  test('an error of the host after an abort counts as aborted', async () => {
    let fail: (error: Error) => void = () => {}
    const host: RpcHost = hostOf(agentOf({}), {
      prompt: () =>
        new Promise((_, no) => {
          fail = no
        }),
      abort: () => fail(new Error('stopped')),
    })
    const client = new Client(host)
    client.say(prompt('1'))
    await client.answer('1')
    client.say({ type: 'abort' })
    client.close()
    await client.ended
    expect(typesOf(client.frames)).toEqual(['response', 'response', 'done'])
  })
})

describe('the end', () => {
  test('C027 comes after all commands, also when the input is closed at once', async () => {
    const frames = await converse(hostFor('one', 'two'), prompt('1'), prompt('2'), { type: 'compact' })
    expect(checkGrammar(frames)).toEqual([])
    expect(frames.at(-1)!.type).toBe('compact_done')
  })

  test('C028 comes with an error after a line that is too long, when earlier commands are done', async () => {
    const client = new Client(hostFor('one'))
    client.say(prompt('1'))
    const part = new TextEncoder().encode('x'.repeat(1024 * 1024))
    for (let i = 0; i < 17; i++) client.raw(part)
    const end = await client.ended
    expect(end).toMatchObject({ reason: 'line_too_long', error: expect.stringContaining('longer than 16777216 bytes') })
    expect(client.frames.at(-1)).toEqual({ type: 'done' })
  })

  test('comes when the input fails', async () => {
    // biome-ignore lint/correctness/useYield: a stream that fails before it gives anything
    async function* input(): AsyncGenerator<Uint8Array> {
      throw new Error('read EIO')
    }
    const client = new Client(hostFor(), { input: input() })
    expect(await client.ended).toEqual({ reason: 'input_failed', error: 'read EIO' })
  })

  test('FC-06 comes when the output is closed: the run is aborted, and the queue dropped', async () => {
    const door = new Door()
    const agent = agentOf({ steps: [door.step, 'never'] })
    let fail: (error: Error) => void = () => {}
    const output = {
      write: (_: string, done: () => void) => done(),
      on: (_: string, on: (error?: Error) => void) => void (fail = on),
    }
    const client = new Client(hostOf(agent), { output })
    client.say(prompt('1'), prompt('2'))
    await door.reached
    fail(new Error('write EPIPE'))
    expect(await client.ended).toEqual({ reason: 'output_closed', error: 'write EPIPE' })
    expect(agent.isRunning).toBe(false)
    expect(agent.turns).toHaveLength(1)
  })

  test('comes with the signal: the run is aborted, and its frames are written', async () => {
    const door = new Door()
    const control = new AbortController()
    const client = new Client(hostFor(door.step, 'never'), { signal: control.signal })
    client.say(prompt('1'), prompt('2'))
    await door.reached
    control.abort()
    expect(await client.ended).toEqual({ reason: 'stopped' })
    expect(short(client.frames).slice(-2)).toEqual(['turn_end', 'done'])
    expect(checkGrammar(client.frames)).toEqual([])
  })
})

describe('a slow reader', () => {
  test('FC-02 makes the agent wait, gets every frame in order, and keeps little in memory', async () => {
    const piece = 'x'.repeat(1000)
    const pieces = 5000
    let given = 0
    let taken = 0
    let mostAhead = 0
    const frames: Frame[] = []
    const agent: Agent = agentOf({
      provider: {
        meta: { name: 'loud', defaultModel: 'm' },
        async *stream() {
          yield { type: 'start' }
          for (; given < pieces; given++) {
            mostAhead = Math.max(mostAhead, given * piece.length - taken)
            yield { type: 'text', delta: piece }
          }
          yield {
            type: 'reply',
            content: [{ type: 'text', text: 'long' }],
            usage: { input: 1, output: 1 },
            stop: 'end',
          }
        },
      },
    })
    const output = {
      write(text: string, done: () => void) {
        taken += text.length
        for (const line of text.trim().split('\n')) frames.push(JSON.parse(line) as Frame)
        setTimeout(done) // the agent could be far ahead by then
      },
    }
    const client = new Client(hostOf(agent), { output })
    client.say(prompt('1'), { type: 'ping', id: 'p' })
    client.close()
    await client.ended
    const text = frames
      .filter(({ type }) => type === 'text_delta')
      .map(({ delta }) => delta)
      .join('')
    expect(text.length).toBe(pieces * piece.length)
    expect(mostAhead).toBeLessThan(1.3 * 1024 * 1024)
    expect(checkGrammar(frames)).toEqual([])
    expect(frames.some(({ id }) => id === 'p')).toBe(true)
  })

  test('that sends commands and never reads is not read from any further', async () => {
    let read = 0
    async function* input(): AsyncGenerator<Uint8Array> {
      const line = new TextEncoder().encode(`{"type":"get_messages","id":"${'x'.repeat(100_000)}"}\n`)
      for (; read < 500; read++) yield line
    }
    new Client(hostFor(), { input: input(), output: { write: () => {} } })
    for (let i = 0; i < 50; i++) await new Promise((go) => setImmediate(go))
    expect(read).toBeGreaterThan(10)
    expect(read).toBeLessThan(100)
  })

  test('that sends more commands than can wait gets an error', async () => {
    const door = new Door()
    const control = new AbortController()
    const client = new Client(hostFor(door.step), { signal: control.signal })
    client.say(prompt('first'))
    await door.reached
    for (let i = 0; i < 1001; i++) client.say(prompt(`${i}`))
    const refused = await client.until(({ success }) => success === false)
    expect(refused).toMatchObject({ id: '1000', error: 'too many commands wait; let some of them finish first' })
    control.abort()
    expect(await client.ended).toEqual({ reason: 'stopped' })
    expect(client.frames.at(-1)).toEqual({ type: 'done' })
  })
})
