import { CodedError } from './errors.ts'
import { isRecord } from './is-record.ts'
import type { ToolDef } from './tool.ts'

/** A person's decision about one edit of a call. */
export interface EditDecision {
  readonly decision: 'allow' | 'deny'
  /** For the model: why it was denied. */
  readonly note?: string
}

/** What became of one edit of a call. */
export type EditOutcome = NonNullable<ReturnType<typeof parseEditOutcomesFromResult>>[number]

/**
 * The input of a call with the decisions about its edits, as its tool gets it. Only the pipeline may add them. Despite
 * its name, `_outcomes` holds decisions: an `EditOutcome` is known only after the tool has run.
 */
export function withEditDecisions<Input extends object>(
  input: Input,
  decisions: readonly EditDecision[],
): Input & { readonly _outcomes: readonly EditDecision[] } {
  return { ...input, _outcomes: decisions }
}

/** How many edits of a call a person may decide about one by one; 0 if its tool does not offer that. */
export function countEdits(tool: ToolDef | undefined, input: Readonly<Record<string, unknown>>): number {
  try {
    const count = tool?.countEdits?.(input) ?? 0
    return Number.isSafeInteger(count) && count > 1 ? count : 0
  } catch {
    return 0
  }
}

/** Reads decisions about the edits of a call. Throws unless there is one for each of its `count` edits. */
export function readEditDecisions(value: unknown, count: number): readonly EditDecision[] {
  if (count === 0) throw invalid('the edits of this call cannot be decided about one by one; allow or deny the call')
  const isRight = areEditDecisions(value) && value.length === count
  if (!isRight)
    throw invalid(`edits must be a list of ${count}, one { "decision": "allow" or "deny", "note"? } for each edit`)
  return value.map(({ decision, note }) => ({ decision, ...(note !== undefined && { note }) }))
}

/** Whether a value is a list of decisions about edits. */
export function areEditDecisions(value: unknown): value is readonly EditDecision[] {
  return Array.isArray(value) && value.length > 0 && value.every(isEditDecision)
}

function isEditDecision(value: unknown): value is EditDecision {
  if (!isRecord(value)) return false
  const { decision, note = '', ...others } = value
  const isDecided = decision === 'allow' || decision === 'deny'
  return isDecided && typeof note === 'string' && Object.keys(others).length === 0
}

const invalid = (why: string): CodedError => new CodedError('Validation/InteractionAnswerInvalid', why)

export const isDenied = ({ decision }: EditDecision): boolean => decision === 'deny'

/** What two parties allow: an edit that one of them denies is denied. */
export function narrowerEdits(
  one: readonly EditDecision[] | undefined,
  other: readonly EditDecision[] | undefined,
): readonly EditDecision[] | undefined {
  if (!one || !other || one.length !== other.length) return one ?? other
  return one.map((decision, i) => (isDenied(decision) ? decision : other[i]!))
}

/** Why edits were denied, in one text, for an answer that denies them all. */
export function denialsText(decisions: readonly EditDecision[]): string {
  return decisions.flatMap(({ note }, i) => (note ? [`edit #${i + 1}: ${note}`] : [])).join('\n')
}

/** The result of a call whose edits were decided about one by one: a line with the counts, then one for each edit. */
export function editOutcomesText(path: string, outcomes: readonly EditOutcome[]): string {
  // Further lines of a reason are indented, so that none of them reads as the outcome of an edit.
  const each = outcomes.map(({ outcome, reason }, i) =>
    `edit #${i + 1}: ${outcome}${reason ? `: ${reason}` : ''}`.replaceAll(/\r?\n|\r/g, '\n  '),
  )
  return [`Edited ${path}: ${editCounts(outcomes)}`, ...each].join('\n')
}

/** How many edits were applied, denied and failed, as in `2/4 applied · 1 denied · 1 failed`. */
export function editCounts(outcomes: readonly EditOutcome[]): string {
  const count = (wanted: EditOutcome['outcome']): number => outcomes.filter(({ outcome }) => outcome === wanted).length
  const others = (['denied', 'failed'] as const).flatMap((name) => (count(name) > 0 ? [`${count(name)} ${name}`] : []))
  return [`${count('applied')}/${outcomes.length} applied`, ...others].join(' · ')
}

/** Reads a result that `editOutcomesText` wrote, for screens that show a transcript; `undefined` for any other. */
export function parseEditOutcomesFromResult(result: string):
  | readonly {
      readonly outcome: 'applied' | 'denied' | 'failed'
      /** Why it was denied or failed, or how it was applied. */
      readonly reason?: string
    }[]
  | undefined {
  const head = /^Edited .+?: (\d+)\/(\d+) applied(?: · (\d+) denied)?(?: · (\d+) failed)?\n(?=edit #1: )/s.exec(result)
  if (!head) return undefined
  const lines = result.slice(head[0].length).split(/\n(?=edit #\d+: )/)
  const outcomes = lines.map((line, i) => readOutcome(line, i + 1))
  const [, applied = 0, all, denied = 0, failed = 0] = head
  const counts = { applied, denied, failed }
  const isWhole = outcomes.length === Number(all) && outcomes.every((one) => one !== undefined)
  if (!isWhole) return undefined
  const isCounted = Object.entries(counts).every(
    ([name, count]) => outcomes.filter(({ outcome }) => outcome === name).length === Number(count),
  )
  return isCounted ? outcomes : undefined
}

/** What became of the edits of a call, from the details of its result, if they were decided about one by one. */
export function editOutcomesIn(details: unknown): readonly EditOutcome[] | undefined {
  const told = isRecord(details) ? details.edits : undefined
  return areEditOutcomes(told) ? told : undefined
}

/** Whether a value is a list of outcomes of edits. */
export function areEditOutcomes(value: unknown): value is readonly EditOutcome[] {
  return Array.isArray(value) && value.length > 0 && value.every(isEditOutcome)
}

function isEditOutcome(value: unknown): value is EditOutcome {
  if (!isRecord(value)) return false
  const { outcome, reason = '' } = value
  return ['applied', 'denied', 'failed'].includes(outcome as string) && typeof reason === 'string'
}

function readOutcome(line: string, number: number): EditOutcome | undefined {
  const [, at, outcome, reason] = /^edit #(\d+): (applied|denied|failed)(?:: (.*))?$/s.exec(line) ?? []
  if (Number(at) !== number || outcome === undefined) return undefined
  return { outcome: outcome as EditOutcome['outcome'], ...(reason && { reason: reason.replaceAll('\n  ', '\n') }) }
}
