import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditSink } from '../../core/authority.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Io } from '../io.ts'
import type { ServersView } from '../mcp/servers.ts'

interface AuditOptions {
  readonly io: Pick<Io, 'home' | 'env'>
  readonly command: string
  readonly cwd: string
  /** Receives one notice if the audit cannot be written. */
  readonly view: Pick<ServersView, 'failed'>
  readonly clock?: Clock
}

/**
 * The audit of this process. Nothing is loaded and no file is created before the first record. Each process writes its
 * own files, a new one each day, so that several can write at once.
 */
export function openAudit({ io, command, cwd, view, clock = systemClock }: AuditOptions): AuditSink {
  const path = auditFolder(io)
  let current: { readonly day: string; readonly sink: AuditSink; records: number } | undefined
  let isReported = false
  let opening: Promise<AuditSink> | undefined

  async function open(day: string): Promise<AuditSink> {
    const { createFileAudit } = await import('../../authority/audit/audit-file.ts')
    await pruneAudit(path, { now: clock.now(), isFirst: current === undefined })
    const sink = createFileAudit({ path, env: io.env, clock })
    await sink.write({ class: 'Process', event: 'ProcessBegan', details: { command, cwd, version, pid: process.pid } })
    current = { day, sink, records: 0 }
    return sink
  }

  /** Opens one file at a time; after a failure the next record tries again. */
  function sinkFor(day: string): AuditSink | Promise<AuditSink> {
    if (current?.day === day && current.records++ < maxRecords) return current.sink
    opening ??= open(day).finally(() => {
      opening = undefined
    })
    return opening
  }

  return {
    async write(record) {
      try {
        const day = new Date(clock.now()).toISOString().slice(0, 10)
        await (await sinkFor(day)).write(record)
      } catch (error) {
        if (!isReported) view.failed(`${fullyVisible(messageOf(error).replace(/^\S+: /, ''))}${advice}`)
        isReported = true
        throw error
      }
    },
  }
}

/** For the person only; the model sees the error without it. */
const advice = '; or turn the audit off: libero config set audit false'

/** Records per file; a record has about a kilobyte. */
const maxRecords = 10_000

/** The folder of the audit, with one or more files per process. */
export const auditFolder = ({ home }: Pick<Io, 'home'>): string => join(home, 'audit')

const keptDays = 90
const maxBytes = 256 * 1024 * 1024

/**
 * Removes audit files that are too old or exceed the size limit. Only whole files, so that the hash chains of the others
 * stay intact. The first process of a day does this, and one that writes more than one file. A file that cannot be
 * removed is tried again the next time.
 */
async function pruneAudit(folder: string, { now, isFirst }: { now: number; isFirst: boolean }): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d{4}-\d\d-\d\d-/.test(name))
  if (isFirst && names.some((name) => name.startsWith(dayOf(now)))) return
  const oldest = dayOf(now - keptDays * 86_400_000)
  let bytes = 0
  for (const name of names.sort().reverse()) {
    const path = join(folder, name)
    bytes += (await stat(path).catch(() => undefined))?.size ?? 0
    if (name < oldest || bytes > maxBytes) await rm(path, { force: true }).catch(() => {})
  }
}

/** The day with which file names begin. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
