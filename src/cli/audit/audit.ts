import { existsSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyAudit } from '../../authority/audit/verify-audit.ts'
import type { AuditRecord } from '../../core/authority.ts'
import { codeOf } from '../../core/errors.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { cutToWidth } from '../../tui/terminal/text-width.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { localTime } from '../schedules/schedule-text.ts'
import { auditFolder } from './open-audit.ts'

const usualLimit = 50

interface Listing {
  readonly values: {
    readonly session?: string
    readonly tool?: string
    readonly decision?: string
    readonly since?: string
    readonly limit?: string
    readonly json?: boolean
  }
}

/** `libero audit`: decisions about tool calls, one per line, the newest last. */
export async function list({ values }: Listing, io: Io): Promise<number> {
  const { session, tool, decision, json } = values
  const since = values.since === undefined ? undefined : timeOf(values.since)
  const records = await readAudit(auditFolder(io), { session, tool, decision, since })
  if (json) {
    const latest = values.limit === undefined ? records : records.slice(-Number(values.limit))
    for (const record of latest) io.out(fullyVisible(JSON.stringify(record)))
    return exitCodes.done
  }
  const calls = callsIn(records)
  const limit = Number(values.limit ?? usualLimit)
  const shown = calls.slice(-limit)
  for (const call of shown) {
    const line = callLine(call)
    io.out(io.stdout.isTTY ? cutToWidth(line, io.stdout.columns ?? 80) : line)
  }
  if (calls.length === 0) io.err('No matching calls in the audit')
  if (shown.length < calls.length) io.err(`For older calls: libero audit --limit ${limit * 4}`)
  return exitCodes.done
}

/** The decision about a call, and its latest outcome. */
interface AuditedCall {
  readonly decided: StoredRecord
  outcome: string
}

function callsIn(records: readonly StoredRecord[]): AuditedCall[] {
  const calls = new Map<string, AuditedCall>()
  for (const record of records) {
    if (record.callId === undefined) continue // the start of a process, or a question to a person
    const id = `${record.sessionId} ${record.callId}`
    if (record.class === 'Approval') calls.set(id, { decided: record, outcome: decisions[record.event] ?? '' })
    const call = calls.get(id)
    const outcome = outcomes[record.event]
    // A denied call has a substituted result, which is not a second outcome.
    if (call && outcome !== undefined && call.decided.decision?.verdict !== 'deny') call.outcome = outcome
  }
  return [...calls.values()]
}

const decisions: Readonly<Record<string, string>> = { ApprovalCancelled: 'stopped during the decision' }

const outcomes: Readonly<Record<string, string>> = {
  ToolInvocationStarted: 'started',
  ToolInvocationSucceeded: 'done',
  ToolInvocationFailed: 'failed',
  ToolInvocationCancelled: 'stopped',
  ToolInvocationSubstituted: 'answered by a hook',
}

function callLine({ decided, outcome }: AuditedCall): string {
  const { at, command = '?', sessionId = '?', tool = '?', origin, key, decision } = decided
  return [
    localTime(Date.parse(at)),
    visibleName(command),
    visibleName(sessionId),
    visibleName(decision?.verdict ?? 'cancelled'),
    `by ${visibleName(decidedBy(decided))}`,
    `${visibleName(tool)} (${visibleName([origin?.layer ?? '?', origin?.path ?? ''].join(' ').trim())})`,
    ...(key === undefined ? [] : [cutToWidth(visibleName(key), 80)]),
    ...placeOf(decided),
    ...(outcome === '' ? [] : [outcome]),
  ].join('  ')
}

/** The person, the rule or the mode that decided. */
function decidedBy({ decision, approver }: StoredRecord): string {
  if (approver !== undefined) return approver
  if (decision?.rule !== undefined) return `${decision.by} "${decision.rule}"`
  return decision?.by ?? '?'
}

/** Where the commands of an allowed call ran. */
function placeOf({ decision, details }: StoredRecord): string[] {
  const { effects } = details ?? {}
  if (decision?.verdict !== 'allow' || !Array.isArray(effects) || !effects.includes('exec')) return []
  const { confinement = 'outside' } = decision
  return [confinement === 'outside' ? 'outside any sandbox' : `in ${visibleName(confinement.profile)}`]
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time such as `2h` ago, or a date. */
function timeOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? []
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * units[unit]!
  if (Number.isNaN(time))
    throw new UsageError(
      `--since takes 30m, 2h, 7d or a date such as 2026-11-16, got "${fullyVisible(text.slice(0, 40))}"`,
    )
  return time
}

/** A record with the command of the process that wrote it. */
export interface StoredRecord extends AuditRecord {
  readonly seq: number
  readonly at: string
  readonly command?: string
}

export interface AuditFilter {
  /** The beginning of a session's id; includes its sub-agents. */
  readonly session?: string | undefined
  readonly tool?: string | undefined
  /** Only calls with this verdict, with their outcomes. */
  readonly decision?: string | undefined
  /** In milliseconds since 1970. */
  readonly since?: number | undefined
}

/** Reads the records of all processes, the oldest first. Skips lines that are not records; `libero audit verify` reports them. */
export async function readAudit(folder: string, filter: AuditFilter = {}): Promise<StoredRecord[]> {
  const since = filter.since === undefined ? '' : new Date(filter.since).toISOString()
  const found: StoredRecord[] = []
  for (const name of await filesOf(folder, filter))
    found.push(...(await recordsOf(join(folder, name))).filter(({ at }) => at >= since))
  return matching(found, filter).sort(byTime)
}

/**
 * The same, the newest first. Files are read a day at a time, and only as far as records are taken: an audit may have many.
 * `before` is a time as in records; later files are left out. A verdict is searched in all of them, as outcomes come after it.
 */
export async function* readAuditBackwards(
  folder: string,
  { before = '', ...filter }: AuditFilter & { readonly before?: string | undefined } = {},
): AsyncGenerator<StoredRecord, void, undefined> {
  if (filter.decision !== undefined) return yield* (await readAudit(folder, filter)).toReversed()
  const since = filter.since === undefined ? '' : new Date(filter.since).toISOString()
  const end = Date.parse(before)
  const lastDay = Number.isNaN(end) ? '' : new Date(end + atMidnightMs).toISOString().slice(0, 10)
  const names = (await filesOf(folder, filter)).filter((name) => lastDay === '' || name.slice(0, 10) <= lastDay)
  const byDay = Map.groupBy(names, (name) => name.slice(0, 10))
  /** Files of the day before may have later ones. */
  let early: readonly StoredRecord[] = []
  for (const day of [...byDay.keys()].sort().reverse()) {
    const found = [...early]
    for (const name of byDay.get(day)!)
      found.push(...(await recordsOf(join(folder, name))).filter(({ at }) => at >= since))
    const records = matching(found, filter).sort(byTime).reverse()
    const begin = Date.parse(day) + atMidnightMs
    early = records.filter(({ at }) => Date.parse(at) < begin)
    yield* records.slice(0, records.length - early.length)
  }
  yield* early
}

/** A record at the turn of a day may be in the file of either. */
const atMidnightMs = 3_600_000

const byTime = (a: StoredRecord, b: StoredRecord): number => compare(a.at, b.at) || a.seq - b.seq

/** The files that may have such records: a process begins a new one each day, named by it. */
async function filesOf(folder: string, { since }: AuditFilter): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error) => {
    if (codeOf(error) === 'ENOENT') return []
    throw new CliError(`the audit in ${folder} cannot be read (${codeOf(error)}); check who owns that folder`)
  })
  const firstDay = since === undefined ? '' : new Date(since - 86_400_000).toISOString().slice(0, 10)
  return names.filter((one) => one.endsWith('.jsonl') && one >= firstDay)
}

async function recordsOf(path: string): Promise<StoredRecord[]> {
  const file = await open(path)
  let command: string | undefined
  const records: StoredRecord[] = []
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

function parsed(line: string): StoredRecord | undefined {
  try {
    const record = JSON.parse(line) as StoredRecord
    return typeof record.at === 'string' && typeof record.event === 'string' ? record : undefined
  } catch {
    return undefined
  }
}

function matching(records: readonly StoredRecord[], { session, tool, decision }: AuditFilter): StoredRecord[] {
  const callOf = ({ sessionId, callId }: StoredRecord): string => `${sessionId} ${callId}`
  const decided = new Set(records.filter((one) => one.decision?.verdict === decision).map(callOf))
  return records.filter(
    (one) =>
      (session === undefined || one.sessionId?.startsWith(session)) &&
      (tool === undefined || one.tool === tool) &&
      (decision === undefined || (one.callId !== undefined && decided.has(callOf(one)))),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** `libero audit verify`: checks that no record was changed, or removed between two others. */
export async function verify(io: Io): Promise<number> {
  const folder = auditFolder(io)
  const check = existsSync(folder) ? await verifyAudit(folder) : ({ ok: true, records: 0 } as const)
  if (!check.ok && check.line === 0)
    throw new CliError(`the audit could not be verified: ${fullyVisible(check.problem)}; check who owns that folder`)
  if (!check.ok)
    throw new CliError(
      `the audit in ${fullyVisible(folder)} was changed, in line ${check.line}: ${fullyVisible(check.problem)}; keep that file unchanged, and find out who can write to it`,
    )
  io.out(`${check.records} records, none changed`)
  return exitCodes.done
}
