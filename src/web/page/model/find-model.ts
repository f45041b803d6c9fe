import type { PersistentList, Row, SessionContentBlock } from '../libero.ts'
import { Cell, type Model } from './model.ts'
import type { SessionModel } from './session-model.ts'

/** Finds words in a session. Virtual rows are not in the document, so the browser cannot find them. */
export interface FindModel extends Model<FindState> {
  search(words: string): void
  next(step: 1 | -1): void
  close(): void
  open(): void
}

export interface FindState {
  readonly isOpen: boolean
  readonly words: string
  /** The indexes of rows that have the words, ascending. */
  readonly hits: readonly number[]
  /** The hit in sight; -1 for none. */
  readonly at: number
}

export function createFindModel(session: SessionModel): FindModel {
  const cell = new Cell<FindState>({ isOpen: false, words: '', hits: [], at: -1 })
  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    open: () => cell.change({ isOpen: true }),
    close: () => cell.set({ isOpen: false, words: '', hits: [], at: -1 }),
    search(words) {
      const hits = rowsWith(session.state.view.rows, words)
      cell.change({ words, hits, at: hits.length - 1 })
    },
    next(step) {
      const { hits, at } = cell.state
      if (hits.length > 0) cell.change({ at: (at + step + hits.length) % hits.length })
    },
  }
}

/** The indexes of rows that have the words, in any case. */
export function rowsWith(rows: PersistentList<Row>, words: string): number[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return []
  const hits: number[] = []
  let at = 0
  for (const row of rows) {
    if (textsOf(row).some((text) => text.toLowerCase().includes(wanted))) hits.push(at)
    at++
  }
  return hits
}

/** All that a row shows, opened or not. */
function textsOf(row: Row): readonly string[] {
  switch (row.kind) {
    case 'message':
      return row.content.map(textOf)
    case 'answer':
      return [row.text, row.thinking]
    case 'call':
      return [row.name, JSON.stringify(row.input), ...(row.result ? [outputText(row.result.output)] : [])]
    case 'notice':
      return [row.text]
    case 'compaction':
      return row.summary.map(textOf)
  }
}

const textOf = (block: SessionContentBlock): string => (block.type === 'text' ? block.text : '')

/** The text of what a tool gave back. */
export function outputText(output: string | readonly { readonly type: string }[]): string {
  return typeof output === 'string' ? output : output.map((part) => textOf(part as SessionContentBlock)).join('\n')
}
