import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rounds } from '../../../test/soak.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import { repairPairs } from '../../core/pairing.ts'
import { Transcript } from '../../core/transcript.ts'
import type { SessionContentBlock, SessionTurn } from '../../core/turn.ts'
import {
  checkpointOf,
  type History,
  maxFiles,
  maxKeys,
  maxLabels,
  maxRuns,
  needsEarlierTurns,
  readCheckpoint,
  replay,
  type TranscriptState,
} from './checkpoint.ts'

describe('opening from a checkpoint', () => {
  test('ST07 gives the same as opening from the beginning, for any history and any checkpoint', () => {
    let opened = 0
    const step = fc.tuple(fc.nat(19), fc.nat(999))
    const histories = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' })
    fc.assert(
      fc.property(histories, (steps) => {
        const { entries, checkpoints } = historyOf(steps)
        for (const seq of checkpoints) {
          const history = historyFrom(entries, seq)
          if (needsEarlierTurns(history)) {
            expect(() => replay(history)).toThrow('needs turns that are not loaded')
            continue
          }
          opened++
          const [whole, part] = [replay({ entries }), replay(history)]
          const loaded = whole.turns.slice(part.turnsBefore)
          expect(part.turns).toEqual(loaded)
          expect(viewOf(part, loaded)).toEqual(viewOf(whole, loaded))
        }
      }),
      { numRuns: rounds(300, 20_000) },
    )
    expect(opened).toBeGreaterThan(100)
  }, 300_000)

  test('ST07 needs the whole log for a rewind that uncovers an earlier summary', () => {
    const log = new Draft()
    log.add(said('a', 'assistant', [call('c1')]))
    log.add({ type: 'compaction', toSeq: 1, summary: text('first') })
    log.add({ type: 'rewind', toSeq: 2 })
    log.add(said('q', 'user', text('hi')))
    log.add({ type: 'compaction', toSeq: 4, summary: text('second') })
    log.checkpoint()
    const seq = log.entries.length
    log.add({ type: 'rewind', toSeq: 2 })
    expect(log.transcript.compaction).toMatchObject({ summary: text('first') })
    expect(needsEarlierTurns(historyFrom(log.entries, seq))).toBe(true)
  })

  test('ST07 takes no use of a file from the conversation that goes on', () => {
    const log = conversation(1)
    for (const id of ['c1', 'c2']) {
      log.add(said(`of-${id}`, 'assistant', [call(id)]))
      log.add(result(id, 1))
    }
    log.add(said('q', 'user', text('hi')))
    log.add({ type: 'compaction', toSeq: 6, summary: text('so far') })
    log.checkpoint()
    expect([...replay(historyFrom(log.entries, log.entries.length)).touched.keys()]).toEqual(['c2'])
    log.add({ type: 'rewind', toSeq: 4 })
    expect([...log.transcript.touched.keys()]).toEqual(['c1'])
  })

  test('leaves out what a summary replaces, and no more', () => {
    const log = conversation(10)
    const [cut] = turnSeqs(log.entries).slice(-5)
    log.add({ type: 'compaction', toSeq: cut! - 1, summary: text('so far') })
    log.checkpoint()
    const { checkpoint, entries } = historyFrom(log.entries, log.entries.length)
    expect(checkpoint!.from).toBe(cut! - 1)
    const opened = replay({ checkpoint, entries })
    expect(opened.turns).toHaveLength(5)
    expect(opened.turnsBefore).toBe(15)
    expect(opened.messagesFor('p')).toHaveLength(6)
  })

  test('parts no call from its results', () => {
    const log = conversation(1)
    log.add(said('a', 'assistant', [call('c1'), call('c2')]))
    const before = log.entries.length - 1
    log.add(result('c1'))
    const toSeq = log.entries.length
    log.add(result('c2'))
    log.add(said('b', 'assistant', text('done')))
    log.add({ type: 'compaction', toSeq, summary: text('so far') })
    log.checkpoint()
    expect(historyFrom(log.entries, log.entries.length).checkpoint!.from).toBe(before)
  })

  test('is not possible while calls are open', () => {
    const log = conversation(2)
    log.add({ type: 'compaction', toSeq: log.entries.length, summary: text('so far') })
    log.add(said('a', 'assistant', [call('c1')]))
    expect(checkpointOf(log.transcript, { least: 1, pinned: new Set() })).toBeUndefined()
  })

  test('keeps pinned turns and the last message, and names where they were', () => {
    const log = conversation(10)
    log.add({ type: 'compaction', toSeq: log.entries.length, summary: text('so far') })
    log.checkpoint(new Set(['q3']))
    const opened = replay(historyFrom(log.entries, log.entries.length))
    expect(opened.turns.map(({ id }) => id)).toEqual(['a9'])
    expect(opened.keptTurns.map(({ id }) => id)).toEqual(['q3', 'a8', 'q9'])
    expect(opened.seqOf('q3')).toBe(log.transcript.seqOf('q3'))
    expect(opened.findLastTurn(({ role }) => role === 'user')?.id).toBe('q9')
  })

  test('holds a bounded number of runs, labels, files and keys', () => {
    const log = conversation(2)
    for (let i = 0; i < maxKeys + 10; i++) {
      log.add({ type: 'run_started', runId: `r${i}`, model: 'm' })
      log.add({ type: 'label', text: `l${i}` })
      log.add({ type: 'call_result', callId: `c${i}`, output: '', outcome: 'done', details: { file: file(i) } })
      log.add({ ...said(`k${i}`, 'user', text('hi')), clientKey: `key${i}` })
      log.add({ type: 'run_ended', runId: `r${i}`, status: 'completed', stop: 'end' })
    }
    log.add({ type: 'compaction', toSeq: log.entries.length, summary: text('so far') })
    log.checkpoint()
    const opened = replay(historyFrom(log.entries, log.entries.length))
    expect(opened.runs).toEqual(log.transcript.runs.slice(-maxRuns))
    expect(opened.runs.at(-1)).toMatchObject({ turnCountAtEnd: log.transcript.turns.length })
    expect(opened.labels).toEqual(log.transcript.labels.slice(-maxLabels))
    // The last turn is loaded, and its file is one more.
    expect([...opened.touched]).toEqual([...log.transcript.touched].slice(-maxFiles - 1))
    const { clientKeys, olderKeys } = opened
    expect(['key9', 'key10', 'other'].map((key) => clientKeys.has(key))).toEqual([false, true, false])
    expect(['key9', 'other'].map((key) => olderKeys!.mayHave(key))).toEqual([true, false])
  })

  test('takes the id of no earlier call for a new one', () => {
    const log = conversation(10)
    log.add({ type: 'compaction', toSeq: log.entries.length, summary: text('so far') })
    expect(log.transcript.mayHaveCall('new')).toBe(false)
    log.checkpoint()
    expect(replay(historyFrom(log.entries, log.entries.length)).mayHaveCall('c1')).toBe(true)
  })

  test.each([
    ['of another version', { version: 2 }],
    ['without a list', { runs: undefined }],
    ['with a changed filter', { olderKeys: [[1, 'AAAA']] }],
  ])('is given up for a checkpoint %s', (_, change) => {
    const log = conversation(10)
    log.add({ type: 'compaction', toSeq: log.entries.length, summary: text('so far') })
    log.checkpoint()
    const entry = log.entries.at(-1)!
    expect(readCheckpoint(entry)).toMatchObject({ seq: entry.seq })
    const state = { ...(entry as { state?: object }).state, ...change }
    expect(readCheckpoint({ ...entry, state } as LogEntry)).toBeUndefined()
  })
})

/** As a store gives it: parsed from text. */
function historyFrom(entries: readonly LogEntry[], seq: number): History {
  const stored = JSON.parse(JSON.stringify(entries)) as LogEntry[]
  const checkpoint = readCheckpoint(stored[seq - 1])!
  return { checkpoint, entries: stored.slice(checkpoint.from) }
}

/** What requests, tools, runs and sessions see of a transcript of which these turns are loaded. */
function viewOf(transcript: Transcript, loaded: readonly SessionTurn[]) {
  const { openCalls, turnCount } = transcript
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`)
  return {
    // Without changes these are the turns themselves, in which a call may lack a result.
    messages: ['p', 'q'].map((provider) => repairPairs(transcript.messagesFor(provider))),
    shown: ['p', 'q'].map((provider) => transcript.shownTurns(provider)),
    ...{ turnCount, openCalls, open: transcript.turnWithOpenCalls, last: transcript.turns.at(-1) },
    calls: openCalls.map(({ id }) => [
      ...[transcript.lastStartOf(id), transcript.isUnderWay(id), transcript.nestedWithin(id)],
      ...[transcript.approvals.get(id), transcript.answers.get(id), transcript.hasCall(id)],
    ]),
    seqs: loaded.map(({ id }) => transcript.seqOf(id)),
    inbox: transcript.inbox,
    states: [...transcript.states],
    touched: lastUses(transcript),
    ...{ runs: transcript.runs, labels: transcript.labels, parked: transcript.parked, crashes: transcript.crashes },
    ...{ activeRun: transcript.activeRun, compaction: transcript.compaction },
    is: [transcript.isAnswered, transcript.isInterrupted, transcript.checkpointFrom],
    keys: keys.map((key) => transcript.hasClientKey(key)),
    lastReply: transcript.findLastTurn(({ role }) => role === 'assistant'),
    lastMessage: transcript.findLastTurn(
      ({ role, content }) => role === 'user' && content.some(({ type }) => type !== 'tool_result'),
    ),
    next: nextOf(transcript),
  }
}

/** Of each file the last use, in their order: a checkpoint may have forgotten the ones before. */
function lastUses({ touched }: Transcript): string[] {
  const uses = [...touched]
  const last = new Map(uses.map(([callId, { key }]) => [key, callId]))
  return uses.flatMap(([callId, { key }]) => (last.get(key) === callId ? [`${key} by ${callId}`] : []))
}

/** The next checkpoint. Its `from`, and what depends on it, may lie later in a part: it has a rewind behind it. */
function nextOf(transcript: Transcript) {
  const next = checkpointOf(transcript, { least: Number.NEGATIVE_INFINITY, pinned: new Set() })
  const { turnsBefore, kept, clientKeys } = (next as { state?: TranscriptState } | undefined)?.state ?? {}
  return { turnsBefore, kept, clientKeys }
}

class Draft {
  readonly entries: LogEntry[] = []
  readonly transcript = new Transcript()

  add(body: EntryBody): void {
    const seq = this.entries.length + 1
    const entry = { ...body, seq, id: `e${seq}`, at: seq } as LogEntry
    this.entries.push(entry)
    this.transcript.apply(entry)
  }

  checkpoint(pinned: ReadonlySet<unknown> = new Set()): void {
    const checkpoint = checkpointOf(this.transcript, { least: Number.NEGATIVE_INFINITY, pinned })
    if (checkpoint) this.add(checkpoint)
  }
}

function conversation(rounds: number): Draft {
  const draft = new Draft()
  for (let i = 0; i < rounds; i++) {
    draft.add(said(`q${i}`, 'user', text(`question ${i}`)))
    draft.add(said(`a${i}`, 'assistant', text(`answer ${i}`)))
  }
  return draft
}

const turnSeqs = (entries: readonly LogEntry[]): number[] =>
  entries.flatMap(({ type, seq }) => (type === 'turn' ? [seq] : []))

/** A history made by random choices: each step is a kind of entry, and a number that chooses its content. */
function historyOf(steps: readonly (readonly [kind: number, choice: number])[]) {
  const draft = new Draft()
  const checkpoints: number[] = []
  for (const [kind, choice] of steps) {
    if (kind >= stepKinds.length) {
      draft.checkpoint()
      if (draft.entries.at(-1)?.type === 'checkpoint') checkpoints.push(draft.entries.length)
    } else for (const body of stepKinds[kind]!(draft, choice)) draft.add(body)
  }
  return { entries: draft.entries, checkpoints }
}

type Step = (draft: Draft, choice: number) => readonly EntryBody[]

const stepKinds: readonly Step[] = [
  ({ entries }, n) => [{ type: 'run_started', runId: `r${entries.length}`, model: `m${n % 2}` }],
  ({ transcript }, n) => {
    const { activeRun } = transcript
    const status = (['completed', 'suspended', 'aborted', 'error'] as const)[n % 4]!
    const stop = status === 'error' ? 'crashed' : 'end'
    const dropsTo = n % 7 === 0 && { dropsTo: n % 100 }
    return activeRun ? [{ type: 'run_ended', runId: activeRun.id, status, stop, ...dropsTo }] : []
  },
  (_, n) => [{ type: 'input', mode: n % 2 ? 'steer' : 'followUp', clientKey: `k${n % 40}`, content: text(`m${n}`) }],
  ({ transcript: { activeRun } }, n) =>
    activeRun ? [{ type: 'input', mode: 'stop', clientKey: `k${n % 40}`, content: [] }] : [],
  ({ entries, transcript }, n) => {
    const consumed = transcript.inbox.slice(0, n % 3).map(({ id }) => id)
    return [{ ...said(`u${entries.length}`, 'user', text(`u${n}`)), consumed, clientKey: `k${n % 40}` }]
  },
  ({ entries }, n) => [
    said(`t${entries.length}`, 'assistant', [...text(`t${n}`), ...calls(entries.length, n % 3)], n % 9 === 0),
  ],
  ({ entries }, n) => [said(`t${entries.length}`, 'assistant', [...text(`t${n}`), ...calls(entries.length, 1)])],
  ({ transcript: { openCalls } }, n) =>
    openCalls.map(({ id }) => ({
      type: 'call_started',
      callId: id,
      key: id,
      attempt: 1,
      replay: n % 2 ? 'pure' : 'opaque',
    })),
  ({ transcript: { openCalls } }, n) => openCalls.slice(0, 1 + (n % 2)).map(({ id }) => result(id, n)),
  ({ transcript: { openCalls } }, n) => openCalls.map(({ id }) => result(id, n)),
  // The results of imported conversations are blocks of a turn.
  ({ entries, transcript: { openCalls } }, n) => {
    const blocks = openCalls.slice(n % 2).map(({ id }) => ({ type: 'tool_result', callId: id, output: 'x' }) as const)
    return blocks.length > 0 ? [said(`i${entries.length}`, 'user', blocks)] : []
  },
  ({ transcript: { openCalls } }, n) =>
    openCalls
      .slice(0, 1)
      .flatMap(({ id: callId }) => [
        { type: 'approval_requested' as const, callId, digest: 'd' },
        ...(n % 2
          ? [{ type: 'approval_answered' as const, callId, digest: 'd', decision: 'allow' as const, by: 'ada' }]
          : []),
      ]),
  ({ transcript: { openCalls } }, n) =>
    openCalls.slice(0, 1).map(({ id: callId }) => ({
      type: 'input',
      mode: 'answer',
      clientKey: `k${n % 40}`,
      content: text('yes'),
      callId,
    })),
  (_, n) => [{ type: 'state', owner: `o${n % 3}`, value: n }],
  (_, n) => [{ type: 'label', text: `l${n}` }],
  (_, n) => [n % 2 ? { type: 'parked', reason: `p${n}` } : { type: 'unparked' }],
  ({ transcript }, n) => {
    const shown = transcript.shownTurns('p')
    const last = shown[n % Math.max(shown.length, 1)]
    return last && last.seq > 0 ? [{ type: 'compaction', toSeq: last.seq, summary: text(`s${n}`) }] : []
  },
  ({ transcript }, n) => {
    const ids = [...transcript.turns.map(({ id }) => id), ...(transcript.compaction ? [transcript.compaction.id] : [])]
    const turnId = ids[ids.length - 1 - (n % Math.max(ids.length, 1))]
    const provider = n % 3 === 0 && { provider: 'p' }
    const replacement = n % 2 === 0 && { replacement: { type: 'text' as const, text: `r${n}` } }
    return turnId === undefined ? [] : [{ type: 'context_edit', turnId, block: 0, ...replacement, ...provider }]
  },
  ({ entries }, n) => {
    if (n % 3 > 0) return []
    return [{ type: 'rewind', toSeq: n % 4 === 0 ? 0 : Math.max(0, entries.length - (n % 20)) }]
  },
]

const text = (words: string): SessionContentBlock[] => [{ type: 'text', text: words }]
const call = (id: string): SessionContentBlock => ({ type: 'tool_call', id, name: 'read', input: {} })
const calls = (at: number, count: number): SessionContentBlock[] =>
  Array.from({ length: count }, (_, i) => call(`c${at}-${i}`))
const file = (n: number) => ({ key: `f${n}`, path: `f${n}`, digest: `${n}`, access: 'read' })

function said(id: string, role: 'user' | 'assistant', content: SessionContentBlock[], isInterrupted = false) {
  const turn = { id, runId: 'r', role, content, createdAt: 1, ...(isInterrupted && { interrupted: true as const }) }
  return { type: 'turn', turn } as const
}

function result(callId: string, n = 0): EntryBody {
  const outcome = n % 5 === 0 ? 'skipped' : 'done'
  return { type: 'call_result', callId, output: `o${n}`, outcome, ...(n % 2 && { details: { file: file(n) } }) }
}
