import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentAuthError, AgentContextExceededError, AgentQuotaError } from '../../src/core/errors.ts'
import type { LogEntry } from '../../src/core/log.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { sampleOf } from '../soak.ts'
import { cut, type FaultServer, type Part, reset, stall, startFaultServer, until } from './fault-server.ts'
import { type Family, families } from './fault-streams.ts'
import {
  claude,
  error,
  hello,
  key,
  meetAt,
  notebook,
  noteCall,
  repliesOf,
  resultsIn,
  type Setting,
  stream,
} from './provider-faults-kit.ts'

let server: FaultServer
beforeAll(async () => {
  server = await startFaultServer()
})
afterAll(() => server.close())
const meet = (family?: Family, setting?: Setting) => meetAt(server.url, family, setting)

describe.each(sampleOf(families, 1))('$name', (family) => {
  test('FP-01 after a 429 that asks for 7 s nothing is sent before, and then all goes on', async () => {
    const clock = fakeClock()
    const { run, heard } = meet(family, { clock })
    server.play(error(family, 429, 'Slow down', { 'retry-after': '7' }), stream(family, hello))
    const running = run()
    await until(() => heard.retries.length === 1)
    expect(heard.retries[0]).toMatchObject({ attempt: 2, delayMs: 7000, reason: 'HTTP 429: Slow down' })
    await clock.advance(6999)
    expect(server.requests).toHaveLength(1)
    await clock.advance(1)
    expect(await running).toMatchObject({ text: 'Hello 🌍', status: 'completed' })
    expect(server.requests[1]!.text).toBe(server.requests[0]!.text)
  })

  test.each([429, 402])('FP-03 a %i that means that there is no money is said at once, and once', async (status) => {
    const bodies: Record<string, string> = {
      anthropic: claude.error('Your limit is reached', 'billing_error'),
      openrouter: JSON.stringify({ error: { message: 'Insufficient credits', code: 402 } }),
      openai: JSON.stringify({ error: { message: 'You exceeded your quota', type: 'insufficient_quota' } }),
      google: JSON.stringify({
        error: { code: 429, message: 'Quota', status: 'X', details: [{ violations: [{ quotaId: 'RequestsPerDay' }] }] },
      }),
    }
    server.play({ status, body: bodies[family.name]! })
    const { failure, heard } = meet(family)
    expect(await failure()).toBeInstanceOf(AgentQuotaError)
    expect(server.requests).toHaveLength(1)
    expect(heard.retries).toEqual([])
  })

  test.each([401, 403])('FP-06 a %i for a key is final', async (status) => {
    server.play(error(family, status))
    expect(await meet(family).failure()).toBeInstanceOf(AgentAuthError)
    expect(server.requests).toHaveLength(1)
  })

  test.each([
    [413, 'Request exceeds the maximum size'],
    [400, 'prompt is too long: 213462 tokens > 200000 maximum'],
    [400, 'Your input exceeds the context window of this model'],
    [400, 'The input token count (1201540) exceeds the maximum number of tokens allowed (1048576).'],
  ])('FP-08 a request that does not fit (%i, %s) is not sent twice', async (status, message) => {
    server.play(error(family, status, message))
    const meeting = meet(family)
    expect(await meeting.failure()).toBeInstanceOf(AgentContextExceededError)
    expect(server.requests).toHaveLength(1)
    expect(meeting.ofType('run_ended')).toMatchObject([{ error: { name: 'AgentContextExceededError' } }])
  })

  test.each<Part>([cut, reset])(
    'FP-10 a connection that breaks after the headers (%s) is as if never made',
    async (how) => {
      server.play({ body: [how] }, stream(family, hello))
      const { run, heard, agent } = meet(family)
      expect((await run()).text).toBe('Hello 🌍')
      expect(heard).toMatchObject({ shown: 'Hello 🌍', retries: [{ attempt: 2 }] })
      expect(agent.turns).toHaveLength(2)
    },
  )

  test.each(['chunked', 'close'] as const)(
    'FP-11 FP-15 wherever a text is cut off (%s), it is said once, and kept only when it is whole',
    async (framing) => {
      const frames = family.frames({ text: ['A🌍', 'b'] })
      const bytes = Buffer.from(frames.join(''))
      // At every byte for one wire; that the others read the same bytes the same way is proved elsewhere.
      const step = family === claude ? 1 : 13
      const { provider } = meet(family)
      const whole = stream(family, { text: ['A🌍', 'b'] })
      for (let at = 0; at < bytes.length; at += step) {
        const end: Part[] = framing === 'close' ? [] : [cut]
        server.play({ body: [bytes.subarray(0, at), ...end], framing }, whole)
        const { run, heard, agent } = meet(family, { provider })
        const { text } = await run()
        const isWhole = server.requests.length === 1
        const { shown, retries } = heard
        if (text !== 'A🌍b' || shown !== text || retries.length !== (isWhole ? 0 : 1))
          expect({ at, shown, retries, text }).toEqual({ at })
        expect(agent.turns).toHaveLength(2)
        const seen = bytes.subarray(0, at).toString().split('\n\n').length - 1
        // What is missing at the end of a whole reply is at most a line end.
        if (isWhole) expect(family.isComplete(frames, seen + 1)).toBe(true)
      }
    },
  )

  test('FP-12 a call that is cut off is never run, be its fragment ever so valid', async () => {
    const bytes = Buffer.from(family.frames({ calls: [{ ...noteCall(1), args: ['{"n":1}', ' '] }] }).join(''))
    const { ran, tools } = notebook()
    const { provider } = meet(family)
    for (let at = 0; at < bytes.length; at += family === claude ? 1 : 11) {
      ran.length = 0
      const framing = at % 2 === 0 ? 'chunked' : 'close'
      const end: Part[] = framing === 'close' ? [] : [cut]
      const again = family.frames({ calls: [noteCall(2)] }).join('')
      const done = family.frames({ text: ['done'] }).join('')
      server.play({ body: [bytes.subarray(0, at), ...end], framing }, ({ text }) => ({
        body: text.includes('noted') ? done : again,
      }))
      const { run, heard } = meet(family, { tools, provider })
      expect((await run()).text).toBe('done')
      const isCut = heard.retries.length > 0
      if (ran.join() !== (isCut ? '2' : '1')) expect({ at, isCut, ran }).toEqual({ at })
      expect(server.requests.at(-1)!.text).toContain(`noted ${isCut ? 2 : 1}`)
    }
  })

  test('FP-13 a stream that falls silent, before or after the first words, is given up and asked for again', async () => {
    const clock = fakeClock()
    const { run, heard } = meet(family, { clock })
    const frames = family.frames(hello)
    const words = frames.findIndex((frame) => frame.includes('Hel'))
    server.play({ body: [stall] }, { body: [frames.slice(0, words + 1).join(''), stall] }, stream(family, hello))
    const running = run()
    await until(() => server.requests.length === 1)
    await clock.advance(299_999)
    expect(heard.retries).toEqual([])
    await clock.advance(1)
    await until(() => heard.shown === 'Hel')
    expect(heard.retries).toMatchObject([{ reason: expect.stringContaining('no content within 300 s') }])
    await clock.advance(119_999)
    expect(heard.retries).toHaveLength(1)
    await clock.advance(1)
    expect((await running).text).toBe('Hello 🌍')
    expect(heard.shown).toBe('Hello 🌍')
    expect(heard.retries.map(({ attempt }) => attempt)).toEqual([2, 3])
    expect(heard.retries[1]!.reason).toContain('no content for 120 s')
    await until(() => !server.requests[0]!.isOpen() && !server.requests[1]!.isOpen(), 'a closed connection')
    await until(() => clock.pending === 0, 'no timer')
  })

  test('FP-14 pings and comments are no words: the same silence, the same end', async () => {
    const clock = fakeClock()
    const { run, heard } = meet(family, { clock })
    const frames = family.frames(hello)
    const words = frames.findIndex((frame) => frame.includes('Hel'))
    const ping = family === claude ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': OPENROUTER PROCESSING\n\n'
    const beats = Array.from({ length: 30 }, () => Promise.withResolvers<void>())
    const pings = beats.flatMap(({ promise }) => [promise, ping])
    server.play({ body: [frames.slice(0, words + 1).join(''), ...pings, stall] }, stream(family, hello))
    const running = run()
    await until(() => heard.shown === 'Hel')
    for (const [i, { resolve }] of beats.slice(0, 24).entries()) {
      expect(heard.retries).toHaveLength(0)
      resolve()
      if (i === 5) await new Promise((done) => setTimeout(done, 5)) // so that some arrive for certain
      await clock.advance(5000)
    }
    for (const { resolve } of beats) resolve()
    expect((await running).text).toBe('Hello 🌍')
    expect(heard.retries).toHaveLength(1)
  })

  test('FP-15 an end without a last word is none: it fails twice, and what came is kept as interrupted', async () => {
    const frames = family.frames(hello)
    const words = frames.findIndex((frame) => frame.includes('Hel'))
    server.play({ body: frames.slice(0, words + 1).join('') })
    const meeting = meet(family)
    const failed = await meeting.failure()
    expect(failed).toMatchObject({ providerCode: 'stream_cut', retryable: true })
    expect(server.requests).toHaveLength(2)
    expect(meeting.heard.retries.map(({ attempt }) => attempt)).toEqual([2])
    expect(meeting.agent.turns.at(-1)).toMatchObject({ content: [{ text: 'Hel' }], interrupted: true })
  })

  test.each([1, 3])('FP-16 %i bytes at a time are the same answer', async (every) => {
    server.play({ body: `\uFEFF: hi\r\n\r\n${family.frames(hello).join(': ping\n')}`, every })
    const { run, heard } = meet(family)
    expect((await run()).text).toBe('Hello 🌍')
    expect(heard).toMatchObject({ shown: 'Hello 🌍', retries: [] })
  })

  test('FP-17 a line that is not JSON fails the attempt, wherever it stands', async () => {
    const frames = family.frames(hello)
    const whole = frames.findIndex((_, i) => family.isComplete(frames, i))
    for (let at = 0; at < (whole < 0 ? frames.length : whole); at++) {
      const bad = frames.toSpliced(at, 0, 'data: {"oops: sk-canary-0123456789abcdef\n\n').join('')
      server.play({ body: bad }, stream(family, hello))
      const { run, heard } = meet(family)
      expect((await run()).text).toBe('Hello 🌍')
      expect(heard).toMatchObject({ shown: 'Hello 🌍', retries: [{ reason: expect.stringContaining('not JSON') }] })
      server.play({ body: bad })
      const failed = await meet(family).failure()
      expect(failed).toMatchObject({ providerCode: 'bad_json', retryable: true })
      expect(failed.message).not.toContain('canary')
    }
  })

  test('FP-18 overload inside a stream is overload: waited for before the first word, asked once more after it', async () => {
    const clock = fakeClock()
    const early = meet(family, { clock, service: { retry: { random: () => 0.5 } } })
    server.play({ body: family.overload }, { body: family.overload }, stream(family, hello))
    const running = early.run()
    await until(() => early.heard.retries.length === 1)
    await clock.advance(500)
    await until(() => early.heard.retries.length === 2)
    await clock.advance(1000)
    expect((await running).text).toBe('Hello 🌍')
    expect(early.heard.retries.map(({ delayMs }) => delayMs)).toEqual([500, 1000])

    const frames = family.frames(hello)
    const words = frames.findIndex((frame) => frame.includes('Hel'))
    const late = { body: [...frames.slice(0, words + 1), family.overload].join('') }
    server.play(late, stream(family, hello))
    const { run, heard } = meet(family)
    expect((await run()).text).toBe('Hello 🌍')
    expect(heard).toMatchObject({ shown: 'Hello 🌍', retries: [{ attempt: 2 }] })
    server.play(late)
    expect(await meet(family).failure()).toMatchObject({ retryable: true, message: expect.stringContaining('verload') })
    expect(server.requests).toHaveLength(2)
  })

  test.each(['null', '[]', '"x"', '{"n":1e999}', '{"n":"many"}', '{}'])(
    'FP-20 arguments that are %s are not run with, and the model is told why',
    async (args) => {
      const { ran, tools } = notebook()
      const meeting = meet(family, { tools })
      server.play(stream(family, { calls: [{ id: 'c1', name: 'note', args: [args] }] }), stream(family, hello))
      await meeting.run()
      expect(ran).toEqual([])
      expect(resultsIn(meeting)).toMatchObject([{ isError: true, outcome: 'invalid' }])
    },
  )

  test('FP-20 what can be read as declared is, for everybody to see', async () => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    const coerced: unknown[] = []
    meeting.agent.hooks.hook('validation:coerce', ({ coercions }) => void coerced.push(...coercions))
    server.play(stream(family, { calls: [noteCall('"7"')] }), stream(family, hello))
    await meeting.run()
    expect(ran).toEqual([7])
    expect(coerced).toEqual([{ property: 'n', from: 'string', to: 'number' }])
  })

  test('FP-21 calls under one id, in one reply and in a later one, are run once each', async () => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    server.play(
      stream(family, { calls: [noteCall(1, 'same'), noteCall(2, 'same')] }),
      stream(family, { calls: [noteCall(3, 'same')] }),
      stream(family, hello),
    )
    await meeting.run()
    expect(ran).toEqual([1, 2, 3])
    const ids = resultsIn(meeting).map(({ callId }) => callId)
    expect(new Set(ids).size).toBe(3)
    const outputs = server.requests.at(-1)!.text.match(/noted \d/g)
    expect(outputs).toEqual(['noted 1', 'noted 2', 'noted 3'])
  })

  test('FP-22 a call without an id is given one, and one without a name is an unknown tool', async () => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    server.play(stream(family, { calls: [{ name: 'note', args: ['{"n":1}'] }, { name: '' }] }), stream(family, hello))
    expect((await meeting.run()).text).toBe('Hello 🌍')
    expect(ran).toEqual([1])
    const [first, second] = resultsIn(meeting)
    expect(first).toMatchObject({ callId: expect.stringMatching(/./), output: 'noted 1' })
    expect(second).toMatchObject({ outcome: 'unknown_tool', isError: true })
    expect(second!.callId).not.toBe(first!.callId)
  })

  test('FP-23 a call of an unknown tool gets an error result, also under a name that every object has', async () => {
    const { ran, tools } = notebook()
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'nota']
    for (const name of names) {
      const meeting = meet(family, { tools })
      server.play(stream(family, { calls: [{ id: 'c1', name, args: ['{}'] }] }), stream(family, hello))
      expect((await meeting.run()).text).toBe('Hello 🌍')
      expect(resultsIn(meeting)).toMatchObject([{ outcome: 'unknown_tool', isError: true }])
      if (name === 'nota') expect(resultsIn(meeting)[0]!.output).toContain('note')
    }
    expect(ran).toEqual([])
  })

  test('FP-24 an unknown stop reason becomes other, and the text is kept', async () => {
    server.play(stream(family, { ...hello, stop: family.stops.unknown }))
    const meeting = meet(family)
    expect(await meeting.run()).toMatchObject({ text: 'Hello 🌍', stopReason: 'other', status: 'completed' })
    expect(meeting.ofType('turn').at(-1)).toMatchObject({ stop: 'other' })
    expect(server.requests).toHaveLength(1)
  })

  test('FP-25 an empty reply is asked for once more, and is then an error that has a name', async () => {
    server.play(stream(family, {}))
    const meeting = meet(family)
    expect(await meeting.failure()).toMatchObject({ providerCode: 'empty_reply' })
    expect(server.requests).toHaveLength(2)
    expect(repliesOf(meeting)).toEqual([])
    server.play(stream(family, {}), stream(family, hello))
    expect((await meet(family).run()).text).toBe('Hello 🌍')
  })

  test('FP-26 a refusal is final, has a name, and is kept', async () => {
    server.play(stream(family, { text: ['I would rather not'], stop: family.stops.refusal }))
    const spoken = meet(family)
    expect(await spoken.run()).toMatchObject({ stopReason: 'refusal', text: 'I would rather not' })
    expect(spoken.ofType('turn').at(-1)).toMatchObject({ stop: 'refusal' })
    expect(server.requests).toHaveLength(1)

    server.play(stream(family, { stop: family.stops.refusal }))
    const silent = meet(family)
    expect(await silent.failure()).toMatchObject({ providerCode: 'refusal' })
    expect(silent.ofType('run_ended')).toMatchObject([{ error: { providerCode: 'refusal' } }])
    expect(server.requests).toHaveLength(1)
  })

  test('FP-27 a call that ran into the limit is not run, and the model is told so', async () => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    server.play(stream(family, { calls: [noteCall(1)], stop: family.stops.length }), stream(family, hello))
    expect((await meeting.run()).text).toBe('Hello 🌍')
    expect(ran).toEqual([])
    expect(resultsIn(meeting)).toMatchObject([{ isError: true, output: expect.stringContaining('output limit') }])
    expect(server.requests[1]!.text).toContain('output limit')
  })

  test('FP-28 what a reply holds counts, not what it calls it', async () => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    server.play(
      stream(family, { calls: [noteCall(1)], stop: family.stops.end }),
      stream(family, { ...hello, stop: family.stops.call }),
    )
    expect(await meeting.run()).toMatchObject({ text: 'Hello 🌍', status: 'completed' })
    expect(ran).toEqual([1])
    expect(server.requests).toHaveLength(2)
  })

  test.each([
    ['missing', undefined],
    ['negative', { input: -5, output: -1 }],
    ['endless', { input: Number.POSITIVE_INFINITY, output: 1 }],
    ['text', { input: '12', output: 'many' }],
    ['nothing', { input: null, output: {} }],
  ])('FP-30 a count that is %s never spoils a sum, and has no price', async (_, counts) => {
    const { body } = stream(family, { ...hello, usage: counts ? family.usage(counts) : null })
    // JSON has no such number, but a text may hold one that is read as it.
    const endless = String(body).replaceAll(/((?:input|prompt)_?token\w+":)null/gi, '$11e999')
    server.play({ body: counts?.input === Number.POSITIVE_INFINITY ? endless : String(body) })
    const models = { [family.make({}).meta.defaultModel]: { input: 1, output: 1 } }
    const stats = await meet(family, { service: { prices: { models } } }).run()
    expect(Number.isFinite(stats.totalIn) && stats.totalIn >= 0).toBe(true)
    expect(Number.isFinite(stats.totalOut) && stats.totalOut >= 0).toBe(true)
    expect(stats.cost === undefined || Number.isFinite(stats.cost)).toBe(true)
    expect(stats.text).toBe('Hello 🌍')
  })

  test('FP-31 one delta of 10 MB is one delta, and 100,000 of them are as many', async () => {
    const big = 'x🌍'.repeat(2_000_000)
    server.play(stream(family, { text: [big] }))
    const first = meet(family)
    const { text } = await first.run()
    expect(text === big).toBe(true)
    expect(first.heard.shown === big).toBe(true)

    const many = Array.from({ length: 100_000 }, (_, i) => `${i} `)
    server.play(stream(family, { text: many }))
    const second = meet(family)
    const stats = await second.run()
    expect(stats.text === many.join('')).toBe(true)
    expect(second.heard.shown === stats.text).toBe(true)
    expect(second.heard.deltas).toBe(100_000)
  })

  test('FP-32 half a character, NUL and bytes that are no text do not spoil a session', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: family.name })
    const frames = family.frames({
      text: ['half ', 'LONE', ' nul ', 'NUL', ' bad ', 'BYTES'],
      calls: [{ ...noteCall(1), args: ['{"n":1,"s":"LONE"}'] }],
    })
    const text = frames.join('').replaceAll('LONE', '\\ud83d').replaceAll('NUL', '\\u0000')
    const [before = '', after = '', ...rest] = text.split('BYTES')
    const parts = [before, after, ...rest].flatMap((part, i) =>
      i === 0 ? [Buffer.from(part)] : [Buffer.from([0xff, 0xc3]), Buffer.from(part)],
    )
    server.play({ body: Buffer.concat(parts) }, stream(family, hello))
    const { tools } = notebook()
    await meet(family, { session, tools }).run()
    const stored = await store.read(family.name)
    // A lone one would be written as an escape; the error for the model names it with a backslash of its own.
    expect(JSON.stringify(stored)).not.toMatch(/(?<!\\)\\ud83d/)

    // A store whose rows were damaged by another program.
    const broken = stored.map((entry) => JSON.parse(JSON.stringify(entry).replaceAll('hi', 'hi \\ud83d')) as LogEntry)
    const again = createMemoryStore()
    const { epoch } = await again.lease('broken', { owner: 'another program', ttlMs: 1000, create: true })
    await again.append('broken', broken, { epoch, head: 0 })
    await again.lease('broken', { owner: 'another program', ttlMs: 0, epoch })
    const resumed = createAgent({
      provider: family.make({ apiKey: key, baseURL: server.url, prices: false }),
      session: await loadSession(again, 'broken'),
      tools,
    })
    server.play(stream(family, hello))
    expect((await resumed.run({ prompt: 'and now?' })).text).toBe('Hello 🌍')
    expect(server.requests[0]!.text).not.toMatch(/(?<!\\)\\ud83d(?!\\ud)/i)
    expect(server.requests[0]!.text.isWellFormed()).toBe(true)
  })

  test('FP-17 the connection of a stream that was given up is closed', async () => {
    server.play({ body: ['data: {"half\n\n', stall] }, stream(family, hello))
    expect((await meet(family).run()).text).toBe('Hello 🌍')
    await until(() => !server.requests[0]!.isOpen(), 'a closed connection')
  })

  test('FP-36 a connection is used again and again, unless its server never comes to an end', async () => {
    const clock = fakeClock()
    const { run } = meet(family, { clock })
    const before = server.connections
    server.play(stream(family, hello))
    for (let i = 0; i < 10; i++) await run()
    // The next may be asked before the last is quite over.
    expect(server.connections - before).toBeLessThan(5)
    if (family.name === 'google') return // its stream has no other last word than its end
    server.play({ body: [family.frames(hello).join(''), stall] })
    expect((await run()).text).toBe('Hello 🌍')
    expect(server.requests[0]!.isOpen()).toBe(true)
    await clock.advance(1000)
    await until(() => !server.requests[0]!.isOpen(), 'a closed connection')
    expect(clock.pending).toBe(0)
  })

  test('FP-36 connections that were closed while idle are replaced without an error', async () => {
    const { run, heard } = meet(family)
    server.play(stream(family, hello))
    for (let i = 1; i <= 10; i++) {
      expect((await run()).text).toBe('Hello 🌍')
      expect(server.requests).toHaveLength(i)
      server.closeIdle()
    }
    expect(heard.retries).toEqual([])
  })
})
