import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** How long the audit is kept, and how large it may become. */
const keptDays = 90
const mostBytes = 256 * 1024 * 1024

/**
 * Removes the oldest files of an audit, as far as they are too old or too many. Only whole files: the chain in each of the
 * others stays as it is. It is done by the first process of a day, and by one that writes more than a file. What cannot be
 * removed is tried again the next time.
 */
export async function pruneAudit(folder: string, { now, isFirst }: { now: number; isFirst: boolean }): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d{4}-\d\d-\d\d-/.test(name))
  if (isFirst && names.some((name) => name.startsWith(dayOf(now)))) return
  const oldest = dayOf(now - keptDays * 86_400_000)
  let bytes = 0
  for (const name of names.sort().reverse()) {
    const path = join(folder, name)
    bytes += (await stat(path).catch(() => undefined))?.size ?? 0
    if (name < oldest || bytes > mostBytes) await rm(path, { force: true }).catch(() => {})
  }
}

/** The day that names of files begin with. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
