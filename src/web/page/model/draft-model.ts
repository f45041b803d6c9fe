import type { RemoteDraft } from '../libero.ts'
import { Cell, type Model } from './model.ts'

/** The text that is not sent yet, the same in all tabs and on all devices. */
export interface DraftModel extends Model<DraftState> {
  /** Reads what is kept. */
  start(): Promise<void>
  write(text: string): void
  /** Another tab or device wrote it, or this one: what it wrote itself has no newer version. */
  hear(draft: RemoteDraft): void
  /** Saves at once what is not saved, as before the page goes. */
  flush(): Promise<void>
  /** Saves once more. What cannot be saved stays in the browser, for the next model of this draft. */
  stop(): Promise<void>
}

export interface DraftState {
  readonly text: string
  /** The server has it. */
  readonly isSaved: boolean
  /** It came from elsewhere, not from the person at this page. */
  readonly isFromElsewhere: boolean
}

interface DraftOptions {
  readonly load: () => Promise<RemoteDraft>
  /** Resolves with the version. */
  readonly save: (text: string) => Promise<number>
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>
  readonly key: string
}

/** The browser keeps it until the server does. A save that failed is tried again with the next one. */
export function createDraftModel({ load, save, storage, key }: DraftOptions): DraftModel {
  const cell = new Cell<DraftState>({ text: '', isSaved: true, isFromElsewhere: false })
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  /** Of the last text that was read or saved here; that of a server that was started since has 0. */
  let known = -1

  const saveNow = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const saving = (saves.get(key) ?? Promise.resolve()).then(async () => {
      const { text, isSaved } = cell.state
      if (isSaved) return
      try {
        known = Math.max(known, await save(text))
      } catch {
        if (!isOver) timer ??= setTimeout(() => void saveNow(), retryMs)
        return
      }
      if (storage.getItem(key) === text) storage.removeItem(key)
      if (cell.state.text === text) cell.change({ isSaved: true })
    })
    saves.set(key, saving)
    return saving
  }

  const hear = ({ text, version }: RemoteDraft): void => {
    if (version <= known || !cell.state.isSaved) return
    known = version
    if (text !== cell.state.text) cell.set({ text, isSaved: true, isFromElsewhere: true })
  }

  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    async start() {
      isOver = false
      const kept = storage.getItem(key)
      if (kept !== null) {
        cell.set({ text: kept, isSaved: false, isFromElsewhere: true })
        return saveNow()
      }
      hear(await load())
    },
    write(text) {
      if (text === cell.state.text) return
      cell.set({ text, isSaved: false, isFromElsewhere: false })
      try {
        storage.setItem(key, text)
      } catch {
        storage.removeItem(key) // there is no room for it; the server gets it in a moment
      }
      timer ??= setTimeout(() => void saveNow(), pauseMs)
    },
    hear,
    flush: saveNow,
    stop() {
      isOver = true
      return saveNow()
    },
  }
}

/** The last save of each draft. Those of a model that is over may take long, and come before those of the next one. */
const saves = new Map<string, Promise<void>>()

const pauseMs = 300
const retryMs = 3000
