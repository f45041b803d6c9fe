import { type EditDecision, type EditOutcome, editOutcomesText, readEditDecisions } from '../core/edit-outcomes.ts'
import type { ToolCheck, ToolDef, ToolResult } from '../core/tool.ts'
import { validateToolArgs } from '../core/tool-input.ts'
import { parentKey } from './approval-keys.ts'
import {
  type AppliedEdit,
  allowsPerEditDecisions,
  type EditDetails,
  type EditInput,
  editFile,
  editProperties,
  previewEdits,
  refuseUnpairedSurrogates,
} from './edit-file.ts'

const description = `Makes several edits to one file, in the order given, each on the result of the one before. If one of them fails, none is made.
Each old_string must be in the file exactly once at its turn, including its indentation, unless it has replace_all.
Leave out the line numbers that read_file shows. The rest of the file stays byte for byte as it is, and new lines get the line endings of the file.`

export interface MultiEditInput {
  readonly path: string
  readonly edits: readonly EditInput[]
  /** Despite the name, a person's decision about each edit, if some were denied. The pipeline adds this; a model cannot. */
  readonly _outcomes?: readonly EditDecision[]
}

const editSchema = { type: 'object', properties: editProperties, required: ['old_string', 'new_string'] }

/** A tool that makes several edits to a file: all of them or none, or those that a person allowed. */
export const multiEdit: ToolDef<MultiEditInput> = {
  spec: {
    name: 'multi_edit',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file; a relative path counts from the working directory.' },
        edits: { type: 'array', items: editSchema, description: 'The edits, in order.' },
      },
      required: ['path', 'edits'],
    },
  },
  isConcurrencySafe: false,
  replay: 'keyed',
  effects: ['fs.read', 'fs.write'],
  timeoutMs: 30_000,
  touches: ({ path }) => [{ path, access: 'edit' }],
  deriveApprovalKey: ({ path }) => parentKey(path),
  countEdits: ({ edits }) => (allowsPerEditDecisions(edits) ? edits.length : 0),
  check: checkEdits,
  async preview({ path, edits }, ctx) {
    const preview = await previewEdits(ctx, path, edits)
    if ('files' in preview) return preview
    throw new Error(failure(path, preview.index, preview.reason))
  },
  async execute({ path, edits, _outcomes }, ctx) {
    const decisions = _outcomes && readEditDecisions(_outcomes, edits.length)
    const outcome = await editFile(ctx, path, edits, decisions)
    if (outcome.type === 'refused') return { output: failure(path, outcome.index, outcome.reason), isError: true }
    const { type, details } = outcome
    if (details.edits) return decidedAnswer(path, details.edits, details)
    if (type === 'edited by earlier attempt')
      return { output: `Edited ${path} (an earlier attempt of this call had already done it)`, details }
    return { output: answer(path, outcome.appliedEdits, outcome.details), details }
  },
}

/** A call of which no edit was made has failed. */
function decidedAnswer(path: string, edits: readonly EditOutcome[], details: object): ToolResult {
  const isError = edits.every(({ outcome }) => outcome !== 'applied')
  return { output: editOutcomesText(path, edits), details, ...(isError && { isError }) }
}

/** The engine checks only top-level properties, so the edits in the list are checked here. */
function checkEdits(input: Record<string, unknown>): ToolCheck | undefined {
  const inputs = input.edits as readonly unknown[]
  if (inputs.length === 0) return { valid: false, error: '"edits" is empty; give at least one edit' }
  const edits: Record<string, unknown>[] = []
  for (const [i, edit] of inputs.entries()) {
    const checked = validateToolArgs(edit as Record<string, unknown>, editSchema)
    const flaw = checked.valid ? refuseUnpairedSurrogates(checked.input) : checked
    if (flaw && !flaw.valid) return { valid: false, error: `edit #${i + 1}: ${flaw.error}` }
    if (checked.valid) edits.push(checked.input)
  }
  return edits.every((edit, i) => edit === inputs[i]) ? undefined : { valid: true, input: { ...input, edits } }
}

function failure(path: string, index: number, reason: string): string {
  const after = index > 0 ? ' The line numbers are those after the edits before it.' : ''
  return `multi_edit error: edit #${index + 1} ${reason}\nNone of the edits was made: "${path}" is as it was.${after}`
}

function answer(path: string, edits: readonly AppliedEdit[], { replacements, diff }: EditDetails): string {
  const made = `${counted(edits.length, 'edit')}, ${counted(replacements, 'replacement')}`
  const notes = edits.flatMap(({ note }, i) => (note === undefined ? [] : [`edit #${i + 1}: ${note}`]))
  const end = diff === '' ? '; together they change nothing' : ''
  return [`Edited ${path}: ${made}${end}`, ...notes].join('\n')
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
