import type { Extension } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import type { ToolOutput } from '../core/turn.ts'

interface Seen {
  readonly hash: string
  readonly result: ToolOutput
}

/** The latest success of each tool, for as long as somebody holds the session. */
const bySession = new WeakMap<Session, Map<string, Seen>>()

/** `behavior.dedupTools`: an equal call gets the result it got before. Needs a session. */
export function dedupTools(): Extension {
  return {
    name: 'dedup-tools',
    start(run, hooks) {
      const { session } = run
      const hashers = run.behavior.dedupTools
      if (!hashers || !session) return
      const latest = bySession.get(session) ?? new Map<string, Seen>()
      bySession.set(session, latest)
      const hashes = new Map<string, string>()
      const replays = new Map<string, ToolOutput>()

      hooks.hook('tool:gate', (gate) => {
        const hasher = Object.hasOwn(hashers, gate.name) ? hashers[gate.name] : undefined
        if (!hasher || gate.block || gate.result !== undefined) return
        const hash = keyOf(hasher, gate.input)
        if (hash === undefined) return
        const seen = latest.get(gate.name)
        if (seen?.hash === hash) {
          gate.result = seen.result
          replays.set(gate.callId, seen.result)
        } else hashes.set(gate.callId, hash)
      })
      // A replay is the result as it was: handlers hear of it, but do not change it a second time.
      hooks.hook('tool:transform', (ctx) => {
        const replayed = replays.get(ctx.callId)
        replays.delete(ctx.callId)
        if (replayed !== undefined) ctx.result = replayed
      })
      hooks.hook('tool:after', ({ callId, name, result, isError }) => {
        const hash = hashes.get(callId)
        hashes.delete(callId)
        if (hash !== undefined && !isError) latest.set(name, { hash, result })
      })
    },
  }
}

/** A hasher that fails says nothing about the call: it runs. */
function keyOf(
  hasher: (input: Readonly<Record<string, unknown>>) => unknown,
  input: Readonly<Record<string, unknown>>,
): string | undefined {
  try {
    const key = hasher(input)
    return typeof key === 'string' && key !== '' ? key : undefined
  } catch {
    return undefined
  }
}
