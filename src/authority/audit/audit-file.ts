import type { AuditRecord, AuditSink } from '../../core/authority.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { CodedError, codeOf, messageOf } from '../../core/errors.ts'
import { digestOf } from '../../platform/digest.ts'
import { resourceShortage } from '../../platform/files.ts'
import { createRedactor, type Redactor, redactedStart } from '../../platform/redact.ts'
import { appendToChain } from './audit-chain.ts'
import { AuditFiles, removeFiles } from './audit-files.ts'

const defaultFileBytes = 16 * 1024 * 1024

/**
 * An audit in JSON lines, each with the hash of the one before, over all its files. A write resolves when its line is in
 * the file, without secrets. Continues an existing file.
 */
export function createFileAudit(options: {
  /** A file if it ends in `.jsonl`, for one writer at a time; otherwise a folder, in which every sink creates its own file. */
  readonly path: string
  /** Texts to redact everywhere. */
  readonly secrets?: readonly string[]
  /** Environment variables; the values of those named like a secret are redacted. Default: those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * When to wait for the disk: `decision` before an allowed call and after each outcome; `outcome` after outcomes only;
   * `none` never. A crash of this process loses no record in any case.
   */
  readonly sync?: 'decision' | 'outcome' | 'none'
  /** A file of this size is continued in another one. Default 16 MB. */
  readonly maxFileBytes?: number
  /** Remove whole files when a new one is begun: those older than this. Default: none. */
  readonly keepDays?: number
  /** As `keepDays`: the oldest, if all together are larger than this. */
  readonly keepBytes?: number
  /** A record that each file begins with. */
  readonly first?: AuditRecord
  readonly clock?: Clock
}): AuditSink {
  const { sync = 'decision', clock = systemClock, maxFileBytes = defaultFileBytes } = options
  const { path, keepDays, keepBytes, secrets = [], env = process.env } = options
  const files = new AuditFiles({ path, clock, maxFileBytes, keepDays, keepBytes })
  const redactor = createRedactor({ secrets, env })
  let waiting: Waiting[] = []
  let isFlushing = false

  /** Writes all waiting records with one write and at most one sync. */
  async function flush(): Promise<void> {
    isFlushing = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await append(batch)
        for (const { resolve } of batch) resolve()
      } catch (cause) {
        const problem = failure(files.path, cause)
        for (const { reject } of batch) reject(problem)
      }
    }
    isFlushing = false
  }

  async function append(batch: readonly Waiting[]): Promise<void> {
    const { notes, removed, ...file } = await files.next()
    const about = notes.map((fields) => ({ at: clock.now(), fields }))
    const isSynced = removed.length > 0 || batch.some((one) => one.isSynced)
    const first = options.first ? [fitForAudit(options.first, redactor)] : []
    const links = [...about, ...batch]
    files.wrote(await appendToChain(file.path, { ...file, first, clock, links, isSynced }))
    await removeFiles(removed) // only now: their removal is recorded
  }

  return {
    write(record) {
      return new Promise((resolve, reject) => {
        try {
          const fields = fitForAudit(record, redactor)
          waiting.push({ at: clock.now(), fields, isSynced: isSynced(record, sync), resolve, reject })
          if (!isFlushing) void flush()
        } catch (cause) {
          reject(failure(files.path, cause))
        }
      })
    },
  }
}

type FileAuditOptions = Parameters<typeof createFileAudit>[0]

interface Waiting {
  readonly at: number
  readonly fields: Readonly<Record<string, unknown>>
  readonly isSynced: boolean
  readonly resolve: () => void
  readonly reject: (problem: Error) => void
}

function isSynced({ event, decision }: AuditRecord, sync: FileAuditOptions['sync']): boolean {
  if (sync === 'none') return false
  return /(?:Succeeded|Failed|Cancelled)$/.test(event) || (sync === 'decision' && decision?.verdict === 'allow')
}

function failure(path: string, cause: unknown): CodedError {
  return new CodedError(
    'Session/AuditWriteFailed',
    `the audit ${path} could not be written: ${messageOf(cause)}; no call is made that cannot be recorded. ${adviceFor(cause)}`,
    { cause },
  )
}

function adviceFor(cause: unknown): string {
  const code = codeOf(cause) ?? ''
  if (resourceShortage(code) !== undefined) return 'End other work, or raise the limit (ulimit -n)'
  return `${code === 'ENOSPC' ? 'Make room there' : 'Make that folder writable'}, or choose another place`
}

/**
 * A record to write: a copy of bounded size, without secrets. Names, paths and references to secrets (`$NAME`) stay. A
 * text that is cut keeps its digest.
 */
export function fitForAudit(record: AuditRecord, redactor: Redactor): Readonly<Record<string, unknown>> {
  const room = { characters: mostCharacters, values: mostValues }
  const fields = redactor.json(bounded(record, room, redactor, 1)) as Record<string, unknown>
  const redactions = JSON.stringify(fields).match(/\[REDACTED:\d+\]/g)?.length ?? 0
  return redactions > 0 ? { ...fields, redactions } : fields
}

/** Bounds: one text, all texts together, the number of values. */
const longest = 4_096
const mostCharacters = 64 * 1024
const mostValues = 2_000
const deepest = 20

interface Room {
  characters: number
  values: number
}

function bounded(value: unknown, room: Room, redactor: Redactor, depth: number): unknown {
  if (typeof value === 'string') return boundedText(value, room, redactor)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Error) return boundedText(`${value.name}: ${value.message}`, room, redactor)
  if (value instanceof Date) return String(value.getTime())
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest) return '[too deep to be kept]'
  const entries = Object.entries(value)
  const kept = entries.slice(0, Math.max(room.values, 0))
  room.values -= kept.length
  const inner = kept.map(([name, one]) => [boundedText(name, room, redactor), bounded(one, room, redactor, depth + 1)])
  const left = entries.length - kept.length
  if (Array.isArray(value)) {
    const list = inner.map(([, one]) => one)
    return left > 0 ? [...list, `[${left} more]`] : list
  }
  return Object.fromEntries(left > 0 ? [...inner, ['…', `[${left} more]`]] : inner)
}

function boundedText(text: string, room: Room, redactor: Redactor): string {
  const most = Math.min(longest, Math.max(room.characters, 0))
  room.characters -= Math.min(text.length, most)
  if (text.length <= most) return text
  return `${redactedStart(redactor, text, most).toWellFormed()}… [${text.length} characters, sha256 ${digestOf(text)}]`
}
