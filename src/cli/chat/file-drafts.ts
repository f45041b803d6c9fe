import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DraftStore, QueuedDraft } from '../../chat/chat.ts'
import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'

/** Keeps queued messages in files of a folder, one for each session. */
export function fileDrafts(folder: string): DraftStore {
  // Ids come from embedders and other programs, so they are no file names.
  const pathOf = (sessionId: string): string => join(folder, `${digestOf(sessionId).slice(0, 32)}.json`)
  return {
    load: async (sessionId) => draftsIn((await readTextIfThere(pathOf(sessionId))) ?? '[]'),
    async save(sessionId, queue) {
      const path = pathOf(sessionId)
      if (queue.length === 0) return rm(path, { force: true })
      await writeFileAtomic(path, JSON.stringify(queue))
    },
  }
}

/** A file that another program damaged holds no messages. */
function draftsIn(text: string): readonly QueuedDraft[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.filter(isDraft) : []
  } catch {
    return []
  }
}

const isDraft = (one: unknown): one is QueuedDraft =>
  isRecord(one) && typeof one.id === 'string' && typeof one.text === 'string'
