import { PassThrough, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createChat } from '../src/chat/create-chat.ts'
import type { ModelEvent, Provider } from '../src/core/provider.ts'
import type { SessionStore } from '../src/core/store.ts'
import { createAgent } from '../src/create-agent.ts'
import { createMemoryStore } from '../src/sessions/memory-store.ts'
import { createSession, loadSession } from '../src/sessions/session.ts'
import { runApp } from '../src/tui/app.ts'
import { openKeyboard } from '../src/tui/input/keyboard.ts'
import { createLines } from '../src/tui/run-tui.ts'
import type { Output } from '../src/tui/terminal/output.ts'
import { writeLongSession } from '../test/long-session.ts'
import { atMost, compare, median, type Result } from './measure.ts'

const turns = 10_000
const deltasASecond = 200
const seconds = 2
const rounds = 5

/** A chat on an output that counts. */
export async function tuiInProcess(): Promise<Result[]> {
  const store = createMemoryStore()
  await writeLongSession(store, 'long', { turns, size: 400 })
  const heap = await heapOfTerminal(store)
  const short = await open(store)
  const begun = performance.now()
  const long = await open(store, 'long')
  await long.seen('earlier message')
  const resumed = performance.now() - begun
  const cpu: { short: number[]; long: number[] } = { short: [], long: [] }
  let most = { bytes: 0, frame: 0, frames: 0 }
  for (let round = -1; round < rounds; round++)
    for (const name of ['short', 'long'] as const) {
      const streamed = await stream(name === 'short' ? short : long)
      if (round < 0) continue
      cpu[name].push(streamed.cpu)
      most = {
        bytes: Math.max(most.bytes, streamed.bytes),
        frame: Math.max(most.frame, streamed.frame),
        frames: Math.max(most.frames, streamed.frames),
      }
    }
  const pasted = await paste(short)
  const stopped = await stop(short)
  const frames = await idleFrames(short)
  await short.close()
  await long.close()
  return [
    compare(
      `tui: a delta after ${turns} turns, against a new session`,
      median(cpu.long),
      median(cpu.short),
      1.2,
      'delta',
    ),
    atMost('tui: bytes a delta', most.bytes, 60),
    atMost('tui: bytes of the largest frame', most.frame, 4096),
    atMost('tui: frames a second', most.frames, 25),
    atMost(`tui: heap for ${turns} turns above the engine, MB`, heap, 60),
    atMost(`tui: first screen of ${turns} turns, ms`, resumed, 300),
    atMost('tui: paste of 10 MB, ms of processor time', pasted, 300),
    atMost('tui: Esc to "stopping", ms', stopped, 50),
    atMost('tui: frames in an idle second', frames, 0),
  ]
}

interface Streamed {
  /** Microseconds of processor time for each delta. */
  readonly cpu: number
  readonly bytes: number
  readonly frame: number
  readonly frames: number
}

/** Lets the model say words at a steady rate. */
async function stream(app: Opened): Promise<Streamed> {
  app.type('go\r')
  await app.model.asked()
  app.counted.reset()
  const before = process.cpuUsage()
  const begun = performance.now()
  const deltas = deltasASecond * seconds
  for (let n = 1; n <= deltas; n++) {
    app.model.say(n % 60 === 0 ? 'end.\n\n' : 'word ')
    await pause(Math.max(0, begun + (n * 1000) / deltasASecond - performance.now()))
  }
  const { user, system } = process.cpuUsage(before)
  const elapsed = (performance.now() - begun) / 1000
  const { bytes, frames, largest } = app.counted
  app.model.end()
  await app.idle()
  return { cpu: (user + system) / deltas, bytes: bytes / deltas, frame: largest, frames: frames / elapsed }
}

/** Processor time, that of other programs not counted. */
async function paste(app: Opened): Promise<number> {
  const text = 'a line of a long paste, with some words in it\n'.repeat((10 * 2 ** 20) / 46)
  const bytes = Buffer.from(`\x1b[200~${text}\x1b[201~`)
  const begun = process.cpuUsage()
  for (let at = 0; at < bytes.length; at += 65_536) app.type(bytes.subarray(at, at + 65_536))
  await app.seen('[paste')
  const { user, system } = process.cpuUsage(begun)
  app.type('\x15')
  await pause(50)
  return (user + system) / 1000
}

async function stop(app: Opened): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 5; n++) {
    app.type('go\r')
    await app.model.asked()
    app.model.say('word ')
    await pause(60)
    app.counted.reset()
    const begun = performance.now()
    app.type('\x1b')
    await app.seen('stopping')
    times.push(performance.now() - begun)
    await app.idle()
    await pause(60)
  }
  return median(times)
}

/** What is written in a second in which nothing happens. */
async function idleFrames(app: Opened): Promise<number> {
  await app.idle()
  await pause(500)
  app.counted.reset()
  await pause(1000)
  return app.counted.frames
}

/** The heap of an open session with the terminal, minus that without. */
async function heapOfTerminal(store: SessionStore): Promise<number> {
  const { chat } = chatOn(store, 'long')
  await chat.open({ resume: 'long' })
  const without = usedHeap()
  await chat.close()
  const before = usedHeap()
  const app = await open(store, 'long')
  await app.seen('earlier message')
  const used = usedHeap() - before
  await app.close()
  return Math.max(0, (used - Math.max(0, without - before)) / 2 ** 20)
}

let gc: (() => void) | undefined
function usedHeap(): number {
  if (!gc) {
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as () => void
  }
  gc()
  return process.memoryUsage().heapUsed
}

type Opened = Awaited<ReturnType<typeof open>>

function chatOn(store: SessionStore, id?: string) {
  const model = steadyModel()
  const chat = createChat({
    store,
    async openAgent() {
      const session = id === undefined ? await createSession({ store }) : await loadSession(store, id)
      const agent = createAgent({ provider: model.provider, session })
      return {
        agent,
        settings: { model: { provider: 'steady', model: 'steady-1' } },
        close: () => agent.destroy(),
      }
    },
  })
  return { chat, model }
}

async function open(store: SessionStore, id?: string) {
  const { chat, model } = chatOn(store, id)
  const counted = countingOutput()
  const stdin = Object.assign(new PassThrough(), { isTTY: true as const, setRawMode: () => stdin })
  const keyboard = openKeyboard({ stdin, stderr: counted.output }, { modes: 'all' })!
  const ending = new AbortController()
  const lines: string[] = []
  const ended = runApp({
    ...{ chat, output: counted.output, keyboard, env: {}, cwd: process.cwd(), signal: ending.signal },
    history: { add: (text) => void lines.push(text), recent: () => lines, search: () => [] },
    ...createLines([]),
  })
  await chat.open(id === undefined ? {} : { resume: id })
  const until = async (isSo: () => boolean): Promise<void> => {
    for (const end = performance.now() + 60_000; !isSo(); ) {
      if (performance.now() > end) throw new Error('the terminal did not do it in a minute')
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return {
    ...{ model, counted },
    type: (bytes: string | Uint8Array) => void stdin.write(bytes),
    idle: () => until(() => chat.state.phase === 'idle'),
    /** One of the words was written, after what was seen before. */
    seen: async (...words: string[]) => {
      await until(() => words.some((word) => counted.text.includes(word)))
      counted.text = ''
    },
    async close() {
      ending.abort()
      await ended
      await chat.close()
    },
  }
}

function countingOutput() {
  const counted = { bytes: 0, frames: 0, largest: 0, text: '', reset }
  function reset(): void {
    Object.assign(counted, { bytes: 0, frames: 0, largest: 0, text: '' })
  }
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _, done) {
      const size = Buffer.byteLength(chunk)
      counted.bytes += size
      counted.largest = Math.max(counted.largest, size)
      if (chunk.startsWith('\x1b[?2026h')) counted.frames++
      counted.text = (counted.text + chunk).slice(-20_000)
      done()
    },
  })
  const output: Output = Object.assign(stream, { isTTY: true as const, columns: 80, rows: 24 })
  return Object.assign(counted, { output })
}

/** A model that says what it is told to. */
function steadyModel() {
  let queue: ModelEvent[] = []
  let wake = (): void => {}
  let isAsked = false
  let said = ''
  const put = (event: ModelEvent): void => {
    queue.push(event)
    wake()
  }
  const provider: Provider = {
    meta: { name: 'steady', defaultModel: 'steady-1' },
    async *stream(_, signal) {
      queue = []
      said = ''
      isAsked = true
      signal.addEventListener('abort', () => wake(), { once: true })
      for (;;) {
        signal.throwIfAborted()
        const event = queue.shift()
        if (event) yield event
        else await new Promise<void>((resolve) => (wake = resolve))
        if (event?.type === 'reply') return
      }
    },
  }
  return {
    provider,
    async asked() {
      while (!isAsked) await new Promise((resolve) => setImmediate(resolve))
      isAsked = false
    },
    say(delta: string) {
      said += delta
      put({ type: 'text', delta })
    },
    end: () =>
      put({ type: 'reply', content: [{ type: 'text', text: said }], usage: { input: 1, output: 1 }, stop: 'end' }),
  }
}
