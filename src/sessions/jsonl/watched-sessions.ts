import * as fs from 'node:fs'
import { join } from 'node:path'
import type { SessionStamp } from '../shared-poller.ts'
import { withReadErrors } from './file-errors.ts'
import { changeStamp, openForReading, readBytes } from './files.ts'
import { inboxPath } from './inbox-file.ts'
import { logPath } from './log-file.ts'
import { folderNameOf } from './session-folder.ts'
import { changeFilesIn } from './summaries/change-file.ts'

/** One poll checks at most this many of the sessions that no process has announced. */
const maxUnnamed = 64

/**
 * Checks the files of watched sessions. Each poll checks those that other processes have announced as changing, and some of
 * the others in rotation, because a process without write access to the index folder cannot announce its changes.
 */
export class WatchedSessions {
  readonly #dir: string
  readonly #feed: ChangeFeed
  #position = 0

  constructor(dir: string, storeInstanceId: string) {
    this.#dir = dir
    this.#feed = new ChangeFeed(dir, storeInstanceId)
  }

  /** Checks some of these sessions, and returns the stamps of those. */
  readStamps(ids: readonly string[]): Map<string, SessionStamp> {
    const checked = new Set(Array.from({ length: Math.min(maxUnnamed, ids.length) }, () => this.#nextOf(ids)))
    const changed = this.#feed.next()
    if (changed.size > 0) for (const id of ids) if (changed.has(folderNameOf(id))) checked.add(id)
    return new Map(Array.from(checked, (id) => [id, this.#stampOf(join(this.#dir, folderNameOf(id)))]))
  }

  #stampOf(folder: string): SessionStamp {
    return { entries: changeStamp(logPath(folder)), inbox: changeStamp(inboxPath(folder)) }
  }

  #nextOf(ids: readonly string[]): string {
    this.#position = (this.#position + 1) % ids.length
    return ids[this.#position]!
  }
}

interface ReadFile {
  readonly ino: bigint
  readonly size: bigint
  /** The names since the last empty line: these sessions are being changed. */
  readonly unsaved: ReadonlySet<string>
}

/** Follows the change files of other store objects. */
class ChangeFeed {
  readonly #dir: string
  readonly #storeInstanceId: string
  #files = new Map<string, ReadFile>()

  constructor(dir: string, storeInstanceId: string) {
    this.#dir = dir
    this.#storeInstanceId = storeInstanceId
  }

  /**
   * The names of the folders that may have been changed since the last call. A session is named before it is changed, so
   * it may have changed after the call that read its name: names of the last call are returned again.
   */
  next(): Set<string> {
    const names = new Set([...this.#files.values()].flatMap(({ unsaved }) => [...unsaved]))
    const files = new Map<string, ReadFile>()
    for (const path of changeFilesIn(this.#dir, this.#storeInstanceId)) {
      const file = readFollowing(path, this.#files.get(path), names)
      if (file) files.set(path, file)
    }
    this.#files = files
    return names
  }
}

function readFollowing(path: string, before: ReadFile | undefined, names: Set<string>): ReadFile | undefined {
  const info = withReadErrors(path, () => fs.statSync(path, { bigint: true, throwIfNoEntry: false }))
  if (!info) return undefined
  const { ino, size } = info
  if (before?.ino === ino && before.size === size) return before
  const known = before?.ino === ino && before.size < size ? before : undefined
  const unsaved = new Set(known?.unsaved)
  for (const name of linesBetween(path, Number(known?.size ?? 0), Number(size))) {
    if (name === '') unsaved.clear()
    else {
      unsaved.add(name)
      names.add(name)
    }
  }
  return { ino, size, unsaved }
}

/** The lines of a file between two offsets. */
function linesBetween(path: string, start: number, end: number): string[] {
  const fd = openForReading(path)
  if (fd === undefined) return []
  try {
    return withReadErrors(path, () => readBytes(fd, start, end))
      .toString()
      .split('\n')
      .slice(0, -1)
  } finally {
    fs.closeSync(fd)
  }
}
