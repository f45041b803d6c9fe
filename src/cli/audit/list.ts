import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { localTime } from '../schedules/schedule-words.ts'
import { cutToWidth } from '../screen/text-width.ts'
import { auditFolder } from './audit-folder.ts'
import { type KeptRecord, readAudit } from './read-audit.ts'

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

/** `libero audit`: the calls that were decided about, one a line, the newest last. */
export async function list({ values }: Listing, io: Io): Promise<number> {
  const { session, tool, decision, json } = values
  const since = values.since === undefined ? undefined : timeOf(values.since)
  const records = await readAudit(auditFolder(io), { session, tool, decision, since })
  if (json) {
    for (const record of records) io.out(fullyVisible(JSON.stringify(record)))
    return exitCodes.done
  }
  const calls = callsIn(records)
  const limit = Number(values.limit ?? usualLimit)
  const shown = calls.slice(-limit)
  for (const call of shown) {
    const line = lineOf(call)
    io.out(io.stdout.isTTY ? cutToWidth(line, io.stdout.columns ?? 80) : line)
  }
  if (calls.length === 0) io.err('The audit has no such calls')
  if (shown.length < calls.length) io.err(`There are older ones: libero audit --limit ${limit * 4}`)
  return exitCodes.done
}

/** A call as it was decided about, and the last that is known of it. */
interface AuditedCall {
  readonly decided: KeptRecord
  outcome: string
}

function callsIn(records: readonly KeptRecord[]): AuditedCall[] {
  const calls = new Map<string, AuditedCall>()
  for (const record of records) {
    if (record.callId === undefined) continue // a process that began, or a question that was put to a person
    const id = `${record.sessionId} ${record.callId}`
    if (record.class === 'Approval') calls.set(id, { decided: record, outcome: decisions[record.event] ?? '' })
    const call = calls.get(id)
    const outcome = outcomes[record.event]
    // A call that was denied is answered in its place; that is no second outcome.
    if (call && outcome !== undefined && call.decided.decision?.verdict !== 'deny') call.outcome = outcome
  }
  return [...calls.values()]
}

const decisions: Readonly<Record<string, string>> = { ApprovalCancelled: 'stopped while it was decided' }

const outcomes: Readonly<Record<string, string>> = {
  ToolInvocationStarted: 'begun',
  ToolInvocationSucceeded: 'done',
  ToolInvocationFailed: 'failed',
  ToolInvocationCancelled: 'stopped',
  ToolInvocationSubstituted: 'answered by a hook',
}

function lineOf({ decided, outcome }: AuditedCall): string {
  const { at, command = '?', sessionId = '?', tool = '?', origin, key, decision } = decided
  return [
    localTime(Date.parse(at)),
    visibleName(command),
    visibleName(sessionId),
    visibleName(decision?.verdict ?? 'cancelled'),
    `by ${visibleName(decidedBy(decided))}`,
    `${visibleName(tool)} (${visibleName([origin?.layer ?? '?', origin?.path ?? ''].join(' ').trim())})`,
    ...(key === undefined ? [] : [cutToWidth(visibleName(key), 80)]),
    ...(outcome === '' ? [] : [outcome]),
  ].join('  ')
}

/** The person, the rule or the mode that had the last word. */
function decidedBy({ decision, approver }: KeptRecord): string {
  if (approver !== undefined) return approver
  if (decision?.rule !== undefined) return `${decision.by} "${decision.rule}"`
  return decision?.by ?? '?'
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `2h` is two hours ago; else a date. */
function timeOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? []
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * units[unit]!
  if (Number.isNaN(time))
    throw new UsageError(
      `--since takes 30m, 2h, 7d or a date such as 2026-11-16, got "${fullyVisible(text.slice(0, 40))}"`,
    )
  return time
}
