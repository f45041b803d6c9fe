import { describe, expect, test } from 'vitest'
import { type Behavior, createAgent, type ToolDef } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

describe('side by side', () => {
  test('A120 calls that may share run at the same time', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'safe'), call('2', 'safe')])
    await bench.started('1', '2')
    bench.finish('1', '2')
    expect(await run).toEqual(['did 1', 'did 2'])
    expect(bench.events).toEqual(['start 1', 'start 2', 'end 1', 'end 2'])
  })

  test('A121 ten at a time unless told otherwise, and a free place is taken at once', async () => {
    const ids = Array.from({ length: 15 }, (_, i) => `c${i}`)
    const bench = workbench()
    const run = bench.run(ids.map((id) => call(id, 'safe')))
    await bench.started(...ids.slice(0, 10))
    await idle()
    expect(bench.running).toBe(10)
    bench.finish('c4')
    await bench.started('c10')
    bench.finish(...ids)
    await run
    expect(bench.peak).toBe(10)
  })

  test('A121 maxConcurrentTools sets how many', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'safe'), call('2', 'safe'), call('3', 'safe')], { maxConcurrentTools: 2 })
    await bench.started('1', '2')
    await idle()
    bench.finish('1', '2', '3')
    await run
    expect(bench.peak).toBe(2)
  })

  test('A123 results have the order of the calls, whichever ends first', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'safe'), call('2', 'safe'), call('3', 'safe')])
    await bench.started('1', '2', '3')
    for (const id of ['3', '2', '1']) {
      bench.finish(id)
      await idle()
    }
    expect(await run).toEqual(['did 1', 'did 2', 'did 3'])
    expect(bench.events.slice(3)).toEqual(['end 3', 'end 2', 'end 1'])
  })

  test('A124 with one place calls that may share run one after another', async () => {
    const bench = workbench()
    bench.finish('1', '2', '3')
    await bench.run([call('1', 'safe'), call('2', 'safe'), call('3', 'safe')], { maxConcurrentTools: 1 })
    expect(bench.events).toEqual(['start 1', 'end 1', 'start 2', 'end 2', 'start 3', 'end 3'])
  })
})

describe('alone', () => {
  test('A122 an unsafe call waits for those before it and holds up those after it', async () => {
    const bench = workbench()
    const run = bench.run([
      call('1', 'safe'),
      call('2', 'safe'),
      call('3', 'unsafe'),
      call('4', 'safe'),
      call('5', 'safe'),
    ])
    await bench.started('1', '2')
    bench.finish('1')
    await idle()
    expect(bench.events).toEqual(['start 1', 'start 2', 'end 1'])
    bench.finish('2')
    await bench.started('3')
    await idle()
    expect(bench.events.slice(3)).toEqual(['end 2', 'start 3'])
    bench.finish('3')
    await bench.started('4', '5')
    bench.finish('4', '5')
    await run
    expect(bench.events.slice(5)).toEqual(['end 3', 'start 4', 'start 5', 'end 4', 'end 5'])
  })

  test('A125 a tool may decide by the repaired input whether a call may run concurrently', async () => {
    const inputs: unknown[] = []
    const reader = tool('reader', () => 'read')
    const bench = workbench({
      spec: { ...reader.spec, inputSchema: { type: 'object', properties: { writes: { type: 'boolean' } } } },
      isConcurrencySafe: (input) => {
        inputs.push(input)
        return !input.writes
      },
    })
    const run = bench.run([
      call('1', 'reader', { writes: false }),
      call('2', 'reader', { writes: 'no' }),
      call('3', 'reader', { writes: 'yes' }),
    ])
    await bench.started('1', '2')
    await idle()
    expect(bench.running).toBe(2)
    bench.finish('1', '2', '3')
    await run
    expect(bench.events.slice(-4)).toEqual(['end 1', 'end 2', 'start 3', 'end 3'])
    expect(inputs).toEqual([{ writes: false }, { writes: false }, { writes: true }])
  })

  test('A125 a call whose tool cannot decide runs alone', async () => {
    const bench = workbench({
      isConcurrencySafe: () => {
        throw new Error('no idea')
      },
    })
    bench.finish('1', '2')
    const run = bench.run([call('1', 'reader'), call('2', 'reader')])
    expect(await run).toEqual(['did 1', 'did 2'])
    expect(bench.peak).toBe(1)
  })

  test('A125 a tool may take its time to decide, and is not asked about a lone call', async () => {
    const asked: unknown[] = []
    const bench = workbench({
      isConcurrencySafe: async (input) => {
        asked.push(input)
        await idle()
        return true
      },
    })
    const run = bench.run([call('1', 'reader'), call('2', 'reader')])
    await bench.started('1', '2')
    bench.finish('1', '2', '3')
    await run
    expect(bench.peak).toBe(2)
    expect(asked).toHaveLength(2)
    await bench.run([call('3', 'reader')])
    expect(asked).toHaveLength(2)
  })

  test('A125 a call whose tool rejects runs alone, and one that never decides does not hold a cancelled run', async () => {
    const failing = workbench({ isConcurrencySafe: () => Promise.reject(new Error('no idea')) })
    failing.finish('1', '2')
    await failing.run([call('1', 'reader'), call('2', 'reader')])
    expect(failing.peak).toBe(1)
    const controller = new AbortController()
    const reader: ToolDef = { ...tool('reader', () => 'read'), isConcurrencySafe: () => new Promise(() => {}) }
    const agent = createAgent({
      provider: scripted([call('1', 'reader'), call('2', 'reader')], 'fin'),
      tools: { reader },
    })
    const run = agent.run({ prompt: 'go', signal: controller.signal })
    await idle()
    controller.abort()
    await expect(run).rejects.toThrow('The run was aborted')
  })

  test('A126 a tool that declares nothing runs alone', async () => {
    const bench = workbench({})
    bench.finish('1', '2')
    await bench.run([call('1', 'reader'), call('2', 'reader')])
    expect(bench.events).toEqual(['start 1', 'end 1', 'start 2', 'end 2'])
  })
})

describe('a failing shell', () => {
  test('A131 cancels the calls beside it: those that run, and those that wait', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'shell'), call('2', 'safe'), call('3', 'safe')], { maxConcurrentTools: 2 })
    await bench.started('1', '2')
    bench.fail('1')
    const cancelled = expect.stringMatching(/^Cancelled: shell failed/)
    expect(await run).toEqual(['Tool error: exit 2', cancelled, cancelled])
    expect(bench.events).toEqual(['start 1', 'start 2', 'end 1', 'abort 2'])
    expect(bench.errors).toEqual(['1', '2', '3'])
  })

  test('A131 by a result marked as an error as well as by throwing', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'shell'), call('2', 'safe')])
    await bench.started('1', '2')
    bench.answer('1', { output: 'exit 2', isError: true })
    expect(await run).toEqual(['exit 2', expect.stringMatching(/^Cancelled: shell failed while/)])
  })

  test('A131 keeps what was finished before, and goes on after the next barrier', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'safe'), call('2', 'shell'), call('3', 'unsafe'), call('4', 'safe')])
    await bench.started('1', '2')
    bench.finish('1')
    await idle()
    bench.fail('2')
    bench.finish('3', '4')
    expect(await run).toEqual(['did 1', 'Tool error: exit 2', 'did 3', 'did 4'])
  })

  test('A131 never starts a call that was still about to begin', async () => {
    const held = Promise.withResolvers<void>()
    const bench = workbench()
    const run = bench.run([call('1', 'shell'), call('2', 'safe')], {}, async (callId) => {
      if (callId === '2') await held.promise
    })
    await bench.started('1')
    bench.fail('1')
    await idle()
    held.resolve()
    expect(await run).toEqual(['Tool error: exit 2', 'Cancelled: shell failed before this call began; it did not run'])
    expect(bench.events).toEqual(['start 1', 'end 1'])
  })

  test('A132 an error of any other tool leaves its neighbours alone', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'safe'), call('2', 'safe'), call('3', 'shell')])
    await bench.started('1', '2', '3')
    bench.fail('1')
    await idle()
    bench.finish('2', '3')
    expect(await run).toEqual(['Tool error: exit 2', 'did 2', 'did 3'])
    expect(bench.errors).toEqual(['1'])
  })

  test('A132 a shell call that was refused has not failed, so its neighbours go on', async () => {
    const bench = workbench()
    bench.finish('2')
    const run = bench.run([call('1', 'shell'), call('2', 'safe')], {
      toolBudgets: { shell: { max: 0, onExceed: 'block' } },
    })
    expect(await run).toEqual([expect.stringMatching(/^Blocked: /), 'did 2'])
  })

  test('A133 a shell result that is no error, such as a search without a match, cancels nothing', async () => {
    const bench = workbench()
    const run = bench.run([call('1', 'shell'), call('2', 'safe')])
    await bench.started('1', '2')
    bench.answer('1', { output: 'no match (exit 1)' })
    await idle()
    bench.finish('2')
    expect(await run).toEqual(['no match (exit 1)', 'did 2'])
    expect(bench.errors).toEqual([])
  })
})

/** Long enough for everything that does not wait for an external event. */
const idle = () => new Promise((resolve) => setTimeout(resolve, 5))

type Result = { output: string; isError?: boolean }

/** Tools whose calls begin and end when the test says so: safe, unsafe, shell, and `reader` with traits of its own. */
function workbench(readerTraits: Partial<ToolDef> = {}) {
  const gates = new Map<string, { begun: PromiseWithResolvers<void>; end: PromiseWithResolvers<Result> }>()
  const events: string[] = []
  const errors: string[] = []
  let running = 0
  let peak = 0

  function gateOf(id: string) {
    const gate = gates.get(id) ?? { begun: Promise.withResolvers<void>(), end: Promise.withResolvers<Result>() }
    gates.set(id, gate)
    gate.end.promise.catch(() => {})
    return gate
  }

  const work: ToolDef['execute'] = async (_, { callId, signal }) => {
    const gate = gateOf(callId)
    signal.addEventListener('abort', () => events.push(`abort ${callId}`))
    events.push(`start ${callId}`)
    peak = Math.max(peak, ++running)
    gate.begun.resolve()
    try {
      return await gate.end.promise
    } finally {
      running--
      events.push(`end ${callId}`)
    }
  }
  const tools = {
    safe: tool('safe', work, { isConcurrencySafe: true }),
    unsafe: tool('unsafe', work, { isConcurrencySafe: false }),
    shell: tool('shell', work, { isConcurrencySafe: true, cancelsSiblings: true }),
    reader: { ...tool('reader', work), ...readerTraits },
  }

  return {
    events,
    errors,
    get running() {
      return running
    },
    get peak() {
      return peak
    },
    started: (...ids: string[]) => Promise.all(ids.map((id) => gateOf(id).begun.promise)),
    finish: (...ids: string[]) => {
      for (const id of ids) gateOf(id).end.resolve({ output: `did ${id}` })
    },
    answer: (id: string, result: Result) => gateOf(id).end.resolve(result),
    fail: (id: string) => gateOf(id).end.reject(new Error('exit 2')),
    async run(
      calls: readonly ReturnType<typeof call>[],
      behavior: Behavior = {},
      before: (callId: string) => void | Promise<void> = () => {},
    ) {
      const hooks = { 'tool:before': ({ callId }: { callId: string }) => before(callId) }
      const agent = createAgent({ provider: scripted(calls, 'done'), tools, behavior, hooks })
      await agent.run({ prompt: 'go' })
      const results = agent.turns[2]!.content.filter((block) => block.type === 'tool_result')
      expect(results.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
      errors.push(...results.filter(({ isError }) => isError).map(({ callId }) => callId))
      return results.map(({ output }) => output)
    },
  }
}
