import type { RemoteDraft } from '../libero.ts'
import { Cell, type Model } from './model.ts'

/** The text that is not sent yet, the same in all tabs and on all devices. */
export interface DraftModel extends Model<DraftState> {
  /** Shows what the browser has kept, and reads what the server has. */
  start(): Promise<void>
  /** Reads again what the server has, as after a new connection. */
  read(): Promise<void>
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

  /** The server was read since the start. Before that nothing is saved: another device may have written meanwhile. */
  let isRead = false
  const base = `${key}:base`

  /** A text of the server that is neither the one that this one was made from, nor this one, is put before it: both stay. */
  const read = async (): Promise<void> => {
    const { text, version } = await load()
    known = version
    isRead = true
    const { text: own, isSaved } = cell.state
    if (isSaved && text !== own) cell.set({ text, isSaved: true, isFromElsewhere: true })
    if (isSaved || own.startsWith(text) || text === storage.getItem(base)) return
    cell.set({ text: `${text}\n${own}`, isSaved: false, isFromElsewhere: true })
    keep(cell.state.text, text)
  }

  const keep = (text: string, from: string | undefined): void => {
    try {
      if (from !== undefined) storage.setItem(base, from)
      storage.setItem(key, text)
    } catch {
      storage.removeItem(key) // there is no room for it; the server gets it in a moment
    }
  }

  /** One after the other, so that what is read is no older than what was saved. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = (saves.get(key) ?? Promise.resolve()).then(work)
    saves.set(
      key,
      done.catch(() => {}),
    )
    return done
  }

  const saveNow = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    return inTurn(async () => {
      if (cell.state.isSaved) return
      try {
        if (!isRead) await read()
        const { text } = cell.state
        known = Math.max(known, await save(text))
        const kept = storage.getItem(key)
        if (kept === text) for (const name of [key, base]) storage.removeItem(name)
        else if (kept !== null) keep(kept, text)
        if (cell.state.text === text) cell.change({ isSaved: true })
      } catch {
        if (!isOver) timer ??= setTimeout(() => void saveNow(), retryMs)
      }
    })
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
      isRead = false
      const kept = storage.getItem(key)
      if (kept === null) return inTurn(read)
      cell.set({ text: kept, isSaved: false, isFromElsewhere: true })
      return saveNow()
    },
    read: () => inTurn(read),
    write(text) {
      if (text === cell.state.text) return
      const { text: before, isSaved } = cell.state
      cell.set({ text, isSaved: false, isFromElsewhere: false })
      keep(text, isSaved ? before : undefined)
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
