import type { EditDecision } from '../core/edit-outcomes.ts'
import { questionAbout } from '../core/interaction.ts'
import type { PendingCall } from '../core/store.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { UsageError } from './cli-error.ts'

/** How many edits of a waiting call can be decided about one by one. */
export function editsOffered({ request, callId }: Pick<PendingCall, 'request' | 'callId'>): number {
  const { edits } = questionAbout(request, callId)
  return typeof edits === 'number' ? edits : 0
}

/** The decisions that `--edits` stands for; `undefined` without the flag. */
export function readEditsFlag(
  { edits, note }: { readonly edits?: string; readonly note?: string },
  call: Pick<PendingCall, 'request' | 'callId' | 'name'>,
): readonly EditDecision[] | undefined {
  if (edits === undefined) return undefined
  const count = editsOffered(call)
  if (count === 0)
    throw new UsageError(
      `the edits of ${fullyVisible(call.name)} cannot be decided about one by one; leave out --edits`,
    )
  const allowed = edits.split(',').map((word) => word.trim())
  const wrong = allowed.find((word) => !/^\d{1,4}$/.test(word) || Number(word) < 1 || Number(word) > count)
  if (wrong !== undefined)
    throw new UsageError(
      `--edits takes numbers from 1 to ${count} with commas between them, got "${fullyVisible(wrong)}"`,
    )
  const numbers = new Set(allowed.map(Number))
  return Array.from({ length: count }, (_, i) =>
    numbers.has(i + 1) ? { decision: 'allow' } : { decision: 'deny', ...(note !== undefined && { note }) },
  )
}
