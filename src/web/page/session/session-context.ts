import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { DraftModel } from '../model/draft-model.ts'
import { type Cell, useModel } from '../model/model.ts'
import type { SessionModel } from '../model/session-model.ts'
import type { takenApart } from './attached-files.ts'

/** What the parts of the session screen share. */
export interface SessionScreenContext {
  readonly session: SessionModel
  /** The rows that the person opened or closed. It outlives a row that is scrolled out of sight. */
  readonly opened: Cell<ReadonlyMap<string, boolean>>
  readonly find: Cell<Find>
  /** Absent where nothing can be sent. */
  readonly draft?: DraftModel
  /** How long the model thought, of answers that were streamed to this page. */
  readonly thoughtFor: Map<string, { from: number; to?: number }>
  /** Puts a message into the message field, with what is attached to it, and gives the field the focus. */
  readonly compose: (content: Parameters<typeof takenApart>[0]) => void
  /** What the page said last, above the message field. */
  readonly said: Cell<Said | undefined>
}

/** The search in the session. */
export interface Find {
  readonly isOpen: boolean
  readonly words: string
  /** The indexes of rows that have the words, ascending. */
  readonly hits: readonly number[]
  /** The hit in sight; -1 for none. */
  readonly at: number
}

export const noFind: Find = { isOpen: false, words: '', hits: [], at: -1 }

/** A sentence, and what can be done about it. */
export interface Said {
  readonly text: string
  readonly isBad?: boolean
  readonly action?: { readonly label: string; readonly run: () => void }
}

export const SessionContext = createContext<SessionScreenContext | undefined>(undefined)

export function useSessionScreen(): SessionScreenContext {
  const context = useContext(SessionContext)
  if (!context) throw new Error('useSessionScreen is for components inside SessionScreen')
  return context
}

/** Whether a row is open, and a function that changes it. */
export function useOpened(id: string, isOpenAtFirst = false): readonly [boolean, () => void] {
  const { opened } = useSessionScreen()
  const isOpen = useModel(opened, (all) => all.get(id)) ?? isOpenAtFirst
  return [isOpen, () => opened.set(new Map(opened.state).set(id, !isOpen))]
}
