import type { EditDecision, EditOutcome } from '../core/edit-outcomes.ts'
import type { AppliedEdit, EditInput } from './edit-file.ts'
import type { NotReplaced, Replaced } from './matching/replace.ts'
import type { CountedDiff, DiffOptions } from './text/diff.ts'

export type Apply = (text: string, input: EditInput) => Replaced | NotReplaced

/** What is needed to make edits in a text. */
export interface EditFunctions {
  readonly apply: Apply
  readonly diffOf: (before: string, after: string, options?: DiffOptions) => Promise<CountedDiff>
  /** Called after each edit, so that other work can run. */
  readonly yieldIfDue: () => Promise<void>
}

interface AllowedEdits {
  readonly type: 'applied'
  readonly text: string
  readonly appliedEdits: readonly AppliedEdit[]
  /** The outcome of every edit, also of denied and failed ones. */
  readonly outcomes: readonly EditOutcome[]
}

/**
 * Makes the edits that were allowed, independently: an edit that cannot be made does not stop the others. In the preview, the
 * person saw each edit applied to the result of all edits before it. Without the denied edits, a later edit may fit another place.
 * An edit that would change other lines than those that the person saw is not made.
 */
export async function applyAllowed(
  before: string,
  inputs: readonly EditInput[],
  decisions: readonly EditDecision[],
  functions: EditFunctions,
): Promise<AllowedEdits> {
  const appliedEdits: AppliedEdit[] = []
  const outcomes: EditOutcome[] = []
  let text = before
  /** The text with all edits so far, as the person saw it. */
  let shownText = before
  for (const [i, input] of inputs.entries()) {
    const { decision, note } = decisions[i]!
    const shownResult = functions.apply(shownText, input)
    const shown = { text: shownText, result: shownResult }
    const result = decision === 'deny' ? undefined : await applyAsShown(text, input, shown, functions)
    if (shownResult.type === 'replaced') shownText = shownResult.text
    outcomes.push(result ? outcomeOf(result) : { outcome: 'denied', ...(note && { reason: note }) })
    if (result?.type === 'replaced') {
      const { text: edited, ...edit } = result
      appliedEdits.push(edit)
      text = edited
    }
    await functions.yieldIfDue()
  }
  return { type: 'applied', text, appliedEdits, outcomes }
}

/** An edit as the person saw it. */
interface ShownEdit {
  /** The text before the edit. */
  readonly text: string
  readonly result: Replaced | NotReplaced
}

async function applyAsShown(
  text: string,
  input: EditInput,
  shown: ShownEdit,
  { apply, diffOf }: EditFunctions,
): Promise<Replaced | NotReplaced> {
  if (shown.text === text) return shown.result
  const result = apply(text, input)
  if (shown.result.type === 'refused') return result
  if (result.type === 'refused') return { ...result, reason: `${result.reason}\n${afterDenied}` }
  const linesOf = async (before: string, after: string): Promise<string> =>
    changedLines((await diffOf(before, after, { context: 0, maxChars: Number.POSITIVE_INFINITY })).diff)
  if ((await linesOf(text, result.text)) === (await linesOf(shown.text, shown.result.text))) return result
  return { type: 'refused', reason: `it would change other lines than those that were allowed. ${afterDenied}` }
}

const afterDenied = 'An edit before it was denied; if this one is still wanted, request it again on its own.'

/** The removed and added lines of a diff, wherever they are. Its first two lines name the file. */
const changedLines = (diff: string): string =>
  diff
    .split('\n')
    .slice(2)
    .filter((line) => !line.startsWith('@@'))
    .join('\n')

function outcomeOf(result: Replaced | NotReplaced): EditOutcome {
  if (result.type === 'refused') return { outcome: 'failed', reason: result.reason }
  return { outcome: 'applied', ...(result.note !== undefined && { reason: result.note }) }
}
