import { join } from 'node:path'
import type { SessionStamp } from '../shared-poller.ts'
import { changeStamp } from './files.ts'
import { inboxPath } from './inbox-file.ts'
import { logPath } from './log-file.ts'
import { folderNameOf } from './session-folder.ts'
import { ChangeFeed } from './summaries/change-feed.ts'

/** At most so many sessions are looked at without a reason, at a time. */
const maxLooks = 64

/**
 * Looks at the files of watched sessions: at those that other processes say they change, and at some others in turn, because
 * a process that may not write to the index cannot say so.
 */
export class WatchedSessions {
  readonly #dir: string
  readonly #feed: ChangeFeed
  #position = 0

  constructor(dir: string, storeInstanceId: string) {
    this.#dir = dir
    this.#feed = new ChangeFeed(dir, storeInstanceId)
  }

  /** The stamps of those of these sessions that were looked at. */
  look(ids: readonly string[]): Map<string, SessionStamp> {
    const looked = new Set(Array.from({ length: Math.min(maxLooks, ids.length) }, () => this.#nextOf(ids)))
    const changed = this.#feed.next()
    if (changed.size > 0) for (const id of ids) if (changed.has(folderNameOf(id))) looked.add(id)
    return new Map(Array.from(looked, (id) => [id, this.#stampOf(join(this.#dir, folderNameOf(id)))]))
  }

  #stampOf(folder: string): SessionStamp {
    return { entries: changeStamp(logPath(folder)), inbox: changeStamp(inboxPath(folder)) }
  }

  #nextOf(ids: readonly string[]): string {
    this.#position = (this.#position + 1) % ids.length
    return ids[this.#position]!
  }
}
