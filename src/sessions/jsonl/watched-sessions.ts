import { join } from 'node:path'
import type { SessionStamp } from '../shared-poller.ts'
import { changeStamp } from './files.ts'
import { inboxPath } from './inbox-file.ts'
import { logPath } from './log-file.ts'
import { folderNameOf } from './session-folder.ts'
import { ChangeFeed } from './summaries/change-feed.ts'

/** So many sessions that no process has named are checked in one poll. */
const maxUnnamed = 64

/**
 * Checks the files of watched sessions: of those that other processes say they change, and of some others in turn, because a
 * process that may not write to the index cannot say so.
 */
export class WatchedSessions {
  readonly #dir: string
  readonly #feed: ChangeFeed
  #position = 0

  constructor(dir: string, storeInstanceId: string) {
    this.#dir = dir
    this.#feed = new ChangeFeed(dir, storeInstanceId)
  }

  /** The stamps of those of these sessions that were checked. */
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
