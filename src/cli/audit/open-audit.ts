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
  /** How long records are kept, and how many bytes of them. */
  readonly keep?: { readonly days?: number | undefined; readonly bytes?: number | undefined }
  readonly clock?: Clock
}

const defaultDays = 90
const defaultBytes = 256 * 1024 * 1024

/**
 * The audit of this process. Nothing is loaded and no file is created before the first record. Each process writes its
 * own files, a new one each day, so that several can write at once.
 */
export function openAudit({ io, command, cwd, view, keep = {}, clock = systemClock }: AuditOptions): AuditSink {
  let opening: Promise<AuditSink> | undefined
  let isReported = false

  async function open(): Promise<AuditSink> {
    const { createFileAudit } = await import('../../authority/audit/audit-file.ts')
    return createFileAudit({
      ...{ path: auditFolder(io), env: io.env, clock },
      first: { class: 'Process', event: 'ProcessBegan', details: { command, cwd, version, pid: process.pid } },
      keepDays: keep.days ?? defaultDays,
      keepBytes: keep.bytes ?? defaultBytes,
    })
  }

  return {
    async write(record) {
      try {
        opening ??= open()
        await (await opening).write(record)
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

/** The folder of the audit, with one or more files per process. */
export const auditFolder = ({ home }: Pick<Io, 'home'>): string => join(home, 'audit')
