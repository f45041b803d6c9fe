import { areEditOutcomes, type EditDecision, type EditOutcome } from '../core/edit-outcomes.ts'
import type {
  EditPreview,
  JsonSchema,
  PreviewContext,
  ToolCheck,
  ToolContext,
  ToolPreview,
  TouchedFile,
} from '../core/tool.ts'
import { type Apply, applyAllowed, type EditFunctions } from './allowed-edits.ts'
import { type CurrentFile, changeFile, maxEditableBytes, noSuchFile, previewFile } from './change-file.ts'
import type { NotReplaced, Replaced, ReplaceOptions, TextEdit } from './matching/replace.ts'
import { yieldToEventLoop } from './serial-queue.ts'
import { type CountedDiff, countedDiff, type DiffOptions, diffWithNote } from './text/diff.ts'
import type { LosslessText } from './text/encoding.ts'

/** One edit as a model writes it. */
export interface EditInput {
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** An edit that was made. Omits `text`: one full copy of the file per edit would take too much memory. */
export type AppliedEdit = Omit<Replaced, 'text'>

/** The outcome of the edits of one call. */
type EditFileResult =
  | { readonly type: 'edited'; readonly appliedEdits: readonly AppliedEdit[]; readonly details: EditDetails }
  /** An earlier attempt of this call wrote the file before its process died; this attempt changed nothing. */
  | { readonly type: 'edited by earlier attempt'; readonly details: Pick<EditDetails, 'file' | 'edits'> }
  /** The edit with this index cannot be made, so none was. */
  | Refusal

/** The details of edits that were made, for screens. */
export interface EditDetails {
  readonly file: TouchedFile
  readonly replacements: number
  /** Covers everything that changed in the file. */
  readonly diff: string
  /** The outcome of each edit, if a person decided about each. Not named `outcomes`, because existing logs have `edits`. */
  readonly edits?: readonly EditOutcome[]
}

/**
 * Makes either all of the edits or none; each edit works on the result of the one before. If a person decided about each edit, only
 * the allowed ones are made, independently: if one can no longer be made in the way the person saw, only that one fails. Throws if
 * the file does not exist.
 */
export async function editFile(
  ctx: ToolContext,
  path: string,
  inputs: readonly EditInput[],
  decisions?: readonly EditDecision[],
): Promise<EditFileResult> {
  const changed = await changeFile(ctx, { path, access: 'edit' }, async (current) => {
    const file = await readEditable(current, path, inputs, ctx)
    const value = await computeEdits(file, path, inputs, ctx, { decisions })
    if (value.type === 'refused' || value.text === file.text) return { value }
    return { value, content: encodeWithinLimit(path, value), report: value.outcomes }
  })
  const { file } = changed
  if (changed.outcome === 'written by earlier attempt') {
    const { report } = changed
    return { type: 'edited by earlier attempt', details: { file, ...(areEditOutcomes(report) && { edits: report }) } }
  }
  const { value: computedEdits } = changed
  if (computedEdits.type === 'refused') return computedEdits
  const { appliedEdits, outcomes } = computedEdits
  const replacements = appliedEdits.reduce((sum, { count }) => sum + count, 0)
  const details = { file, replacements, diff: diffWithNote(computedEdits), ...(outcomes && { edits: outcomes }) }
  return { type: 'edited', appliedEdits, details }
}

/** The change that the edits would make to the file, or why one of them cannot be made. Changes nothing. */
export async function previewEdits(
  ctx: PreviewContext,
  path: string,
  inputs: readonly EditInput[],
): Promise<ToolPreview | Refusal> {
  const computedEdits = await previewFile(ctx, path, async (current) =>
    computeEdits(await readEditable(current, path, inputs, ctx), path, inputs, ctx, {
      diffEachEdit: allowsPerEditDecisions(inputs),
    }),
  )
  if (computedEdits.type === 'refused') return computedEdits
  encodeWithinLimit(path, computedEdits) // throws if the file would become too large
  const { editDiffs } = computedEdits
  const each = editDiffs && { edits: editDiffs.map(previewOf) }
  return { files: [{ path, change: 'edit', ...previewOf(computedEdits), ...each }] }
}

const previewOf = ({ diff, added, removed, moreLines = 0 }: CountedDiff): EditPreview => ({
  added,
  removed,
  diff,
  ...(moreLines > 0 && { moreLines }),
})

/** The fields of one edit. */
export const editProperties: JsonSchema = {
  old_string: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
  new_string: { type: 'string', description: 'The text to replace it with.' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence. Default false: there must be exactly one.' },
}

/** Refuses an unpaired surrogate: no UTF-8 file can contain one, and no edit may cut a pair in half. */
export function refuseUnpairedSurrogates(input: Readonly<Record<string, unknown>>): ToolCheck | undefined {
  for (const field of ['old_string', 'new_string']) {
    const value = input[field]
    if (typeof value !== 'string' || value.isWellFormed()) continue
    const position = value.search(/\p{Surrogate}/u)
    const code = value.charCodeAt(position).toString(16)
    return {
      valid: false,
      error: `"${field}" has an unpaired surrogate (\\u${code}) at ${position}; write the whole character`,
    }
  }
  return undefined
}

interface Refusal {
  readonly type: 'refused'
  readonly index: number
  readonly reason: string
}

interface ComputedEdits extends CountedDiff {
  readonly type: 'computed'
  readonly file: LosslessText
  /** The text of the file after all edits. */
  readonly text: string
  readonly appliedEdits: readonly AppliedEdit[]
  /** The outcome of each edit, if there are decisions about them. */
  readonly outcomes?: readonly EditOutcome[]
  /** What each edit changes, with `diffEachEdit`. */
  readonly editDiffs?: readonly CountedDiff[]
}

/** Throws if the file does not exist, or cannot be edited as text without changing other bytes. */
async function readEditable(
  current: CurrentFile | undefined,
  path: string,
  [first]: readonly EditInput[],
  ctx: PreviewContext,
): Promise<LosslessText> {
  if (!current && first?.old_string === '') throw new Error(`there is no "${path}"; create it with write_file`)
  if (!current) throw await noSuchFile(path, ctx)
  const bytes = await current.bytes()
  const { losslessText } = await import('./text/encoding.ts')
  const file = losslessText(bytes)
  if (!file) throw new Error(`"${path}" is not a text file, so it cannot be edited; use a command instead`)
  // A context without `openFile` decodes the file itself and has replaced the bytes that it could not decode.
  if (!ctx.execution.openFile && file.text.includes('\uFFFD'))
    throw new Error(
      `"${path}" contains bytes that are not UTF-8, or the character U+FFFD, and cannot be edited here without damage; use a command instead`,
    )
  return file
}

interface ComputeOptions {
  /** A person's decision about each edit: only the allowed edits are applied. Absent: either all edits are applied, or none. */
  readonly decisions?: readonly EditDecision[] | undefined
  /** Also compute what each edit changes. */
  readonly diffEachEdit?: boolean
}

/** Applies the edits to the text of the file. Computes the diff too, so that the call can return right after the write. */
async function computeEdits(
  file: LosslessText,
  path: string,
  inputs: readonly EditInput[],
  { signal }: PreviewContext,
  { decisions, diffEachEdit = false }: ComputeOptions,
): Promise<ComputedEdits | Refusal> {
  const { replaceText } = await import('./matching/replace.ts')
  const options: ReplaceOptions = {
    display: file.decodeForDisplay,
    // `encodeWithinLimit` checks the limit, which is in bytes. A text with more characters than that is refused before it is built.
    maxLength: maxEditableBytes,
    reportLines: inputs.length === 1,
  }
  const replace: Replace = (text, edit) => replaceText(text, edit, options)
  const apply: Apply = (text, input) => applyEdit(file, text, input, replace)
  const yieldIfDue = createYielder(signal)
  const diffOf = (before: string, after: string, more?: DiffOptions): Promise<CountedDiff> =>
    countedDiff(path, file.decodeForDisplay(before), file.decodeForDisplay(after), more)
  const result = decisions
    ? await applyAllowed(file.text, inputs, decisions, { apply, yieldIfDue, diffOf })
    : await applyAll(file.text, inputs, { apply, yieldIfDue, ...(diffEachEdit && { diffOf }) })
  if (result.type === 'refused') return result
  return { ...result, type: 'computed', file, ...(await diffOf(file.text, result.text)) }
}

/** Applies all of the edits, or none. With `diffOf` also computes what each edit changes. */
async function applyAll(
  before: string,
  inputs: readonly EditInput[],
  { apply, yieldIfDue, diffOf }: Pick<EditFunctions, 'apply' | 'yieldIfDue'> & Partial<Pick<EditFunctions, 'diffOf'>>,
): Promise<Refusal | (Pick<ComputedEdits, 'text' | 'appliedEdits' | 'editDiffs'> & { readonly type: 'applied' })> {
  const appliedEdits: AppliedEdit[] = []
  const editDiffs: CountedDiff[] = []
  let text = before
  for (const [index, input] of inputs.entries()) {
    const result = apply(text, input)
    if (result.type === 'refused') return { type: 'refused', index, reason: result.reason }
    const { text: edited, ...edit } = result
    appliedEdits.push(edit)
    if (diffOf) editDiffs.push(await diffOf(text, edited, { maxChars: longestEditDiff }))
    text = edited
    await yieldIfDue()
  }
  return { type: 'applied', text, appliedEdits, ...(diffOf && { editDiffs }) }
}

/** A person cannot decide one by one about more edits than this. */
const maxDecidedEdits = 50
const longestEditDiff = 8192

/** Whether a person may decide about the edits one by one. */
export const allowsPerEditDecisions = ({ length }: readonly EditInput[]): boolean =>
  length > 1 && length <= maxDecidedEdits

/** Makes a function that lets other work run if no other work could run for `maxBlockMs`. */
function createYielder(signal: AbortSignal): () => Promise<void> {
  let lastYieldAt = performance.now()
  return async () => {
    if (performance.now() - lastYieldAt < maxBlockMs) return
    await yieldToEventLoop(signal)
    lastYieldAt = performance.now()
  }
}

/** The event loop is blocked at most this long, unless a single edit takes longer. */
const maxBlockMs = 50

function encodeWithinLimit(path: string, { file, text }: ComputedEdits): Uint8Array {
  const bytes = file.encode(text)
  if (bytes.length <= maxEditableBytes) return bytes
  throw new Error(
    `"${path}" was left as it is: it would have ${bytes.length} bytes, more than the maximum of ${maxEditableBytes} for an edit; use a command instead`,
  )
}

type Replace = (text: string, edit: TextEdit) => Replaced | NotReplaced

function applyEdit(file: LosslessText, text: string, input: EditInput, replace: Replace): Replaced | NotReplaced {
  const { old_string, new_string, replace_all: all = false } = input
  if (file.encoding !== 'unknown') return replace(text, { old: old_string, new: new_string, all })
  // Not all of the file is UTF-8: it may be Latin-1, or a mixture. So `text` has one character for each byte of the file.
  // `encodeAsFileText` does the same with the strings of the edit: one character for each byte of their UTF-8 form. If an
  // old_string with non-ASCII characters is found, that part of the file is UTF-8, and new_string may be UTF-8 too. If old_string
  // is ASCII, nothing tells how to encode non-ASCII characters of new_string.
  if (!isAscii(new_string) && isAscii(old_string))
    return {
      type: 'refused',
      reason:
        'parts of the file are not UTF-8, so it is unknown how to encode the non-ASCII characters of new_string; use a command instead',
    }
  const result = replace(text, { old: file.encodeAsFileText(old_string), new: file.encodeAsFileText(new_string), all })
  if (result.type === 'replaced' || !old_string.includes('\uFFFD')) return result
  return {
    ...result,
    reason: `${result.reason}\n\uFFFD stands for bytes that are not UTF-8; old_string cannot contain them, so leave them out`,
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)
