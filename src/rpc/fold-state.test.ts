import { describe, expect, test } from 'vitest'
import { foldFrame, foldLine, idleState, isStalled, normalizeEvent, type WatchedState } from './index.ts'

describe('C034 a frame as a Glasspane event', () => {
  const rows: [frame: Record<string, unknown>, type: string | undefined][] = [
    [{ type: 'response', success: true, command: 'prompt' }, undefined],
    [{ type: 'user_message' }, 'message_update'],
    [{ type: 'turn_start', step: 1 }, 'turn_start'],
    [{ type: 'assistant_start' }, 'message_start'],
    [{ type: 'text_delta', delta: 'a' }, 'message_update'],
    [{ type: 'tool_use_start', id: 'c' }, 'tool_execution_start'],
    [{ type: 'tool_use_args', id: 'c' }, 'tool_execution_update'],
    [{ type: 'tool_use_end', id: 'c' }, 'tool_execution_update'],
    [{ type: 'usage', input: 1 }, undefined],
    [{ type: 'assistant_message' }, 'message_end'],
    [{ type: 'tool_call', id: 'c' }, undefined],
    [{ type: 'turn_end', stop: 'end' }, 'turn_end'],
    [{ type: 'tool_progress', id: 'c' }, 'tool_execution_update'],
    [{ type: 'tool_result', id: 'c', is_error: true }, 'tool_execution_end'],
    [{ type: 'error', message: 'no' }, 'error'],
    [{ type: 'done' }, 'agent_end'],
  ]
  test('there are 16 types', () => {
    expect(new Set(rows.map(([{ type }]) => type)).size).toBe(16)
  })

  test.for(rows)('$0.type is $1', ([frame, type]) => {
    expect(normalizeEvent(frame)?.type).toBe(type)
  })

  test('a response that failed is an error', () => {
    const response = { type: 'response', command: 'x', success: false, error: 'unknown command' }
    expect(normalizeEvent(response)).toEqual({ type: 'error', message: 'unknown command' })
  })

  test('an event carries its details', () => {
    expect(normalizeEvent({ type: 'tool_result', id: 'c', is_error: true })).toEqual({
      type: 'tool_execution_end',
      id: 'c',
      isError: true,
    })
    expect(normalizeEvent({ type: 'turn_end', stop: 'tool_use' })).toEqual({ type: 'turn_end', stop: 'tool_use' })
  })

  test.for([null, 7, 'done', [], {}, { type: 7 }, { type: 'constructor' }, { type: '__proto__' }])(
    '%j has no event',
    (value) => {
      expect(normalizeEvent(value)).toBeUndefined()
    },
  )

  test('C035 a call starts once', () => {
    const frames = ['tool_use_start', 'tool_use_args', 'tool_use_end', 'tool_call', 'tool_result'].map((type) => ({
      type,
      id: 'c',
    }))
    const starts = frames.filter((frame) => normalizeEvent(frame)?.type === 'tool_execution_start')
    expect(starts).toHaveLength(1)
  })
})

describe('C036 the state of an agent', () => {
  const stateAfter = (...frames: object[]): WatchedState =>
    frames.reduce<WatchedState>((state, frame) => foldFrame(state, frame, 0), idleState)
  const end = (stop: string) => ({ type: 'turn_end', stop })

  const sequences: [frames: object[], status: string][] = [
    [[], 'idle'],
    [[{ type: 'response', success: true }], 'idle'],
    [[{ type: 'user_message' }], 'working'],
    [[{ type: 'turn_start' }], 'working'],
    [[{ type: 'tool_use_start' }], 'working'],
    [[{ type: 'turn_start' }, end('tool_use')], 'working'],
    [[{ type: 'turn_start' }, end('tool_use'), { type: 'tool_result' }], 'working'],
    [[{ type: 'turn_start' }, end('end')], 'done'],
    [[{ type: 'turn_start' }, end('end'), { type: 'done' }], 'done'],
    [[{ type: 'turn_start' }, { type: 'queue_update' }], 'blocked'],
    [[{ type: 'turn_start' }, { type: 'queue_update' }, { type: 'text_delta' }], 'working'],
    [[{ type: 'turn_start' }, end('error'), { type: 'error' }], 'error'],
    [[{ type: 'turn_start' }, end('error'), { type: 'error' }, { type: 'done' }], 'error'],
    [[{ type: 'error' }, { type: 'done' }, { type: 'user_message' }], 'working'],
    [[{ type: 'turn_start' }, end('aborted'), { type: 'done' }], 'done'],
    [[{ type: 'turn_start' }, { type: 'ext_notify' }, { type: 'of_a_later_version' }], 'working'],
  ]
  test.for(sequences)('after %j it is %s', ([frames, status]) => {
    expect(stateAfter(...frames).status).toBe(status)
  })

  test('invalid lines are counted and skipped, blank ones only skipped', () => {
    const lines = ['{"type":"turn_start"}', 'oops', '', ' \r', '[]', 'null', '{"a":1}', '{"type":7}']
    expect(lines.reduce((state, line) => foldLine(state, line, 5), idleState)).toEqual({
      status: 'working',
      heardAt: 5,
      badLines: 5,
    })
  })

  test('the last usage is kept', () => {
    const usage = { type: 'usage', input: 1, output: 2, cache_read: 0, cache_write: 0, cost_usd: 0.5 }
    expect(stateAfter({ type: 'turn_start' }, usage)).toMatchObject({ status: 'working', usage: { cost_usd: 0.5 } })
  })

  test('it is stalled when it works and has been silent for four hours', () => {
    const hours = 60 * 60 * 1000
    const working = foldFrame(idleState, { type: 'turn_start' }, 1000)
    expect(isStalled(working, 1000 + 4 * hours - 1)).toBe(false)
    expect(isStalled(working, 1000 + 4 * hours)).toBe(true)
    expect(isStalled(foldFrame(working, { type: 'unknown' }, 2000), 1000 + 4 * hours)).toBe(false)
    expect(isStalled(foldFrame(working, { type: 'done' }, 1000), 1000 + 9 * hours)).toBe(false)
    expect(isStalled(idleState, 9 * hours)).toBe(false)
  })
})
