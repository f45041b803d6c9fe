import { isRecord } from '../core/is-record.ts'
import type { LogEntry } from '../core/log.ts'
import type { ChangedFile } from '../snapshots/changed-files.ts'

/** What file tools wrote into the log about their changes, by path: for sessions without snapshots. */
export class LoggedChanges {
  readonly #diffs = new Map<string, string[]>()

  static async read(entries: AsyncIterable<LogEntry>): Promise<LoggedChanges> {
    const changes = new LoggedChanges()
    for await (const entry of entries) {
      if (entry.type !== 'call_result' || entry.isError || !isRecord(entry.details)) continue
      const { diff } = entry.details
      const [, path] = (typeof diff === 'string' && /^\+\+\+ ([^\t\n]+)/m.exec(diff)) || []
      if (path === undefined) continue
      const known = changes.#diffs.get(path) ?? []
      changes.#diffs.set(path, [...known, diff as string])
    }
    return changes
  }

  get files(): readonly ChangedFile[] {
    const count = (text: string, sign: RegExp): number => text.match(sign)?.length ?? 0
    return [...this.#diffs].sort().map(([path, diffs]) => {
      const text = diffs.map(withoutHead).join('\n')
      return { path, kind: kindOf(diffs), added: count(text, /^\+/gm), removed: count(text, /^-/gm) }
    })
  }

  /** The changes of a file, one after the other. */
  diff(path: string): string | undefined {
    return this.#diffs.get(path)?.join('\n')
  }
}

const withoutHead = (diff: string): string => diff.slice(Math.max(0, diff.indexOf('\n@@') + 1))

/** The first change of a new file begins where nothing was. */
const kindOf = ([first = '']: readonly string[]): ChangedFile['kind'] =>
  /^@@ -0,0 /m.test(first) ? 'added' : 'changed'
