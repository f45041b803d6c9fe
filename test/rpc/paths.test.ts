import { describe, expect, test } from 'vitest'
import { AgentBudgetError } from '../../src/core/errors.ts'
import type { ModelEvent } from '../../src/core/provider.ts'
import { ZotProjection } from '../../src/rpc/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'
import { createSpawnTool } from '../../src/tools/index.ts'
import { checkGrammar, type Frame, plainTurn } from './check-grammar.ts'
import { type Plan, type Recorded, record, typesOf } from './zot-kit.ts'

const usage = { input: 10, output: 5 }
const reply = (...content: Extract<ModelEvent, { type: 'reply' }>['content']): ModelEvent => ({
  type: 'reply',
  content,
  usage,
  stop: content.some(({ type }) => type === 'tool_call') ? 'tool_use' : 'end',
})
const hang = (): Step => (_, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
const echo = tool('echo', ({ text }) => String(text))
const busy = tool('busy', (_, { progress }) => {
  progress('half')
  return 'whole'
})
const called = ['tool_use_start', 'tool_use_args', 'tool_use_end']

/** Records a run, which must follow the grammar. */
async function play(plan: Plan): Promise<Recorded & { types: string[]; of: (type: string) => Frame[] }> {
  const recorded = await record({ ...plan, projection: { isOneShot: false, ...plan.projection } })
  const { frames } = recorded
  const isOneShot = plan.projection?.isOneShot === true
  const asked = { command: 'prompt', data: { started: true }, success: true, type: 'response' }
  expect(checkGrammar(isOneShot ? frames : [asked, ...frames], { isOneShot })).toEqual([])
  return { ...recorded, types: typesOf(frames), of: (type) => frames.filter((frame) => frame.type === type) }
}

describe('a run that goes well', () => {
  test('C002 C005 C006 has its frames in the order of the grammar', async () => {
    const { types, of } = await play({ steps: [[call('c1', 'busy')], 'Fine.'], tools: [busy] })
    expect(types).toEqual([
      'user_message',
      ...['turn_start', 'assistant_start', ...called, 'usage', 'assistant_message', 'tool_call', 'turn_end'],
      ...['tool_progress', 'tool_result'],
      ...plainTurn,
      'done',
    ])
    expect(of('user_message')).toEqual([
      { type: 'user_message', content: [{ type: 'text', text: 'go' }], time: expect.stringMatching(/\.\d{3}Z$/) },
    ])
    expect(of('turn_start').map(({ step }) => step)).toEqual([1, 2])
  })

  test('C008 usage is reported once for each stream, with sums over the whole process', async () => {
    const counted = (more: object): Step => ({ text: 'x', usage: { ...usage, ...more } })
    const steps = [
      { ...(counted({ cost: 0.5 }) as object), calls: [call('c1', 'echo')] },
      counted({ cacheRead: 7, cacheCreation: 3 }),
    ]
    const { of, projection } = await play({ steps, tools: [echo] })
    const own = { input: 10, output: 5, cache_read: 0, cache_write: 0, cost_usd: 0 }
    const sum = { input: 20, output: 10, cache_read: 7, cache_write: 3, cost_usd: 0.5 }
    expect(of('usage')).toEqual([
      { type: 'usage', ...own, cost_usd: 0.5, cumulative: { ...own, cost_usd: 0.5 } },
      { type: 'usage', ...own, cache_read: 7, cache_write: 3, cumulative: sum },
    ])
    expect(projection.usage).toEqual(sum)
  })

  test('C009 reasoning is never shown, and images are represented by their size', async () => {
    const picture = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8=' } as const
    const look = tool('look', () => ({ output: [{ type: 'text', text: 'seen' }, picture] }))
    const steps: Step[] = [{ thinking: 'secret', text: 'I look.', calls: [call('c1', 'look')] }, 'Done.']
    const prompt = [{ type: 'text', text: 'see' } as const, picture]
    const { frames, of } = await play({ steps, tools: [look], options: { prompt } })
    expect(JSON.stringify(frames)).not.toContain('secret')
    expect(JSON.stringify(frames)).not.toContain(picture.data)
    const image = { type: 'image', mime_type: 'image/png', bytes: 5 }
    expect(of('user_message')[0]!.content).toEqual([{ type: 'text', text: 'see' }, image])
    expect(of('tool_result')[0]!.content).toEqual([{ type: 'text', text: 'seen' }, image])
    expect(of('assistant_message')[0]!.content).toEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'c1', name: 'look', args: {} },
    ])
  })

  test('C007 content that the service did not stream is sent', async () => {
    const whole = [reply({ type: 'text', text: 'All at once.' }, call('c1', 'echo', { text: 'a' }))]
    const { types, of } = await play({ steps: [whole, 'End.'], tools: [echo] })
    expect(types.slice(1, 7)).toEqual(['turn_start', 'assistant_start', 'text_delta', ...called])
    expect(of('text_delta')[0]).toEqual({ type: 'text_delta', delta: 'All at once.' })
    expect(of('tool_use_args')[0]).toEqual({ type: 'tool_use_args', id: 'c1', delta: '{"text":"a"}' })
  })

  test('arguments that are no JSON object are null, and answered with an error', async () => {
    const bad: ModelEvent[] = [
      { type: 'start' },
      { type: 'tool_start', id: 'c1', name: 'echo' },
      { type: 'tool_args', id: 'c1', delta: '[1, 2' },
      reply({ ...call('c1', 'echo'), input: '[1, 2' }),
    ]
    const { of } = await play({ steps: [bad, 'Sorry.'], tools: [echo] })
    expect(of('tool_call')).toEqual([{ type: 'tool_call', id: 'c1', name: 'echo', args: null }])
    expect(of('tool_use_end')).toHaveLength(1)
    expect(of('tool_result')).toMatchObject([{ id: 'c1', is_error: true }])
  })

  test('a tool is known by its alias everywhere', async () => {
    const steps = [[call('c1', 'bash')], [reply(call('c2', 'bash'))], 'End.']
    const { frames, of } = await play({ steps, tools: [tool('shell', () => 'x')], aliases: { shell: 'bash' } })
    expect(JSON.stringify(frames)).not.toContain('shell')
    expect([...of('tool_use_start'), ...of('tool_call')].map(({ name }) => name)).toEqual(Array(4).fill('bash'))
  })

  test('a character that the stream splits is joined again', async () => {
    const cut: ModelEvent[] = [
      ...['a\ud83d', '\ude00b'].map((delta) => ({ type: 'text' as const, delta })),
      reply({ type: 'text', text: 'a😀b' }),
    ]
    const { of } = await play({ steps: [cut] })
    expect(of('text_delta').map(({ delta }) => delta)).toEqual(['a', '😀b'])
  })

  test('stop is length if the answer was cut, and end for any other reason', async () => {
    const stops: string[] = []
    for (const stop of ['length', 'refusal', 'other', 'tool_use', 'end'] as const) {
      const { of } = await play({ steps: [{ text: 'x', stop }] })
      stops.push(String(of('turn_end')[0]!.stop))
    }
    expect(stops).toEqual(['length', 'end', 'end', 'end', 'end'])
  })

  test('notes to the model beside the prompt are no user_message', async () => {
    const { of } = await play({
      steps: [[call('c1', 'echo')], 'End.'],
      tools: [echo],
      hooks: () => ({ 'turn:next': (next) => void (next.stop || next.add.push('Hurry up.')) }),
    })
    expect(of('user_message')).toHaveLength(1)
  })
})

describe('tools', () => {
  test('C037 that run in parallel keep the order of their results', async () => {
    const order: string[] = []
    const finished = new Map<string, () => void>()
    const slow = tool(
      'slow',
      async ({ n }, { progress }) => {
        progress(`begin ${n}`)
        // Each waits for the one after it: they end in reverse.
        if (n !== 3) await new Promise<void>((go) => finished.set(String(Number(n) + 1), go))
        order.push(String(n))
        setTimeout(() => finished.get(String(n))?.())
        return `result ${n}`
      },
      { isConcurrencySafe: true },
    )
    const calls = [1, 2, 3].map((n) => call(`c${n}`, 'slow', { n }))
    const { of } = await play({ steps: [calls, 'End.'], tools: [slow] })
    expect(order).toEqual(['3', '2', '1'])
    expect(of('tool_result').map(({ id }) => id)).toEqual(['c1', 'c2', 'c3'])
    expect(of('tool_progress')).toHaveLength(3)
  })

  test('that are blocked, unknown, or failing have one result with is_error', async () => {
    const fails = tool('fails', () => {
      throw new Error('no luck')
    })
    const { of } = await play({
      steps: [[call('c1', 'echo', { text: 'a' }), call('c2', 'nope'), call('c3', 'fails')], 'End.'],
      tools: [echo, fails],
      hooks: () => ({ 'tool:gate': (gate) => void (gate.callId === 'c1' && Object.assign(gate, { block: true })) }),
    })
    expect(of('tool_result').map(({ id, is_error }) => [id, is_error])).toEqual([
      ['c1', true],
      ['c2', true],
      ['c3', true],
    ])
  })

  test('that call others, and children, show only themselves, but all usage is counted', async () => {
    const outer = tool('outer', async (_, ctx) => {
      ctx.progress('outer')
      await ctx.call('busy', {})
      return 'outer'
    })
    const steps: Step[] = [[call('c1', 'outer'), call('c2', 'spawn', { task: 'look' })], 'child', 'parent']
    const { of, projection } = await play({ steps, tools: [outer, busy, createSpawnTool()] })
    expect(of('tool_result').map(({ id }) => id)).toEqual(['c1', 'c2'])
    expect(of('tool_progress').map(({ text }) => text)).toEqual(['outer'])
    expect(of('turn_start')).toHaveLength(2)
    expect(projection.usage).toMatchObject({ input: 30, output: 15 })
  })

  test('that wait for an approval get a result that says so, because no person can answer here', async () => {
    const { types, of, agent, frames } = await play({
      steps: [[call('c1', 'echo', { text: 'a' }), call('c2', 'echo'), call('c3', 'echo')]],
      tools: [echo],
      hooks: () => ({
        'tool:gate': (gate) => {
          if (gate.callId === 'c2') gate.halt = { reason: 'permission-required' }
        },
      }),
    })
    expect(types.slice(-5)).toEqual(['turn_end', 'tool_result', 'tool_result', 'tool_result', 'done'])
    expect(of('tool_result').map(({ id, is_error, content }) => [id, is_error, (content as Frame[])[0]!.text])).toEqual(
      [
        ['c1', false, 'a'],
        ['c2', true, 'Not run: permission required, and no person can be asked here'],
        ['c3', true, 'Not run: another call of this turn had to wait'],
      ],
    )
    // The next prompt answers them in the log; the client has got results already.
    const before = frames.length
    await agent.run({ prompt: 'again' }).catch(() => {})
    const again = typesOf(frames.slice(before))
    expect(again).not.toContain('tool_result')
    expect(again[0]).toBe('user_message')
  })
})

describe('failures', () => {
  test('C003 refused before the stream opens', async () => {
    const { types, frames } = await play({ steps: [new Error('http 401')] })
    expect(types).toEqual(['user_message', 'turn_start', 'turn_end', 'error', 'done'])
    const message = 'Provider "scripted" failed: http 401'
    expect(frames.slice(2, 4)).toEqual([
      { type: 'turn_end', stop: 'error', error: message },
      { type: 'error', message },
    ])
  })

  test('broken midway, in a text', async () => {
    const { types, of } = await play({ provider: breaking({ type: 'start' }, { type: 'text', delta: 'half' }) })
    expect(types).toEqual(['user_message', ...plainTurn, 'error', 'done'])
    expect(of('assistant_message')[0]!.content).toEqual([{ type: 'text', text: 'half' }])
    expect(of('turn_end')[0]).toMatchObject({ stop: 'error' })
    expect(of('usage')[0]).toMatchObject({ input: 3, output: 1, cumulative: { input: 3, output: 1 } })
  })

  test('broken midway, in a call: it is closed and dropped, because it never runs', async () => {
    const half: ModelEvent[] = [
      { type: 'tool_start', id: 'c1', name: 'echo' },
      { type: 'tool_args', id: 'c1', delta: '{"te' },
    ]
    const { types } = await play({ provider: breaking({ type: 'start' }, ...half), tools: [echo] })
    expect(types).toEqual([
      'user_message',
      'turn_start',
      'assistant_start',
      ...called,
      'usage',
      'turn_end',
      'error',
      'done',
    ])
  })

  test('C030 the step cap', async () => {
    const steps = [[call('c1', 'echo')], [call('c2', 'echo')]]
    const { types, of } = await play({ steps, tools: [echo], options: { behavior: { maxTurns: 2 } } })
    expect(types.slice(-3)).toEqual(['tool_result', 'error', 'done'])
    expect(of('error')).toEqual([{ type: 'error', message: 'max steps (2) exceeded' }])
  })

  test('a budget stops a turn like a guard: turn_end gives the reason, and no error follows', async () => {
    const { types, outcome, of } = await play({
      steps: [[call('c1', 'echo')], new AgentBudgetError('cost', 'spent')],
      tools: [echo],
    })
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'budget' })
    expect(types.slice(-4)).toEqual(['tool_result', 'turn_start', 'turn_end', 'done'])
    expect(of('turn_end').at(-1)).toEqual({ type: 'turn_end', stop: 'error', error: 'spent' })
  })

  test('a budget that is used up between turns is an error, as the step cap is', async () => {
    const options = { behavior: { limits: { turns: 1 } } }
    const { types, of } = await play({ steps: [[call('c1', 'echo')], 'never'], tools: [echo], options })
    expect(types.slice(-3)).toEqual(['tool_result', 'error', 'done'])
    expect(of('error')).toEqual([{ type: 'error', message: 'the budget is used up' }])
  })

  test('before anything was logged: an error and done', async () => {
    const projection = new ZotProjection()
    const end = projection.end({ status: 'error', stopReason: 'error', error: 'no disk' })
    expect(end).toEqual([{ type: 'error', message: 'no disk' }, { type: 'done' }])
    expect(projection.end({ status: 'aborted', stopReason: 'aborted' })).toEqual([{ type: 'done' }])
  })

  test('of the log: everything open is closed', async () => {
    const { events } = await record({ steps: [[call('c1', 'echo'), call('c2', 'echo')], 'End.'], tools: [echo] })
    for (let cut = 0; cut < events.length; cut++) {
      const projection = new ZotProjection()
      const frames = events.slice(0, cut).flatMap((event) => projection.framesFor(event))
      frames.push(...projection.end({ status: 'error', stopReason: 'error', error: 'disk full' }))
      const lines = JSON.parse(JSON.stringify(frames)) as Frame[]
      const asked = { command: 'prompt', data: { started: true }, success: true, type: 'response' }
      const problems = checkGrammar([asked, ...lines]).filter((problem) => !problem.includes('keys out of order'))
      expect([cut, problems]).toEqual([cut, []])
      if (cut < events.length - 1) expect(typesOf(lines).slice(-2)).toEqual(['error', 'done'])
    }
  })

  test('C033 in one shot an error is the last frame, and a good end is done', async () => {
    const isOneShot = { projection: { isOneShot: true } }
    expect((await play({ steps: [new Error('no')], ...isOneShot })).types.at(-1)).toBe('error')
    expect((await play({ steps: ['fine'], ...isOneShot })).types.at(-1)).toBe('done')
  })
})

test('an event of another turn than the current one is ignored', () => {
  const projection = new ZotProjection()
  const event = { durable: false, after: 0, n: 1 } as const
  projection.framesFor({ ...event, type: 'turn_started', turnId: 'b', step: 1 })
  expect(projection.framesFor({ ...event, type: 'text', turnId: 'a', attempt: 1, delta: 'late' })).toEqual([])
  expect(projection.framesFor({ ...event, type: 'turn_failed', turnId: 'a', stop: 'error', error: 'late' })).toEqual([])
})

describe('retries', () => {
  test('streamed frames cannot be undone: the step continues, and the message has the final content', async () => {
    const again: Step = [
      { type: 'start' },
      { type: 'text', delta: 'half' },
      { type: 'tool_start', id: 'c1', name: 'echo' },
      { type: 'tool_args', id: 'c1', delta: '{"text":"a' },
      { type: 'retry', attempt: 2, reason: 'overloaded' },
      { type: 'start' },
      { type: 'text', delta: 'whole' },
      { type: 'tool_start', id: 'c1', name: 'echo' },
      { type: 'tool_args', id: 'c1', delta: '{"text":"b"}' },
      { type: 'tool_end', id: 'c1' },
      reply({ type: 'text', text: 'whole' }, call('c1', 'echo', { text: 'b' })),
    ]
    const { types, of } = await play({ steps: [again, 'End.'], tools: [echo] })
    expect(types.slice(1, 13)).toEqual([
      ...['turn_start', 'assistant_start', 'text_delta', ...called],
      ...['text_delta', ...called, 'usage', 'assistant_message'],
    ])
    expect(of('assistant_message')[0]!.content).toMatchObject([{ text: 'whole' }, { args: { text: 'b' } }])
    expect(of('usage')).toHaveLength(2)
  })

  test('after a streamed attempt the final text of an unstreamed one is sent too', async () => {
    const again: Step = [
      { type: 'text', delta: 'half' },
      { type: 'retry', attempt: 2, reason: 'overloaded' },
      reply({ type: 'text', text: 'whole' }),
    ]
    const { of } = await play({ steps: [again] })
    expect(of('text_delta').map(({ delta }) => delta)).toEqual(['half', 'whole'])
  })

  test('the cost of a failed attempt is part of the usage', async () => {
    const lost = Object.assign(new Error('cut'), { usage: { input: 3, output: 1 } })
    const provider = breakingOnce(lost, { type: 'start' }, { type: 'text', delta: 'half' })
    const { of } = await play({ provider })
    expect(of('usage')).toMatchObject([{ input: 13, output: 6, cumulative: { input: 13, output: 6 } }])
    expect(of('turn_start')).toHaveLength(1)
  })
})

describe('aborts', () => {
  test('C038 before the stream opens', async () => {
    const { types, of } = await play({
      steps: [hang()],
      hooks: (agent) => ({ 'turn:before': () => void setTimeout(() => agent.abort()) }),
    })
    expect(types).toEqual(['user_message', 'turn_start', 'turn_end', 'done'])
    expect(of('turn_end')).toEqual([{ type: 'turn_end', stop: 'aborted', error: 'context canceled' }])
  })

  test('C015 while a text is streamed', async () => {
    const { types, of } = await play({
      steps: ['a text of several pieces'],
      hooks: (agent) => ({ 'stream:text': () => agent.abort() }),
    })
    expect(types).toEqual(['user_message', ...plainTurn, 'done'])
    expect(of('turn_end')).toEqual([{ type: 'turn_end', stop: 'aborted', error: 'context canceled' }])
    expect(of('assistant_message')[0]!.content).toEqual([{ type: 'text', text: 'a text o' }])
  })

  test('C015 while a call is streamed there is no message', async () => {
    const { types } = await play({
      steps: [{ text: 'hm', calls: [call('c1', 'echo')] }],
      tools: [echo],
      hooks: (agent) => ({ 'stream:tool:start': () => agent.abort() }),
    })
    const begun = ['turn_start', 'assistant_start', 'text_delta', 'tool_use_start', 'tool_use_end']
    expect(types).toEqual(['user_message', ...begun, 'usage', 'turn_end', 'done'])
  })

  test('C016 while tools run', async () => {
    const waits = tool('waits', (_, { signal }) => new Promise((_, no) => signal.addEventListener('abort', no)))
    const { types, of } = await play({
      steps: [[call('c1', 'waits'), call('c2', 'echo')]],
      tools: [waits, echo],
      hooks: (agent) => ({ 'tool:before': () => void setTimeout(() => agent.abort()) }),
    })
    expect(types.slice(-4)).toEqual(['turn_end', 'tool_result', 'tool_result', 'done'])
    expect(of('turn_end')).toHaveLength(1)
    expect(of('tool_result').every(({ is_error }) => is_error)).toBe(true)
    expect(of('error')).toEqual([])
  })
})

/** A service that breaks off after some events, with usage. */
function breaking(...events: ModelEvent[]) {
  return {
    meta: { name: 'breaking', defaultModel: 'm' },
    async *stream(): AsyncGenerator<ModelEvent> {
      yield* events
      throw Object.assign(new Error('the line is dead'), { usage: { input: 3, output: 1 } })
    },
  }
}

function breakingOnce(error: Error, ...events: ModelEvent[]) {
  const good = scripted('whole')
  let isFirst = true
  return {
    meta: good.meta,
    classifyError: () => ({ kind: 'provider_error' as const, retryable: true }),
    async *stream(...asked: Parameters<typeof good.stream>): AsyncGenerator<ModelEvent> {
      if (!isFirst) return yield* good.stream(...asked)
      isFirst = false
      yield* events
      throw error
    },
  }
}
