import * as fs from 'node:fs'
import { join } from 'node:path'
import { withReadErrors } from './file-errors.ts'
import { namesIn } from './files.ts'
import { sessionIn } from './session-folder.ts'

/** All sessions of the store. */
export async function listSessions(dir: string): Promise<{ id: string; parent?: string }[]> {
  const sessions: { id: string; parent?: string }[] = []
  for (const [i, name] of namesIn(dir).entries()) {
    if (i % sessionsPerTick === sessionsPerTick - 1) await new Promise((resolve) => setImmediate(resolve))
    const session = infoOf(join(dir, name), name)
    if (session) sessions.push(session)
  }
  return sessions
}

/** After this many sessions the event loop may run. */
const sessionsPerTick = 100

function infoOf(folder: string, name: string): { id: string; parent?: string } | undefined {
  if (name.includes('.')) return undefined
  if (withReadErrors(folder, () => fs.lstatSync(folder, { throwIfNoEntry: false }))?.isDirectory() !== true)
    return undefined
  return sessionIn(folder, name)
}
