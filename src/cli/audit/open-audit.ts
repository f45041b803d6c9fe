import type { AuditSink } from '../../core/authority.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Io } from '../io.ts'
import type { ServersView } from '../mcp/servers-view.ts'
import { auditFolder } from './audit-folder.ts'

export interface AuditOptions {
  readonly io: Pick<Io, 'home' | 'env'>
  /** The command that runs the agent, and the folder it works in. */
  readonly command: string
  readonly cwd: string
  /** Is told, once, that the audit cannot be written. */
  readonly view: Pick<ServersView, 'failed'>
  readonly clock?: Clock
}

/**
 * The user's audit, for one process. Nothing is loaded and no file is made before the first record. Each process writes
 * files of its own, a new one each day, so that several can write at once.
 */
export function openAudit({ io, command, cwd, view, clock = systemClock }: AuditOptions): AuditSink {
  const path = auditFolder(io)
  let current: { readonly day: string; readonly sink: AuditSink; records: number } | undefined
  let isTold = false
  let opening: Promise<AuditSink> | undefined

  async function open(day: string): Promise<AuditSink> {
    const [{ createFileAudit }, { pruneAudit }] = await Promise.all([
      import('../../authority/audit/audit-file.ts'),
      import('./prune-audit.ts'),
    ])
    await pruneAudit(path, { now: clock.now(), isFirst: current === undefined })
    const sink = createFileAudit({ path, env: io.env, clock })
    await sink.write({ class: 'Process', event: 'ProcessBegan', details: { command, cwd, version, pid: process.pid } })
    current = { day, sink, records: 0 }
    return sink
  }

  /** One opening at a time; one that failed is tried again by the next record. */
  function sinkFor(day: string): AuditSink | Promise<AuditSink> {
    if (current?.day === day && current.records++ < mostRecords) return current.sink
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
        if (!isTold) view.failed(`${fullyVisible(messageOf(error).replace(/^\S+: /, ''))}${advice}`)
        isTold = true
        throw error
      }
    },
  }
}

/** Not for the model, which reads the error itself. */
const advice = '; or keep no audit: libero config set audit false'

/** Of one file; a record has a kilobyte or so. */
const mostRecords = 10_000
