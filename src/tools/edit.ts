import type { ToolDef } from '../core/tool.ts'
import { parentKey } from './approval-keys.ts'
import {
  type AppliedEdit,
  type EditInput,
  editFile,
  editProperties,
  previewEdits,
  refuseUnpairedSurrogates,
} from './edit-file.ts'
import { formatLineNumbers } from './matching/text-lines.ts'

const description = `Replaces a piece of text in a file.
old_string must be in the file exactly once, including its indentation: include surrounding lines until it is unique, or set replace_all to replace every occurrence.
Leave out the line numbers that read_file shows. The rest of the file stays byte for byte as it is, and new lines get the line endings of the file.`

/** A tool that replaces a text in a file. */
export const edit: ToolDef<EditInput & { readonly path: string }> = {
  spec: {
    name: 'edit',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file; a relative path counts from the working directory.' },
        ...editProperties,
      },
      required: ['path', 'old_string', 'new_string'],
    },
  },
  isConcurrencySafe: false,
  replay: 'keyed',
  effects: ['fs.read', 'fs.write'],
  timeoutMs: 30_000,
  touches: ({ path }) => [{ path, access: 'edit' }],
  deriveApprovalKey: ({ path }) => parentKey(path),
  check: refuseUnpairedSurrogates,
  async preview({ path, ...input }, ctx) {
    const preview = await previewEdits(ctx, path, [input])
    if ('files' in preview) return preview
    throw refused(path, preview.reason)
  },
  async execute({ path, ...input }, ctx) {
    const outcome = await editFile(ctx, path, [input])
    if (outcome.type === 'refused') throw refused(path, outcome.reason)
    const { type, details } = outcome
    if (type === 'edited by earlier attempt')
      return { output: `Edited ${path} (an earlier attempt of this call had already done it)`, details }
    return { output: answer(path, outcome.appliedEdits[0]!), details }
  },
}

const refused = (path: string, reason: string): Error => new Error(`"${path}" was left as it is: ${reason}`)

function answer(path: string, { count, lineNumbers, moreLineNumbers, note }: AppliedEdit): string {
  const done = `Edited ${path} (${count === 1 ? '1 replacement' : `${count} replacements`}, ${formatLineNumbers(lineNumbers, moreLineNumbers)})`
  return note === undefined ? done : `${done}\n${note}`
}
