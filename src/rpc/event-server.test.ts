import { describe, expect, test } from 'vitest'
import { type AgentEvent, durable } from '../events/events.ts'
import type { EventLine } from './event-lines.ts'
import { type EventsHost, serveEvents } from './event-server.ts'
import type { RunOutcome } from './host.ts'
import type { Output } from './write-lines.ts'

interface Fake {
  readonly host: EventsHost
  /** The messages that were run, in order. */
  readonly ran: (string | undefined)[]
  readonly aborts: () => number
  tell(event: AgentEvent): void
}

function fakeHost(run: (message: string | undefined, fake: Fake) => Promise<RunOutcome>): Fake {
  let aborts = 0
  let listener: (event: AgentEvent) => void = () => {}
  const fake: Fake = {
    ran: [],
    aborts: () => aborts,
    tell: (event) => listener(event),
    host: {
      ...{ version: '1', provider: 'p', model: 'm', cwd: '/desk/project', head: 0 },
      replay: async () => [],
      follow(given) {
        listener = given
        return () => {}
      },
      run(message) {
        fake.ran.push(message)
        return run(message, fake)
      },
      steer: async () => {},
      followUp: async () => {},
      abort: () => void aborts++,
      attach: () => () => {},
      applyBackpressure() {},
    },
  }
  return fake
}

const ended: RunOutcome = { status: 'completed', stopReason: 'end' }
const runEnded = durable({ type: 'run_ended', seq: 1, at: 0, runId: 'r', status: 'completed', stop: 'end' } as never)

/** Sends these lines, then stays open. */
async function* staysOpen(...commands: object[]): AsyncGenerator<Uint8Array> {
  for (const command of commands) yield lineOf(command)
  await new Promise(() => {})
}

async function* says(...commands: object[]): AsyncGenerator<Uint8Array> {
  for (const command of commands) yield lineOf(command)
}

const lineOf = (command: object): Uint8Array => new TextEncoder().encode(`${JSON.stringify(command)}\n`)

function reader(): Output & { readonly lines: EventLine[] } {
  const lines: EventLine[] = []
  return {
    lines,
    write(text, done) {
      for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line))
      queueMicrotask(() => done())
    },
  }
}

const aWhile = async (isOver: () => boolean): Promise<void> => {
  for (let i = 0; i < 2000 && !isOver(); i++) await new Promise(setImmediate)
}

describe('serving ends although the input stays open', () => {
  test('a signal aborts the current run and drops the queue', async () => {
    const stopping = new AbortController()
    const stopped = Promise.withResolvers<RunOutcome>()
    const fake = fakeHost(() => stopped.promise)
    const output = reader()
    const input = staysOpen({ type: 'prompt', message: 'a' }, { type: 'prompt', message: 'b' })
    const served = serveEvents({ host: fake.host, input, output, signal: stopping.signal })
    await aWhile(() => output.lines.length >= 3 && fake.ran.length > 0)
    stopping.abort()
    stopped.resolve({ status: 'aborted', stopReason: 'aborted' })
    expect(await served).toMatchObject({ status: 'aborted' })
    expect(fake.ran).toEqual(['a'])
    expect(fake.aborts()).toBe(1)
  })

  test('FC-06 so does a closed output', async () => {
    const fake = fakeHost(async () => ended)
    let close: (error?: Error) => void = () => {}
    const output: Output = {
      write: (_, done) => queueMicrotask(() => done()),
      on: (_, listener) => {
        close = listener
      },
    }
    const served = serveEvents({ host: fake.host, input: staysOpen(), output })
    await aWhile(() => false)
    close(new Error('EPIPE'))
    expect(await served).toBeUndefined()
    expect(fake.aborts()).toBe(1)
  })
})

describe('a run without run_ended', () => {
  test('is reported by a not_run line with the id of its command', async () => {
    const fake = fakeHost(async (message, { tell }) => {
      if (message === 'bad') throw new Error('the picture is not there')
      if (message === 'good') tell(runEnded)
      return message === 'good' ? ended : { status: 'aborted', stopReason: 'aborted' }
    })
    const output = reader()
    const input = says(
      { type: 'prompt', id: '1', message: 'good' },
      { type: 'prompt', id: '2', message: 'bad' },
      { type: 'prompt', message: 'stopped' },
    )
    await serveEvents({ host: fake.host, input, output })
    expect(fake.ran).toEqual(['good', 'bad', 'stopped'])
    expect(output.lines.filter((line) => 'type' in line && line.type === 'not_run')).toEqual([
      { type: 'not_run', command: 'prompt', id: '2', status: 'error', error: 'the picture is not there' },
      { type: 'not_run', command: 'prompt', status: 'aborted' },
    ])
  })
})

describe('FC-07 a client that never stops sending', () => {
  test('is not read from while it does not read the replies', async () => {
    const most = 20_000
    let pulled = 0
    async function* flood(): AsyncGenerator<Uint8Array> {
      for (; pulled < most; pulled++) yield lineOf({ type: 'dance', id: 'i'.repeat(1000) })
    }
    let close: () => void = () => {}
    const output: Output = {
      write() {},
      on: (_, listener) => {
        close = listener
      },
    }
    const served = serveEvents({ host: fakeHost(async () => ended).host, input: flood(), output })
    await aWhile(() => pulled === most)
    close()
    await served
    expect(pulled).toBeGreaterThan(1000)
    expect(pulled).toBeLessThan(most / 2)
  })

  test('is told that too many prompts are waiting', async () => {
    const stopping = new AbortController()
    const stopped = Promise.withResolvers<RunOutcome>()
    const output = reader()
    const prompts = Array.from({ length: 1010 }, (_, i) => ({ type: 'prompt', id: String(i), message: 'more' }))
    const { host } = fakeHost(() => stopped.promise)
    const served = serveEvents({ host, input: staysOpen(...prompts), output, signal: stopping.signal })
    await aWhile(() => output.lines.length > 1010)
    stopping.abort()
    stopped.resolve(ended)
    await served
    const refused = output.lines.filter((line) => 'ok' in line && !line.ok)
    expect(refused.length).toBeGreaterThan(5)
    expect(refused[0]).toMatchObject({ command: 'prompt', error: expect.stringContaining('too many commands wait') })
  })
})

test('FC-02 replayed events wait for a slow reader too', async () => {
  const { host } = fakeHost(async () => ended)
  const events = Array.from({ length: 4000 }, (_, i) => ({ ...runEnded, seq: i, pad: 'x'.repeat(1000) }))
  let goOn: () => void = () => {}
  let isSlow = true
  const output: Output = {
    write(_, done) {
      goOn = done
      if (!isSlow) queueMicrotask(() => done())
    },
  }
  let hasFollowed = false
  const follow: EventsHost['follow'] = (listener) => {
    hasFollowed = true
    return host.follow(listener)
  }
  const served = serveEvents({ host: { ...host, follow, replay: async () => events }, input: says(), output, after: 0 })
  await aWhile(() => hasFollowed)
  expect(hasFollowed).toBe(false)
  isSlow = false
  goOn()
  await served
  expect(hasFollowed).toBe(true)
})
