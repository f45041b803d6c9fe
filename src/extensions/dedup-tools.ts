import type { Extension } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import type { ToolOutput } from '../core/turn.ts'

interface Seen {
  readonly hash: string
  readonly result: ToolOutput
}

/** The latest successful result of each tool, per session. */
const bySession = new WeakMap<Session, Map<string, Seen>>()

/** `behavior.dedupTools`: an equal call gets the previous result. Needs a session. */
export function dedupTools(): Extension {
  return {
    name: 'dedup-tools',
    start(run, hooks) {
      const { session } = run
      const hashers = run.settings.behavior.dedupTools
      if (!hashers || !session) return
      const latest = bySession.get(session) ?? new Map<string, Seen>()
      bySession.set(session, latest)
      const pending = new Map<string, Seen>()

      hooks.hook('tool:gate', (gate) => {
        const hasher = Object.hasOwn(hashers, gate.name) ? hashers[gate.name] : undefined
        if (!hasher || gate.block || gate.result !== undefined) return
        const hash = keyOf(hasher, gate.input)
        if (hash === undefined) return
        const seen = latest.get(gate.name)
        if (seen?.hash === hash) gate.result = seen.result
        else pending.set(gate.callId, { hash, result: '' })
      })
      // The tool's own output is kept: a repeated result passes the transform handlers again.
      hooks.hook('tool:transform', ({ callId, original }) => {
        const call = pending.get(callId)
        if (call) pending.set(callId, { ...call, result: original })
      })
      hooks.hook('tool:after', ({ callId, name, isError }) => {
        const call = pending.get(callId)
        pending.delete(callId)
        if (call && !isError) latest.set(name, call)
      })
    },
  }
}

/** If the hasher fails, the call runs. */
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
