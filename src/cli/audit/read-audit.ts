import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditRecord } from '../../core/authority.ts'
import { codeOf } from '../../core/errors.ts'
import { CliError } from '../cli-error.ts'

/** A record as a file has it, with the command of the process that wrote it. */
export interface KeptRecord extends AuditRecord {
  readonly seq: number
  readonly at: string
  readonly command?: string
}

export interface AuditFilter {
  /** The beginning of a session's id; its sub-agents are among those found. */
  readonly session?: string | undefined
  readonly tool?: string | undefined
  /** The verdict of a decision. Calls that had another one are left out, with what became of them. */
  readonly decision?: string | undefined
  /** In milliseconds since 1970. */
  readonly since?: number | undefined
}

/** Reads the records of every process, the oldest first. A line that is no record is left to `libero audit verify`. */
export async function readAudit(folder: string, filter: AuditFilter = {}): Promise<KeptRecord[]> {
  const since = filter.since === undefined ? '' : new Date(filter.since).toISOString()
  const names = await readdir(folder).catch((error) => {
    if (codeOf(error) === 'ENOENT') return []
    throw new CliError(`the audit in ${folder} cannot be read (${codeOf(error)}); check who owns that folder`)
  })
  const found: KeptRecord[] = []
  for (const name of names.filter((one) => one.endsWith('.jsonl')))
    found.push(...(await recordsOf(join(folder, name))).filter(({ at }) => at >= since))
  return matching(found, filter).sort((a, b) => compare(a.at, b.at) || a.seq - b.seq)
}

async function recordsOf(path: string): Promise<KeptRecord[]> {
  const file = await open(path)
  let command: string | undefined
  const records: KeptRecord[] = []
  try {
    for await (const line of file.readLines()) {
      const record = parsed(line)
      if (!record) continue
      if (record.event === 'ProcessBegan') command = String(record.details?.command)
      records.push({ ...record, ...(command !== undefined && { command }) })
    }
  } finally {
    await file.close()
  }
  return records
}

function parsed(line: string): KeptRecord | undefined {
  try {
    const record = JSON.parse(line) as KeptRecord
    return typeof record.at === 'string' && typeof record.event === 'string' ? record : undefined
  } catch {
    return undefined
  }
}

function matching(records: readonly KeptRecord[], { session, tool, decision }: AuditFilter): KeptRecord[] {
  const callOf = ({ sessionId, callId }: KeptRecord): string => `${sessionId} ${callId}`
  const decided = new Set(records.filter((one) => one.decision?.verdict === decision).map(callOf))
  return records.filter(
    (one) =>
      (session === undefined || one.sessionId?.startsWith(session)) &&
      (tool === undefined || one.tool === tool) &&
      (decision === undefined || (one.callId !== undefined && decided.has(callOf(one)))),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
