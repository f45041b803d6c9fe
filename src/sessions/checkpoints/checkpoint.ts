import { isRecord } from '../../core/is-record.ts'
import type { EntryBody, EntryOf, LogEntry, LogHistory } from '../../core/log.ts'
import type { RunRecord } from '../../core/run-record.ts'
import type { TouchedFile } from '../../core/tool.ts'
import { Transcript } from '../../core/transcript.ts'
import { type SessionTurn, toolCallsOf } from '../../core/turn.ts'
import type { NumberedTurn, TurnList } from '../../core/turn-list.ts'
import { type FilterState, TextFilter } from './text-filter.ts'

/** The version of the state that is written, and the only one that is read. */
export const checkpointVersion = 1

/** A checkpoint holds at most this many, the latest ones. `maxFiles` counts only files that the loaded turns do not name. */
export const maxRuns = 50
export const maxLabels = 1000
export const maxFiles = 500
export const maxKeys = 200

/** A transcript without its turns, as plain JSON. */
export interface TranscriptState {
  readonly version: typeof checkpointVersion
  /** The number of turns in the conversation up to entry `from`. */
  readonly turnsBefore: number
  readonly kept: readonly NumberedTurn[]
  /** The compaction, and the edits of its summary. Edits of turns up to `from` are not needed: these turns are not shown. */
  readonly shown: {
    readonly compaction?: EntryOf<'compaction'>
    readonly edits: readonly EntryOf<'context_edit'>[]
    readonly hasInterrupted: boolean
  }
  readonly inbox: readonly EntryOf<'input'>[]
  readonly states: readonly (readonly [owner: string, value: unknown])[]
  readonly touched: readonly (readonly [callId: string, file: TouchedFile, seq: number])[]
  readonly runs: readonly RunRecord[]
  readonly labels: readonly EntryOf<'label'>[]
  readonly parked?: string
  readonly crashes: number
  readonly rewoundAt: number
  /** The first entry that can be rewound to without turns up to `from`. A rewind to the beginning (0) is always possible. */
  readonly earliestRewind: number
  readonly clientKeys: readonly string[]
  readonly olderKeys: FilterState
}

export interface Checkpoint {
  readonly seq: number
  readonly from: number
  readonly state: TranscriptState
}

export interface CheckpointOptions {
  /** How many entries a checkpoint must at least save when the session is opened. Not if there is a new turn to keep. */
  readonly least: number
  /** Ids of turns to be kept. */
  readonly pinned: ReadonlySet<unknown>
}

/** What is read of a log to open it: all entries, or a checkpoint and the entries after its `from`. */
export interface History {
  readonly checkpoint?: Checkpoint | undefined
  readonly entries: readonly LogEntry[]
}

/** The checkpoint in an entry. Undefined if this version cannot read it; then the log is read from its beginning. */
export function readCheckpoint(entry: LogEntry | undefined): Checkpoint | undefined {
  if (entry?.type !== 'checkpoint' || !isState(entry.state)) return undefined
  const { seq, from, state } = entry
  return Number.isInteger(from) && from >= 0 && from < seq ? { seq, from, state } : undefined
}

function isState(state: unknown): state is TranscriptState {
  if (!isRecord(state) || state.version !== checkpointVersion || !isRecord(state.shown)) return false
  const areLists = Object.entries(lists).every(([name, isRight]) => {
    const list = state[name]
    return Array.isArray(list) && list.every(isRight)
  })
  return areLists && numbers.every((name) => Number.isInteger(state[name])) && isFilter(state.olderKeys)
}

const lists: Readonly<Record<string, (item: unknown) => boolean>> = {
  kept: (item) => isRecord(item) && isRecord(item.turn) && Array.isArray(item.turn.content),
  inbox: (item) => isRecord(item) && Array.isArray(item.content),
  states: (item) => Array.isArray(item) && typeof item[0] === 'string',
  touched: (item) => Array.isArray(item) && isRecord(item[1]),
  runs: (item) => isRecord(item) && typeof item.id === 'string',
  labels: isRecord,
  clientKeys: (item) => typeof item === 'string',
}
const numbers = ['turnsBefore', 'crashes', 'rewoundAt', 'earliestRewind']

/** The filter may be damaged: a program that removes secrets from an export may have changed its text. */
function isFilter(state: unknown): boolean {
  try {
    return new TextFilter(state as FilterState) !== undefined
  } catch {
    return false
  }
}

/** Whether a rewind since the checkpoint needs turns that it left out. */
export function needsEarlierTurns({ checkpoint, entries }: History): boolean {
  if (!checkpoint) return false
  const { seq, state } = checkpoint
  const rewind = entries.find(
    (entry) => entry.type === 'rewind' && entry.seq > seq && entry.toSeq < state.earliestRewind,
  )
  return rewind?.type === 'rewind' && rewind.toSeq > 0 // after a rewind to the beginning no earlier turn is needed
}

/** How a log begins that is opened with this history. */
export function logHistory({ checkpoint, entries }: History): LogHistory {
  if (!checkpoint) return { entries }
  return { entries, checkpoint: { transcript: restore(checkpoint), upTo: checkpoint.from } }
}

/** The transcript of a history. */
export function replay(history: History): Transcript {
  const { checkpoint, entries } = logHistory(history)
  const transcript = checkpoint?.transcript ?? new Transcript()
  for (const entry of entries) transcript.apply(entry)
  return transcript
}

/** A transcript that begins with a checkpoint; the entries after its `from` have to follow. */
function restore({ seq, from, state }: Checkpoint): Transcript {
  const transcript = new Transcript()
  const { list, shown } = transcript.parts
  const { turnsBefore: before, kept } = state
  const { compaction, edits, hasInterrupted } = state.shown
  Object.assign(list, { before, kept, from })
  Object.assign(shown, { compactions: compaction ? [compaction] : [], edits: [...edits], hasInterrupted })
  transcript.openedFrom = { seq, takeState: () => takeState(transcript, state) }
  return transcript
}

/** Replaces everything but the turns by the state of the checkpoint. */
function takeState(transcript: Transcript, state: TranscriptState): void {
  const { states, runs, labels, clientKeys } = transcript
  const { list, touched } = transcript.parts
  const { inbox, parked, crashes, rewoundAt, earliestRewind } = state
  Object.assign(transcript, { inbox, parked, crashes, olderKeys: new TextFilter(state.olderKeys) })
  Object.assign(list, { rewoundAt, earliestRewind })
  runs.splice(0, runs.length, ...state.runs.map((run) => ({ ...run })))
  labels.splice(0, labels.length, ...state.labels)
  states.clear()
  for (const [owner, value] of state.states) states.set(owner, value)
  touched.rewind(0)
  for (const [callId, file, at] of state.touched) touched.set(callId, file, at)
  clientKeys.clear()
  for (const key of state.clientKeys) clientKeys.add(key)
}

/**
 * A checkpoint of this moment: all that later work needs of the entries so far, except the turns after entry `from`. It
 * leaves out turns that requests no longer hold. Undefined while calls are open, and if it saves less than `least` entries.
 */
export function checkpointOf(transcript: Transcript, { least, pinned }: CheckpointOptions): EntryBody | undefined {
  const { list, shown } = transcript.parts
  const minFrom = transcript.checkpointFrom + (list.hasNewKept ? 0 : least)
  const maxFrom = Math.max(shown.compaction?.toSeq ?? 0, list.rewoundAt)
  if (transcript.turnWithOpenCalls || maxFrom < minFrom) return undefined
  const cut = cutOf(list, shown.countReplaced(list))
  return cut.from < minFrom
    ? undefined
    : { type: 'checkpoint', from: cut.from, state: stateOf(transcript, cut, pinned) }
}

function stateOf(transcript: Transcript, { count, from }: Cut, pinned: ReadonlySet<unknown>): TranscriptState {
  const { inbox, states, runs, labels, parked, crashes } = transcript
  const { list, shown } = transcript.parts
  const turnsBefore = list.before + count
  return {
    version: checkpointVersion,
    turnsBefore,
    kept: neededTurns(list, count, pinned),
    shown: shownBefore(transcript, from),
    inbox,
    states: [...states],
    touched: filesOf(transcript, from),
    runs: runs.slice(-maxRuns).map((run) => ({ ...run })),
    labels: labels.slice(-maxLabels),
    ...(parked !== undefined && { parked }),
    crashes,
    rewoundAt: list.rewoundAt,
    // An earlier rewind may uncover a summary that is left out.
    earliestRewind: Math.max(turnsBefore > 0 ? leastRewind(list, count) : 0, shown.compaction?.seq ?? 0),
    ...keysOf(transcript),
  }
}

function shownBefore({ parts: { shown } }: Transcript, from: number): TranscriptState['shown'] {
  const { compaction, hasInterrupted } = shown
  const edits = shown.edits.filter(({ seq, turnId }) => seq <= from && turnId === compaction?.id)
  return { ...(compaction && compaction.seq <= from && { compaction }), edits, hasInterrupted }
}

/** All uses of files in the turns after entry `from`, and the last use of each file before. */
function filesOf({ parts: { touched } }: Transcript, from: number): TranscriptState['touched'] {
  const uses = [...touched.byCall].map(([callId, file]) => [callId, file, touched.seqs.get(callId)!] as const)
  const last = new Map<string, string>()
  for (const [callId, { key }, seq] of uses) {
    if (seq > from) continue
    last.delete(key) // so that the order is that of the last uses
    last.set(key, callId)
  }
  const kept = new Set([...last.values()].slice(-maxFiles))
  return uses.filter(([callId, , seq]) => seq > from || kept.has(callId))
}

/** The latest keys by name, the others approximately. */
function keysOf(transcript: Transcript): Pick<TranscriptState, 'clientKeys' | 'olderKeys'> {
  const { clientKeys } = transcript
  const older = transcript.olderKeys instanceof TextFilter ? transcript.olderKeys : new TextFilter()
  for (const key of clientKeys) {
    if (clientKeys.size <= maxKeys) break
    clientKeys.delete(key)
    older.add(key)
  }
  transcript.olderKeys = older
  return { clientKeys: [...clientKeys], olderKeys: older.state }
}

/** What a checkpoint leaves out. */
interface Cut {
  /** How many of the loaded turns. */
  readonly count: number
  /** The last entry that opening from the checkpoint does not need. */
  readonly from: number
}

/**
 * A cut of at most the first `most` turns that parts no call from its results. The last turn stays, because it says what
 * to do next.
 */
function cutOf(list: TurnList, most: number): Cut {
  const { turns, seqs, rewoundAt } = list
  const begin = list.leftOut <= most ? list.leftOut : 0 // what a checkpoint left out before needs no second look
  let count = begin
  for (const closed of closedCounts(turns.slice(begin, Math.min(most, turns.length - 1)))) count = begin + closed
  list.leftOut = count
  const from = count === 0 ? list.from : seqs[count - 1]!
  const next = seqs[count] ?? Number.POSITIVE_INFINITY
  // What a rewind removed lies before the next turn, and is not needed.
  return { count, from: rewoundAt > from && rewoundAt < next ? rewoundAt : from }
}

/** The least entry to which a rewind leaves one of the turns after the first `count`. */
function leastRewind({ turns, seqs }: TurnList, count: number): number {
  const [first] = closedCounts(turns.slice(count))
  return first === undefined ? Number.MAX_SAFE_INTEGER : seqs[count + first - 1]!
}

/** How many turns from the beginning can be separated from the rest without parting a call from its results. */
function* closedCounts(turns: readonly SessionTurn[]): Generator<number, void> {
  let open = new Set<string>()
  for (const [i, turn] of turns.entries()) {
    if (turn.role === 'assistant') open = new Set(toolCallsOf(turn).map(({ id }) => id))
    else for (const block of turn.content) if (block.type === 'tool_result') open.delete(block.callId)
    if (open.size === 0) yield i + 1
  }
}

/** Those of the turns that are left out that later work needs: pinned ones and the last messages. */
function neededTurns(
  { turns, seqs, kept }: TurnList,
  count: number,
  pinned: ReadonlySet<unknown>,
): readonly NumberedTurn[] {
  const last = lastOnes.map((matches) => turns.findLastIndex((turn, i) => i < count && matches(turn)))
  const lastKept = lastOnes.map((matches, i) =>
    last[i] === -1 ? kept.findLast(({ turn }) => matches(turn)) : undefined,
  )
  // The results of a pinned turn need the turn with their calls.
  const isPinned = ({ id }: SessionTurn): boolean => pinned.has(id) || pinned.has(`${id}.results`)
  const found = pinned.size === 0 ? [] : turns.flatMap((turn, i) => (i < count && isPinned(turn) ? [i] : []))
  const places = [...new Set([...last, ...found])].filter((i) => i >= 0).sort((a, b) => a - b)
  return [
    ...kept.filter((one) => lastKept.includes(one) || isPinned(one.turn)),
    ...places.map((i) => ({ turn: turns[i]!, seq: seqs[i]! })),
  ]
}

/** The last reply, and the last message, also without those that came with results. */
const lastOnes: readonly ((turn: SessionTurn) => boolean)[] = [
  ({ role }) => role === 'assistant',
  ({ role, content }) => role === 'user' && content.some(({ type }) => type !== 'tool_result'),
  ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
]

/** A checkpoint is written when opening the session from it reads this many entries fewer. */
export const leastEntriesSaved = 500

/** The checkpoint to write after these entries: after a compaction or a run, if it saves enough, or for a new pin. */
export function checkpointAfter(written: readonly LogEntry[], transcript: Transcript): EntryBody | undefined {
  if (!written.some(mayNeedCheckpoint)) return undefined
  return checkpointOf(transcript, { least: leastEntriesSaved, pinned: pinnedIn(transcript) })
}

const mayNeedCheckpoint = (entry: LogEntry): boolean =>
  entry.type === 'compaction' || entry.type === 'run_ended' || (entry.type === 'state' && entry.owner === 'pins')

/** The ids of the turns that `session.pin` was called for. */
function pinnedIn({ states }: Transcript): ReadonlySet<unknown> {
  const ids = states.get('pins')
  return new Set(Array.isArray(ids) ? ids : [])
}
