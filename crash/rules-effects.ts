import type { LogEntry } from '../src/core/log.ts'
import { textOf } from '../src/core/turn.ts'
import { type Evidence, entriesOf, type NoteOf, notesOf, type Violation } from './evidence.ts'

/** I1: everything that was acknowledged is stored; at the end all messages were delivered. */
export function nothingLost(evidence: Evidence): Violation[] {
  const { sessions, notes, root, waiting, isDone } = evidence
  const entries = sessions[root] ?? []
  const known = new Set([
    ...waiting.map(({ clientKey }) => clientKey),
    ...Object.values(sessions).flat().flatMap(clientKeyOf),
  ])
  const found = notesOf(notes, 'ack').flatMap((ack): Violation[] => {
    const lost = lostBy(ack, evidence, known)
    return lost === undefined ? [] : [{ id: 'I1', what: `${lost} was acknowledged and is gone` }]
  })
  if (!isDone) return found
  const delivered = new Set(entriesOf(entries, 'turn').flatMap(({ consumed = [] }) => consumed))
  for (const { id, mode, clientKey } of entriesOf(entries, 'input'))
    if (mode !== 'answer' && !delivered.has(id))
      found.push({ id: 'I1', what: `message ${clientKey} was accepted and never delivered` })
  // An answer may reach a child just when its parent has given it up; then it is not delivered.
  for (const { session, clientKey } of waiting.filter(({ session, mode }) => session === root || mode !== 'answer'))
    found.push({ id: 'I1', what: `message ${clientKey} waits in the inbox of ${session} though all is done` })
  return found
}

function lostBy(ack: NoteOf<'ack'>, { sessions, root }: Evidence, known: ReadonlySet<string>): string | undefined {
  switch (ack.of) {
    case 'prompt':
    case 'message':
    case 'answer':
      return known.has(ack.clientKey) ? undefined : `${ack.of} ${ack.clientKey}`
    case 'tool': {
      const results = entriesOf(sessions[ack.session] ?? [], 'call_result')
      return results.some(({ callId }) => callId === ack.callId)
        ? undefined
        : `the result of ${ack.session} ${ack.callId}`
    }
    case 'turn': {
      const turns = entriesOf(sessions[ack.session] ?? [], 'turn')
      return turns.some(({ turn }) => turn.id === ack.turnId) ? undefined : `turn ${ack.turnId} of ${ack.session}`
    }
    case 'run': {
      const entries = sessions[root] ?? []
      if (!entriesOf(entries, 'run_ended').some(({ status }) => status === ack.status))
        return `the end of a run (${ack.status})`
      const isThere = entriesOf(entries, 'turn').some(({ turn }) => textOf(turn) === ack.text)
      return ack.text === '' || isThere ? undefined : `the answer "${ack.text}"`
    }
  }
}

function clientKeyOf(entry: LogEntry): string[] {
  return 'clientKey' in entry && entry.clientKey !== undefined ? [entry.clientKey] : []
}

/**
 * I4: a call with a result does not run again. A process that lost its lease may not know of the result yet, and cannot be
 * stopped; so only processes of the same or a later epoch count.
 */
export function nothingAgain({ sessions, notes, earlier }: Evidence): Violation[] {
  const epochs = new Map(
    notesOf(notes, 'append').flatMap(({ session, epoch, ids }) => ids.map((id) => [`${session} ${id}`, epoch])),
  )
  const storedIn = new Map<string, number>()
  for (const [session, entries] of Object.entries(sessions))
    for (const { id, callId } of entriesOf(entries, 'call_result'))
      storedIn.set(`${session} ${callId}`, epochs.get(`${session} ${id}`) ?? 0)
  const answered = new Set<string>()
  return notes.flatMap((note, i): Violation[] => {
    if (i === earlier?.notes) for (const call of earlier.answered) answered.add(call)
    if (note.kind === 'event' && note.callId !== undefined) answered.add(`${note.session} ${note.callId}`)
    if (note.kind !== 'begin') return []
    const call = `${note.session} ${note.callId}`
    if (!answered.has(call) || note.epoch < (storedIn.get(call) ?? 0)) return []
    return [{ id: 'I4', what: `${note.tool} (${call}) ran again though it had a result` }]
  })
}

/** I5: one effect per key and one key per call; an opaque call begins at most once. */
export function effectsOnce({ notes, effects }: Evidence): Violation[] {
  const found: Violation[] = []
  const begins = notesOf(notes, 'begin')
  const byCall = Map.groupBy(begins, ({ session, callId }) => `${session} ${callId}`)
  for (const [call, all] of byCall) {
    const { tool, replay } = all[0]!
    if (replay === 'opaque' && all.length > 1)
      found.push({ id: 'I5', what: `${tool} (${call}) is opaque and began ${all.length} times` })
    if (replay !== 'keyed') continue
    const done = new Set(all.map(({ key }) => key).filter((key) => effects.has(key)))
    if (done.size > 1)
      found.push({ id: 'I5', what: `${tool} (${call}) had ${done.size} effects, under ${[...done].join(' and ')}` })
  }
  const keyed = begins.filter(({ replay }) => replay === 'keyed')
  for (const [key, all] of Map.groupBy(keyed, ({ key }) => key)) {
    const calls = new Set(all.map(({ session, callId }) => `${session} ${callId}`))
    if (calls.size > 1) found.push({ id: 'I5', what: `key ${key} was given to ${[...calls].join(' and ')}` })
  }
  return found
}

/** An answer counts only for its question: a call that needs approval begins after an answer to its digest. */
export function approved({ sessions, notes }: Evidence): Violation[] {
  return notesOf(notes, 'begin').flatMap(({ session, callId, tool }): Violation[] => {
    const entries = sessions[session] ?? []
    const asked = entriesOf(entries, 'approval_requested').filter((entry) => entry.callId === callId)
    if (asked.length === 0) return []
    const isAllowed = entriesOf(entries, 'approval_answered').some(
      ({ callId: its, decision, digest, seq }) =>
        its === callId && decision === 'allow' && asked.some((one) => one.digest === digest && one.seq < seq),
    )
    return isAllowed
      ? []
      : [{ id: 'approval', what: `${tool} (${session} ${callId}) ran without an answer to what it asked` }]
  })
}

/** I8: the store can be opened and read: an entry whose blob is missing cannot. */
export function opens({ problems }: Evidence): Violation[] {
  return problems.map((problem): Violation => ({ id: 'I8', what: problem }))
}
