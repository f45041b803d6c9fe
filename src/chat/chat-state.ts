import { checkedAs } from '../core/is-record.ts'
import { emptyView, type SessionView } from '../view/session-view.ts'
import type { ChatNotice, ChatState } from './chat.ts'

/** Fields to replace; `undefined` removes one. */
export type Changes = { readonly [Field in keyof ChatState]?: ChatState[Field] | undefined }

/** The state of a chat and its listeners. */
export interface ChatStateCell {
  readonly now: ChatState
  /** Replaces fields; `undefined` removes one. */
  change(changes: Changes): void
  /** `change({ view })`, which each delta calls. */
  show(view: SessionView): void
  notify(notice: Omit<ChatNotice, 'id'>): void
  subscribe(listener: () => void): () => void
}

export function createChatState(): ChatStateCell {
  const listeners = new Set<() => void>()
  let notices = 0
  let state: ChatState = {
    phase: 'opening',
    view: emptyView,
    settings: { model: { provider: '', model: '' } },
    queue: [],
    prompts: [],
    waitingElsewhere: [],
    notices: [],
  }

  function replace(next: ChatState): void {
    state = next
    for (const listener of listeners) tell(listener)
  }

  const cell: ChatStateCell = {
    get now() {
      return state
    },
    change(changes) {
      const next = Object.entries({ ...state, ...changes }).filter(([, value]) => value !== undefined)
      replace(checkedAs<ChatState>(Object.fromEntries(next))) // required fields are never removed
    },
    show(view) {
      if (view !== state.view) replace({ ...state, view })
    },
    notify(notice) {
      const list = [...state.notices, { ...notice, id: ++notices }]
      replace({ ...state, notices: list.slice(-mostNotices) })
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return cell
}

const mostNotices = 100

/** A screen that fails must not make a run fail. */
function tell(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    console.error('libero: a listener of the chat failed:', error)
  }
}
