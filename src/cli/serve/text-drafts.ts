import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import type { ServerDrafts } from '../../server/server-options.ts'

/** Keeps the unsent texts of clients in files of a folder, one for each session. */
export function textDrafts(folder: string): ServerDrafts {
  // Ids come from other programs, so they are no file names.
  const pathOf = (sessionId: string): string => join(folder, `${digestOf(sessionId).slice(0, 32)}.txt`)
  return {
    load: async (sessionId) => (await readTextIfThere(pathOf(sessionId))) ?? '',
    async save(sessionId, text) {
      if (text === '') await rm(pathOf(sessionId), { force: true })
      else await writeFileAtomic(pathOf(sessionId), text)
    },
  }
}
