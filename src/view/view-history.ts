import type { LogEntry } from '../core/log.ts'
import { emptyView, foldEntries, type SessionView } from './session-view.ts'

/**
 * `read` gives the entries with numbers above `after` and up to `to`, in their order. A view of every 500th entry is kept;
 * these share their rows, so that they cost little.
 */
export function createViewHistory(
  read: (after: number, to: number) => readonly LogEntry[] | Promise<readonly LogEntry[]>,
): {
  /** The view after entry `seq`. Folds only the entries since the nearest kept view. */
  at(seq: number): Promise<SessionView>
} {
  const kept: SessionView[] = [emptyView]

  return {
    async at(seq) {
      if (!Number.isSafeInteger(seq) || seq < 0)
        throw new RangeError(`A view is that after an entry, by its number, or 0 for none; got ${String(seq)}`)
      let view = kept[Math.min(Math.floor(seq / every), kept.length - 1)]!
      while (view.head < seq) {
        const to = Math.min(seq, (Math.floor(view.head / every) + 1) * every)
        const entries = await read(view.head, to)
        if (entries.at(-1)?.seq !== to)
          throw new RangeError(`The session has no entry ${seq}; its last one is ${entries.at(-1)?.seq ?? view.head}`)
        view = foldEntries(view, entries)
        if (to % every === 0) kept[to / every] = view
      }
      return view
    },
  }
}

const every = 500
