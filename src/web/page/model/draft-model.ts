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
  let saving: Promise<void> = Promise.resolve()
  /** Of the last text that was read or saved here; that of a server that was started since has 0. */
  let known = -1

  const saveNow = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    saving = saving.then(async () => {
      const { text, isSaved } = cell.state
      if (isSaved) return
      try {
        known = Math.max(known, await save(text))
      } catch {
        timer ??= setTimeout(() => void saveNow(), retryMs)
        return
      }
      if (cell.state.text !== text) return
      storage.removeItem(key)
      cell.change({ isSaved: true })
    })
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
        // there is no room for it; the server gets it in a moment
      }
      timer ??= setTimeout(() => void saveNow(), pauseMs)
    },
    hear,
    flush: saveNow,
  }
}

const pauseMs = 300
const retryMs = 3000
