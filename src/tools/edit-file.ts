import type { TouchedFile } from '../core/file-touch.ts'
import type { JsonSchema, ToolCheck, ToolContext } from '../core/tool.ts'
import { type ChangeContext, changeFile, type PresentFile } from './keyed-write.ts'
import { unifiedDiff } from './text/diff.ts'
import { type LosslessText, losslessText } from './text/lossless-text.ts'
import { type NotReplaced, type Replaced, replaceText, type TextEdit } from './text/replace.ts'

/** One edit as a model writes it. */
export interface EditInput {
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** What became of the edits. */
export type EditedFile =
  | { readonly type: 'edited'; readonly edits: readonly Replaced[]; readonly details: EditDetails }
  /** This call had made its edits before its process died; nothing was done now. */
  | { readonly type: 'edited before'; readonly details: Pick<EditDetails, 'file'> }
  /** The edit with this index cannot be made, so none was. */
  | { readonly type: 'refused'; readonly index: number; readonly reason: string }

/** What screens are told of edits that were made. */
export interface EditDetails {
  readonly file: TouchedFile
  readonly replacements: number
  /** Of what changed in the file, whatever was asked for. */
  readonly diff: string
}

/** Makes all of the edits, each on the result of the one before, or none. */
export async function editFile(ctx: ToolContext, path: string, inputs: readonly EditInput[]): Promise<EditedFile> {
  const plan: { made?: MadeEdits | Refusal } = {}
  const changed = await changeFile(ctx, { path, access: 'edit' }, async (present) => {
    const content = await contentOf(present, path, inputs, ctx)
    if (!content) return 'no change'
    plan.made = applied(content, inputs)
    const { made } = plan
    return made.type === 'refused' || made.text === content.text ? 'no change' : content.encode(made.text)
  })
  const { file } = changed
  const { made } = plan
  if (!made) return { type: 'edited before', details: { file } }
  if (made.type === 'refused') return made
  const { edits, content } = made
  const replacements = edits.reduce((sum, { count }) => sum + count, 0)
  const diff = await unifiedDiff(path, content.shown(content.text), content.shown(made.text))
  return { type: 'edited', edits, details: { file, replacements, diff } }
}

/** The fields of one edit. */
export const editProperties: JsonSchema = {
  old_string: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
  new_string: { type: 'string', description: 'What takes its place.' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence. Default false: there must be exactly one.' },
}

/** No file can hold half of a surrogate pair, and none is to be cut in half. */
export function refuseHalfCharacters(input: Readonly<Record<string, unknown>>): ToolCheck | undefined {
  for (const field of ['old_string', 'new_string']) {
    const value = input[field]
    if (typeof value !== 'string' || value.isWellFormed()) continue
    const at = value.search(/\p{Surrogate}/u)
    const code = value.charCodeAt(at).toString(16)
    return { valid: false, error: `"${field}" has half a character (\\u${code}) at ${at}; write the whole character` }
  }
  return undefined
}

type Refusal = Extract<EditedFile, { type: 'refused' }>

interface MadeEdits {
  readonly type: 'made'
  readonly content: LosslessText
  readonly text: string
  readonly edits: readonly Replaced[]
}

/** `undefined` when there is no file. */
async function contentOf(
  present: PresentFile | undefined,
  path: string,
  [first]: readonly EditInput[],
  { execution }: ChangeContext,
): Promise<LosslessText | undefined> {
  if (!present && first?.old_string === '') throw new Error(`there is no "${path}"; create it with write_file`)
  if (!present) return undefined
  const bytes = await present.bytes()
  const content = losslessText(bytes)
  if (!content) throw new Error(`"${path}" is not a text file, so it cannot be edited; use a command instead`)
  // Such a context decodes for us, and what it could not decode is lost to us.
  if (!execution.openFile && content.text.includes('\uFFFD'))
    throw new Error(
      `"${path}" holds bytes that are not UTF-8, or the character U+FFFD, and cannot be edited here without damage; use a command instead`,
    )
  return content
}

function applied(content: LosslessText, inputs: readonly EditInput[]): MadeEdits | Refusal {
  const edits: Replaced[] = []
  let { text } = content
  for (const [index, input] of inputs.entries()) {
    const result = appliedOne(content, text, input)
    if (result.type === 'refused') return { type: 'refused', index, reason: result.reason }
    edits.push(result)
    text = result.text
  }
  return { type: 'made', content, text, edits }
}

function appliedOne(content: LosslessText, text: string, input: EditInput): Replaced | NotReplaced {
  const { old_string, new_string, replace_all: all = false } = input
  if (content.encoding !== 'unknown') return replaceText(text, { old: old_string, new: new_string, all })
  // Where the old text is UTF-8 beyond ASCII, the place is, and the new text may be too.
  if (!isAscii(new_string) && isAscii(old_string))
    return {
      type: 'refused',
      reason:
        'new_string has characters beyond ASCII, and the file is not all UTF-8, so nobody knows how to write them there; use a command instead',
    }
  const edit: TextEdit = { old: content.own(old_string), new: content.own(new_string), all }
  const result = replaceText(text, edit, content.shown)
  if (result.type === 'replaced' || !old_string.includes('\uFFFD')) return result
  return {
    ...result,
    reason: `${result.reason}\nWhat is shown as \uFFFD are bytes that are not UTF-8; they cannot be given in old_string, so leave them out`,
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)
