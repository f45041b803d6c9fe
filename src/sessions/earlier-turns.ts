import type { LogEntry } from '../core/log.ts'
import type { SessionStore, TurnPage } from '../core/store.ts'
import { Transcript } from '../core/transcript.ts'
import type { NumberedTurn } from '../core/turn-list.ts'
import { eachEntryBackwards } from './history.ts'

interface Page {
  /** The transcript that has the later turns. */
  readonly transcript: Transcript
  /** Only turns that earlier entries completed. */
  readonly before?: number | undefined
  readonly limit: number
}

/** The last turns of a conversation before those that a transcript has. */
export async function readEarlierTurns(store: SessionStore, id: string, page: Page): Promise<TurnPage> {
  const { turns, next } = await readPage(store, id, page)
  return { turns: turns.map(({ turn }) => turn), ...(next !== undefined && { next }) }
}

/** A turn before those that a transcript has. */
export async function findEarlierTurn(
  store: SessionStore,
  id: string,
  { transcript, turnId }: { readonly transcript: Transcript; readonly turnId: string },
): Promise<NumberedTurn | undefined> {
  let before: number | undefined
  do {
    const { turns, next } = await readPage(store, id, { transcript, before, limit: 100 })
    const found = turns.find(({ turn }) => turn.id === turnId)
    if (found) return found
    before = next
  } while (before !== undefined)
  return undefined
}

async function readPage(
  store: SessionStore,
  id: string,
  { transcript, before, limit }: Page,
): Promise<{ readonly turns: readonly NumberedTurn[]; readonly next?: number | undefined }> {
  const first = transcript.seqOf(transcript.turns[0]?.id)
  if (transcript.turnsBefore === 0 || first === undefined) return { turns: [] }
  for (let least = limit + 1; ; least *= 2) {
    const { entries, isWhole } = await entriesOfTurns(store, id, { before: Math.min(before ?? first, first), least })
    const all = turnsOf(entries)
    if (all.length <= limit && !isWhole) continue // rewinds removed some
    const turns = all.slice(-limit)
    return { turns, next: turns.length < all.length ? turns[0]?.seq : undefined }
  }
}

function turnsOf(entries: readonly LogEntry[]): NumberedTurn[] {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  const seqs = transcript.shownTurns('').map(({ seq }) => seq)
  return transcript.turns.map((turn, i) => ({ turn, seq: seqs[i]! }))
}

/** The entries of the last turns. They begin with a reply: calls of an earlier one have no effect on it. */
async function entriesOfTurns(
  store: SessionStore,
  id: string,
  { before, least }: { readonly before: number; readonly least: number },
): Promise<{ readonly entries: readonly LogEntry[]; readonly isWhole: boolean }> {
  const entries: LogEntry[] = []
  let turns = 0
  /** Later rewinds removed the turns after this entry. A rewind that is itself removed has removed its turns before. */
  let last = before
  for await (const entry of eachEntryBackwards(store, id, before)) {
    if (entry.type === 'rewind') {
      last = Math.min(last, entry.toSeq)
      entries.push(entry)
    }
    if (entry.seq > last || (entry.type !== 'turn' && entry.type !== 'call_result')) continue
    entries.push(entry)
    if (entry.type !== 'turn') continue
    turns++
    if (turns >= least && entry.turn.role === 'assistant') return { entries: entries.reverse(), isWhole: false }
  }
  return { entries: entries.reverse(), isWhole: true }
}
