import { isRecord } from '../core/is-record.ts'
import { parsedJson } from '../core/plain-json.ts'

/** A JSON file with named entries, shared by processes. Entries of other versions stay in it. */
export interface EntriesFile {
  /** A map, because a name may be `__proto__`. */
  read(): Promise<Map<string, unknown>>
  /** Changes the entries under a lock. Writes and returns true if `edit` returns true. */
  change(edit: (entries: Map<string, unknown>) => boolean): Promise<boolean>
}

export interface EntriesFileOptions {
  /** The subject of error messages, such as "The credentials file". */
  readonly title: string
  readonly mostBytes?: number
  readText(path: string): Promise<string | undefined>
  error(message: string): Error
}

export function createEntriesFile(path: string, options: EntriesFileOptions): EntriesFile {
  const { title, mostBytes = Number.POSITIVE_INFINITY, readText, error } = options

  async function read(): Promise<Map<string, unknown>> {
    const text = await readText(path)
    if (text === undefined) return new Map()
    const value = parsedJson(text)
    if (isRecord(value)) return new Map(Object.entries(value))
    throw error(
      `${title} ${path} is not a JSON object, so it is neither used nor changed; correct it by hand, or delete it and log in again`,
    )
  }

  return {
    read,
    async change(edit) {
      const { withLock } = await import('../platform/lock.ts')
      const { writeFileAtomic } = await import('../platform/files.ts')
      return withLock(`${path}.lock`, async () => {
        const entries = await read()
        if (!edit(entries)) return false
        const text = `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
        if (Buffer.byteLength(text) > mostBytes)
          throw error(
            `${title} ${path} would be bigger than ${mostBytes} bytes, so it is left as it is; log out of servers that are not used`,
          )
        await writeFileAtomic(path, text)
        return true
      })
    },
  }
}
