import type { LogEntry } from '../src/core/log.ts'
import { type Evidence, entriesOf, notesOf, type Violation } from './evidence.ts'
import { flawOf } from './plan.ts'

/** I2: a turn is stored with all its calls or not at all; no entry refers to a call without a turn. */
export function wholeTurns({ sessions }: Evidence): Violation[] {
  return Object.entries(sessions).flatMap(([session, entries]) => {
    const found: Violation[] = []
    const calls = new Set<string>()
    const turnIds = new Set<string>()
    for (const entry of entries) {
      if (entry.type === 'turn') {
        const { id, role, content } = entry.turn
        if (turnIds.has(id)) found.push(i2(`turn ${id} of ${session} is stored twice`))
        turnIds.add(id)
        const flaw = role === 'assistant' ? flawOf(content) : undefined
        if (flaw) found.push(i2(`turn ${id} of ${session} (entry ${entry.seq}): ${flaw}`))
        for (const block of content) if (block.type === 'tool_call') calls.add(block.id)
      }
      const callId = callOf(entry)
      if (callId !== undefined && !calls.has(callId) && !calls.has(callId.replace(/\.\d+$/, '')))
        found.push(i2(`entry ${entry.seq} (${entry.type}) of ${session} is about call ${callId}, which no turn made`))
    }
    return found
  })
}

const i2 = (what: string): Violation => ({ id: 'I2', what })

function callOf(entry: LogEntry): string | undefined {
  return entry.type === 'call_started' || entry.type === 'call_result' || entry.type === 'approval_requested'
    ? entry.callId
    : undefined
}

/** I3: at most one result for each call; at the end exactly one, and every run has ended. */
export function oneResult({ sessions, isDone }: Evidence): Violation[] {
  return Object.entries(sessions).flatMap(([session, entries]) => {
    const results = new Map<string, number>()
    for (const { callId } of entriesOf(entries, 'call_result')) results.set(callId, (results.get(callId) ?? 0) + 1)
    const found: Violation[] = []
    for (const [callId, count] of results)
      if (count > 1) found.push({ id: 'I3', what: `call ${callId} of ${session} has ${count} results` })
    if (!isDone) return found
    for (const { turn } of entriesOf(entries, 'turn'))
      for (const block of turn.content)
        if (block.type === 'tool_call' && !results.has(block.id))
          found.push({ id: 'I3', what: `call ${block.id} of ${session} has no result` })
    const ended = new Set(entriesOf(entries, 'run_ended').map(({ runId }) => runId))
    for (const { runId } of entriesOf(entries, 'run_started'))
      if (!ended.has(runId)) found.push({ id: 'I3', what: `run ${runId} of ${session} never ended` })
    return found
  })
}

/**
 * I6: one writer. In the log, epochs never decrease; after the head at which a lease was taken, there are no entries of an
 * earlier epoch.
 */
export function oneWriter({ root, sessions, notes }: Evidence): Violation[] {
  const found: Violation[] = []
  const epochs = new Map(
    notesOf(notes, 'append').flatMap(({ session, epoch, ids }) => ids.map((id) => [`${session} ${id}`, epoch])),
  )
  for (const [session, entries] of Object.entries(sessions)) {
    let latest = 0
    for (const { seq, id } of entries) {
      const epoch = epochs.get(`${session} ${id}`)
      if (epoch === undefined)
        found.push({ id: 'I6', what: `entry ${seq} of ${session} was written by an unknown process` })
      else if (epoch < latest)
        found.push({ id: 'I6', what: `entry ${seq} of ${session} is of epoch ${epoch}, after one of ${latest}` })
      else latest = epoch
    }
  }
  const leases = notesOf(notes, 'lease').filter(({ session }) => session === root)
  for (const { epoch, head, writer } of leases)
    for (const { seq, id } of sessions[root]?.slice(head) ?? []) {
      const its = epochs.get(`${root} ${id}`)
      if (its !== undefined && its < epoch)
        found.push({
          id: 'I6',
          what: `entry ${seq} of epoch ${its} was written after ${writer} had taken epoch ${epoch}`,
        })
    }
  const taken = leases.map(({ epoch }) => epoch)
  if (new Set(taken).size < taken.length) found.push({ id: 'I6', what: `an epoch was given twice: ${taken.join(' ')}` })
  return found
}

/** I7: entry numbers have no gaps and never change; shown events equal stored entries. */
export function stableEvents(
  { sessions, notes, earlier }: Evidence,
  digestOf: (entry: LogEntry) => string,
): Violation[] {
  const found: Violation[] = []
  const digests = new Map<string, string[]>()
  for (const [session, entries] of Object.entries(sessions)) {
    digests.set(session, entries.map(digestOf))
    for (const [i, { seq }] of entries.entries())
      if (seq !== i + 1) found.push({ id: 'I7', what: `entry ${i + 1} of ${session} has the number ${seq}` })
    const ids = new Set(entries.map(({ id }) => id))
    if (ids.size < entries.length) found.push({ id: 'I7', what: `two entries of ${session} have one id` })
  }
  for (const { session, seq, id, type, digest } of notesOf(notes, 'event')) {
    const stored = digests.get(session)?.[seq - 1]
    if (stored === undefined)
      found.push({ id: 'I7', what: `event ${seq} (${type}) of ${session} was shown and is gone` })
    else if (stored !== digest) {
      const { id: other, type: now } = sessions[session]![seq - 1]!
      found.push({ id: 'I7', what: `event ${seq} of ${session} was shown as ${type} ${id} and is now ${now} ${other}` })
    }
  }
  for (const [session, before] of Object.entries(earlier?.digests ?? {}))
    for (const [i, digest] of before.entries())
      if (digests.get(session)?.[i] !== digest)
        found.push({ id: 'I7', what: `entry ${i + 1} of ${session} is not what it was at the last check` })
  return found
}
