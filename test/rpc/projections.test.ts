import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/index.ts'
import { ZotProjection } from '../../src/rpc/index.ts'
import { call, type Step, tool } from '../../src/testing/index.ts'
import { type Plan, readBack, record } from './zot-kit.ts'

const echo = tool('echo', ({ text }, { progress }) => {
  progress(`saying ${text}`)
  return String(text)
})
const talk: Step = {
  thinking: 'hm',
  text: 'I call two.',
  calls: [call('c1', 'echo', { text: 'a' }), call('c2', 'echo', { text: 'b' })],
}

const runs: Record<string, Plan> = {
  'a run with tools': { steps: [talk, 'All done.'], tools: [echo] },
  'a run that fails': { steps: [talk, new Error('down')], tools: [echo] },
  'a run that is aborted': {
    steps: [talk, 'never'],
    tools: [echo],
    hooks: (agent) => ({ 'tool:after': () => agent.abort() }),
  },
}

describe.for(Object.entries(runs))('F003 %s', ([, plan]) => {
  test('gives the same frames from its events alone', async () => {
    const { frames, events, outcome } = await record(plan)
    const projection = new ZotProjection({ now: () => 0 })
    const stored = JSON.parse(JSON.stringify(events)) as AgentEvent[]
    const again = [...stored.flatMap((event) => projection.framesFor(event)), ...projection.end(outcome)]
    expect(again.map(readBack)).toEqual(frames)
  })

  test('shows the same on the wire as in its events', async () => {
    const { frames, events, projection } = await record(plan)
    const of = (type: string) => frames.filter((frame) => frame.type === type)
    const shown = events.flatMap((event) => ('child' in event || event.durable ? [] : [event]))
    const entries = events.flatMap((event) => (!('child' in event) && event.durable ? [event.entry] : []))

    expect(of('turn_start').map(({ step }) => step)).toEqual(
      shown.flatMap((one) => (one.type === 'turn_started' ? [one.step] : [])),
    )
    expect(of('text_delta').map(({ delta }) => delta)).toEqual(
      shown.flatMap((one) => (one.type === 'text' ? [one.delta] : [])),
    )
    expect(of('tool_progress').map(({ id, text }) => [id, text])).toEqual(
      shown.flatMap((one) => (one.type === 'tool_progress' ? [[one.callId, one.text]] : [])),
    )
    expect(of('tool_result').map(({ id, is_error, content }) => [id, is_error, content])).toEqual(
      entries.flatMap((entry) =>
        entry.type === 'call_result'
          ? [[entry.callId, entry.isError ?? false, [{ type: 'text', text: entry.output }]]]
          : [],
      ),
    )
    const turns = entries.flatMap((entry) =>
      entry.type === 'turn' && entry.turn.role === 'assistant' ? [entry.turn] : [],
    )
    expect(of('assistant_message').map(({ time }) => time)).toEqual(
      turns.map(({ createdAt }) => new Date(createdAt).toISOString()),
    )
    expect(of('tool_call').map(({ id, args }) => [id, args])).toEqual(
      turns.flatMap(({ content }) =>
        content.flatMap((block) => (block.type === 'tool_call' ? [[block.id, block.input]] : [])),
      ),
    )
    expect(projection.usage.input).toBe(turns.reduce((sum, { usage }) => sum + usage!.input, 0))
  })
})
