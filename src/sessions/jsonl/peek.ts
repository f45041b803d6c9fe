import { statSync } from 'node:fs'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { StoreChange } from '../../core/store.ts'
import { looking } from './file-faults.ts'
import { inboxPath, waitingMessages } from './inbox-file.ts'
import { logPath } from './log-file.ts'
import { refuseLink } from './small-files.ts'

/** Looks at a session for a watcher. Files that are as they were when it last looked are not opened. */
export function peekAt(
  folder: string,
  read: (after: number) => Promise<readonly LogEntry[]>,
): (after: number) => Promise<StoreChange | undefined> {
  let seenLog: string | undefined
  let seenInbox: string | undefined
  let inbox: readonly InboxItem[] = []
  return async (after) => {
    const [log, messages] = [stampOf(logPath(folder)), stampOf(inboxPath(folder))]
    if (log === seenLog && messages === seenInbox) return undefined
    refuseLink(folder)
    const entries = log === seenLog ? [] : await read(after)
    // After the log: a message that was taken meanwhile is then known to be.
    if (messages !== seenInbox || inbox.length > 0) inbox = waitingMessages(folder)
    seenLog = log
    seenInbox = messages
    return { entries, inbox }
  }
}

function stampOf(path: string): string {
  const found = looking(path, () => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : ''
}
