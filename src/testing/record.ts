import { type Clock, createIds, systemClock } from '../core/clock.ts'
import type { Provider } from '../core/provider.ts'
import type { ToolDef } from '../core/tool.ts'
import { createRedactor, type RedactorOptions } from '../platform/redact.ts'
import { recordProvider } from './cassette/record-provider.ts'
import { recordTool } from './cassette/record-tool.ts'
import { Recording } from './cassette/recording.ts'
import { writeCassette } from './cassette/write-cassette.ts'

export interface RecordOptions extends RedactorOptions {}

/** Takes down all that a run gets from outside: the model's words, what tools did, time, ids and chance. */
export interface Recorder {
  provider(real: Provider): Provider
  tools<Tools extends Readonly<Record<string, ToolDef>>>(tools: Tools): Tools
  clock(real?: Clock): Clock
  ids(real?: () => string): () => string
  random(real?: () => number): () => number
  /** What was recorded so far, as JSON Lines with secrets taken out. */
  cassette(): string
}

/**
 * Begins a recording. Give its parts to an agent in place of the real ones (`clock` and `ids` to its session too), and
 * `replay` plays the cassette back without network. Secrets are known by their shape, by the names before them, by
 * what `secrets` says, and by the environment.
 */
export function record(options: RecordOptions = {}): Recorder {
  const recording = new Recording()
  const { env = globalThis.process?.env ?? {}, ...rest } = options
  createRedactor({ env, ...rest }) // a secret that cannot be one is refused now, not after the run
  return {
    provider: (real) => recordProvider(recording, real),
    tools: (tools) => mapTools(tools, (name, tool) => recordTool(recording, name, tool)),
    clock: (real = systemClock) => recordClock(recording, real),
    ids: (real = createIds()) => recordReading(recording, 'id', real),
    random: (real = Math.random) => recordReading(recording, 'random', real),
    cassette: () => writeCassette(recording, createRedactor({ env, ...rest })),
  }
}

/** The same names with other tools. */
export function mapTools<Tools extends Readonly<Record<string, ToolDef>>>(
  tools: Tools,
  map: (name: string, tool: ToolDef) => ToolDef,
): Tools {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, map(name, tool)])) as Tools
}

function recordClock(recording: Recording, real: Clock): Clock {
  return {
    now: recordReading(recording, 'now', () => real.now()),
    timer(ms, fn) {
      const n = recording.number('timer')
      let isOff = false
      recording.add({ type: 'timer', n, ms })
      const cancel = real.timer(ms, async () => {
        await recording.turn()
        if (isOff) return
        recording.add({ type: 'fired', n })
        fn()
      })
      return () => {
        isOff = true
        cancel()
      }
    },
  }
}

function recordReading<Value>(recording: Recording, type: 'now' | 'id' | 'random', read: () => Value): () => Value {
  return () => {
    const value = read()
    recording.add({ type, value } as never)
    return value
  }
}
