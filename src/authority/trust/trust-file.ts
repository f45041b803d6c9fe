import { join } from 'node:path'
import { CodedError, messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { readPrivateFile } from '../private-file.ts'
import type { TrustEntry } from './trust-list.ts'

/** The file behind a trust list. One that others could have written, or that makes no sense, is neither used nor changed. */
interface TrustFile {
  readonly path: string
  /** Oldest first. */
  read(): Promise<readonly TrustEntry[]>
  /** Reads, edits and replaces the file while no other process does. An edit without new `entries` leaves it as it is. */
  change<T>(edit: (entries: readonly TrustEntry[]) => Edit<T>): Promise<T>
}

interface Edit<T> {
  readonly result: T
  readonly entries?: readonly TrustEntry[]
}

/** The file `trust.json` in a folder, which is made when something is first written. */
export function createTrustFile(folder: string): TrustFile {
  const path = join(folder, 'trust.json')
  async function read(): Promise<readonly TrustEntry[]> {
    const text = await readOwn(path)
    return text === undefined ? [] : entriesIn(text, path)
  }
  return {
    path,
    read,
    async change(edit) {
      await read() // a lock is a file too, and has no place in a folder of somebody else
      return withLock(`${path}.lock`, async () => {
        const { result, entries } = edit(await read())
        if (entries) await writeFileAtomic(path, `${JSON.stringify({ entries }, null, 2)}\n`)
        return result
      })
    },
  }
}

async function readOwn(path: string): Promise<string | undefined> {
  try {
    return (await readPrivateFile(path))?.text
  } catch (cause) {
    throw new CodedError('Validation/TrustListUnusable', `${messageOf(cause)}. Until then no project is trusted`, {
      cause,
    })
  }
}

function entriesIn(text: string, path: string): readonly TrustEntry[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)?.entries
  } catch (cause) {
    unusable(path, `is not JSON (${messageOf(cause)})`, repair)
  }
  if (!Array.isArray(entries)) unusable(path, 'has no list of entries', repair)
  const bad = entries.findIndex((entry) => !isEntry(entry))
  if (bad >= 0) unusable(path, `has an entry that this version does not know (number ${bad + 1})`, repair)
  return entries
}

const repair = 'correct it by hand, or delete it and decide about your projects again'

function isEntry(value: unknown): value is TrustEntry {
  if (!isRecord(value)) return false
  const { canonicalPath, device, inode, decision, grantedAt, schemaVersion, note, items } = value
  return (
    [canonicalPath, device, inode, grantedAt].every((field) => typeof field === 'string') &&
    (decision === 'trusted' || decision === 'declined') &&
    schemaVersion === 1 &&
    (note === undefined || typeof note === 'string') &&
    (items === undefined || (isRecord(items) && Object.values(items).every((digest) => typeof digest === 'string')))
  )
}

function unusable(path: string, what: string, next: string): never {
  throw new CodedError('Validation/TrustListUnusable', `${path} ${what}, so no project is trusted; ${next}`)
}
