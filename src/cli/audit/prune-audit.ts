import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'

/** How long the audit is kept, and how large it may become. */
export const keptDays = 90
export const mostBytes = 256 * 1024 * 1024

/**
 * Removes the oldest files of an audit, as far as they are too old or too many. Only whole files: the chain in each of the
 * others stays as it is. What cannot be removed is tried again by the next process.
 */
export async function pruneAudit(folder: string, clock: Clock): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d{4}-\d\d-\d\d-/.test(name)).sort()
  const oldest = new Date(clock.now() - keptDays * 86_400_000).toISOString().slice(0, 10)
  let bytes = 0
  for (const name of names.reverse()) {
    const path = join(folder, name)
    bytes += (await stat(path).catch(() => undefined))?.size ?? 0
    if (name < oldest || bytes > mostBytes) await rm(path, { force: true }).catch(() => {})
  }
}
