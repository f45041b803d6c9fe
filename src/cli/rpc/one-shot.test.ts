import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createAgent } from '../../index.ts'
import type { AgentOptions } from '../../presets/preset.ts'
import { call, scripted, tool } from '../../testing/index.ts'
import { exitCodes } from '../cli-error.ts'
import { runJson } from './one-shot.ts'

// biome-ignore lint/suspicious/noExplicitAny: frames are what these tests look into
type Frame = any

interface Ran {
  readonly code: number
  readonly frames: readonly Frame[]
}

async function ran(options: AgentOptions, run: object = { prompt: 'go' }): Promise<Ran> {
  let text = ''
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk
      setImmediate(done)
    },
  })
  const agent = createAgent(options)
  const code = await runJson({ agent, run, stdout })
  await agent.destroy()
  return {
    code,
    frames: text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  }
}

const types = (frames: readonly Frame[]): string[] => frames.map(({ type }) => type)
const look = tool('look', () => 'seen')

describe('one run as JSON', () => {
  test('C033 writes the events of a prompt, without responses, and ends with done', async () => {
    const { code, frames } = await ran({ provider: scripted([call('1', 'look', {})], 'Here.'), tools: { look } })
    expect(code).toBe(exitCodes.done)
    expect(types(frames)).not.toContain('response')
    expect(types(frames).filter((type) => type !== 'text_delta')).toEqual([
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
      'tool_result',
      'turn_start',
      'assistant_start',
      'usage',
      'assistant_message',
      'turn_end',
      'done',
    ])
  })

  test('C033 after a failure the last event is an error, and there is no done', async () => {
    const { code, frames } = await ran({ provider: scripted(new Error('out of order')) })
    expect(code).toBe(exitCodes.error)
    expect(types(frames).filter((type) => type === 'error' || type === 'done')).toEqual(['error'])
    expect(frames.at(-1)).toEqual({ type: 'error', message: expect.stringContaining('out of order') })
  })

  test('C033 the same if the run could not start', async () => {
    const { code, frames } = await ran({ provider: scripted() }, {})
    expect(code).toBe(exitCodes.error)
    expect(types(frames)).toEqual(['error'])
  })

  test('C033 F005 it halts where an approval is needed, with the exit code for that', async () => {
    const danger = tool('danger', () => 'done', { effects: ['exec'] })
    const provider = scripted([call('1', 'danger', {})])
    const { code, frames } = await ran({ provider, tools: { danger }, authority: { mode: 'ask' } })
    expect(code).toBe(exitCodes.permission)
    expect(frames.find(({ type }) => type === 'tool_result')).toMatchObject({ is_error: true })
  })

  test('C033 at the limit of turns it ends with the exit code for limits', async () => {
    const provider = scripted([call('1', 'look', {})])
    const { code, frames } = await ran({ provider, tools: { look }, behavior: { maxTurns: 1 } })
    expect(code).toBe(exitCodes.budget)
    expect(frames.at(-1)).toEqual({ type: 'error', message: 'max steps (1) exceeded' })
  })

  test('FC-06 a reader that closes stdout aborts the run', async () => {
    const stdout = new Writable({ write: (_, __, done) => done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' })) })
    const waits = tool('waits', (_: unknown, { signal }: { signal: AbortSignal }) => {
      return new Promise<string>((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
    })
    const agent = createAgent({ provider: scripted([call('1', 'waits', {})]), tools: { waits } })
    expect(await runJson({ agent, run: { prompt: 'go' }, stdout })).toBe(exitCodes.closed)
  })

  test('FC-02 the model waits for a slow reader', async () => {
    let asked = 0
    let open: (() => void) | undefined
    const stdout = new Writable({
      highWaterMark: 1,
      write(_, __, done) {
        if (open === undefined) open = done
        else done()
      },
    })
    const provider = scripted()
    provider.stream = async function* () {
      yield { type: 'start' }
      for (; asked < 100; asked++) yield { type: 'text', delta: 'x'.repeat(100_000) }
      yield { type: 'reply', content: [{ type: 'text', text: 'much' }], usage: { input: 1, output: 1 }, stop: 'end' }
    }
    const agent = createAgent({ provider })
    const running = runJson({ agent, run: { prompt: 'go' }, stdout })
    await new Promise((go) => setTimeout(go, 50))
    expect(asked).toBeLessThan(20)
    open?.()
    expect(await running).toBe(exitCodes.done)
    expect(asked).toBe(100)
  })
})
