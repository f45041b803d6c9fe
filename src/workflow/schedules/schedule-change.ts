import { isRecord } from '../../core/is-record.ts'
import type { InboxItem } from '../../core/log.ts'
import type { Schedule } from '../../plugins/schedule.ts'

/** What somebody wants to be different, as a message to whoever keeps the schedules. */
export type ScheduleChangeMessage =
  | { readonly op: 'add'; readonly schedule: Schedule }
  | {
      readonly op: 'update'
      readonly id: string
      readonly fields: Readonly<Record<string, unknown>>
      readonly at: number
    }
  | { readonly op: 'remove'; readonly id: string }

/** The session that holds the schedules of a store. */
export const schedulesLogId = 'libero.schedules'

/** Under which name the runs of a schedule are kept in the log. */
export function stateOwner(id: string): string {
  return `schedule:${id}`
}

/** Changes nothing, and is there so that the log or its inbox is never empty: who reads them then never waits. */
export const greeting: InboxItem = itemOf('hello', { op: 'remove', id: '' })

/** A change, as it is sent. An `answer` to no call is the one kind of message that does not wait for a turn to deliver it. */
export function itemOf(clientKey: string, change: ScheduleChangeMessage): InboxItem {
  return { clientKey, mode: 'answer', content: [{ type: 'text', text: JSON.stringify(change) }] }
}

/** A change, as it was sent; undefined where it is none, as a log may hold anything. */
export function readChange(content: InboxItem['content']): ScheduleChangeMessage | undefined {
  const [block] = content
  if (block?.type !== 'text') return undefined
  const change = parsed(block.text)
  if (!isRecord(change)) return undefined
  const { op, id, fields, schedule, at } = change
  if (op === 'add') return isSchedule(schedule) ? { op, schedule } : undefined
  if (typeof id !== 'string') return undefined
  if (op === 'remove') return { op, id }
  return op === 'update' && isRecord(fields) && typeof at === 'number' ? { op, id, fields, at } : undefined
}

/** Whether it is one as far as reading it goes; whether it can be meant was checked when it was sent. */
export function isSchedule(value: unknown): value is Schedule {
  if (!isRecord(value) || !isRecord(value.when)) return false
  const { id, agentId, message, createdAt } = value
  return [id, agentId, message].every((one) => typeof one === 'string') && typeof createdAt === 'number'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
