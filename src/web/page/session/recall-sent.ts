import type { MessageRow } from '../libero.ts'
import type { DraftModel } from '../model/draft-model.ts'
import type { SessionModel } from '../model/session-model.ts'
import { rowText } from './row-menu.ts'

/** A message of before in the message field. */
export interface Recalled {
  /** How many messages back it is. */
  readonly steps: number
  readonly shown: string
  /** What was being written. */
  readonly draft: string
}

interface RecallOptions {
  readonly session: SessionModel
  readonly draft: DraftModel
  readonly field: HTMLTextAreaElement
  readonly recalled: { current: Recalled | undefined }
  readonly step: 1 | -1
}

/** Puts the message before, or after, the recalled one into the field; after the last one what was being written. */
export async function recallSent({ session, draft, field, recalled, step }: RecallOptions): Promise<void> {
  const { value } = field
  const known = recalled.current?.shown === value ? recalled.current : undefined
  const steps = (known?.steps ?? 0) + step
  const own = known?.draft ?? value
  const row = steps === 0 ? undefined : sentBefore(session, steps)
  if (steps > 0 && !row) return
  const shown = row ? await rowText(session, row) : own
  if (field.value !== value) return
  recalled.current = { steps, shown, draft: own }
  draft.write(shown)
  const caret = step === 1 ? 0 : shown.length
  requestAnimationFrame(() => field.setSelectionRange(caret, caret))
}

function sentBefore(session: SessionModel, steps: number): MessageRow | undefined {
  const { rows } = session.state.view
  let left = steps
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows.at(at)!
    if (row.kind === 'message' && !row.isNote && --left === 0) return row
  }
  return undefined
}
