import type { ToolCheck, ToolDef } from '../../core/tool.ts'
import { type MultiEditInput, multiEdit } from '../../tools/multi-edit.ts'

const description = `Makes edits to one file, in the order given, each on the result of the one before. When one of them fails none is made.
Each oldText must be in the file exactly once at its turn, indentation and all: take in lines around it until it is.
Leave out the line numbers that read shows. The rest of the file stays byte for byte as it is.`

interface ZotEditInput {
  readonly path: string
  readonly edits: readonly ZotEdit[]
}

interface ZotEdit {
  readonly oldText: string
  readonly newText: string
}

/** `edit` in zot's shape: several replacements in a file, all or nothing. */
export const zotEdit: ToolDef<ZotEditInput> = {
  ...(multiEdit as Pick<
    ToolDef,
    'isConcurrencySafe' | 'replay' | 'effects' | 'timeoutMs' | 'touches' | 'deriveApprovalKey'
  >),
  spec: {
    name: 'edit',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file; a relative path counts from the working directory.' },
        edits: {
          type: 'array',
          description: 'The edits, in order.',
          items: {
            type: 'object',
            properties: {
              oldText: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
              newText: { type: 'string', description: 'What takes its place.' },
            },
            required: ['oldText', 'newText'],
          },
        },
      },
      required: ['path', 'edits'],
    },
  },
  check(input): ToolCheck | undefined {
    const edits = (input.edits as readonly unknown[]).map((edit) => ours(readEdit(edit)))
    const checked = multiEdit.check?.({ ...input, edits })
    if (!checked) return undefined
    if (!checked.valid) return { valid: false, error: inZotsWords(checked.error) }
    const mended = checked.input?.edits as MultiEditInput['edits'] | undefined
    return { valid: true, ...(mended && { input: { ...input, edits: mended.map(zots) } }) }
  },
  async execute({ path, edits }, ctx) {
    try {
      const inOurs = edits.map(({ oldText, newText }) => ({ old_string: oldText, new_string: newText }))
      const result = (await multiEdit.execute({ path, edits: inOurs }, ctx)) as Edited
      return { ...result, output: inZotsWords(result.output) }
    } catch (error) {
      throw error instanceof Error ? new Error(inZotsWords(error.message), { cause: error }) : error
    }
  },
}

type Edited = { readonly output: string; readonly isError?: boolean; readonly details?: unknown }

/** Whatever a model put there; what is wrong with it says the check. */
const readEdit = (edit: unknown): Partial<ZotEdit> => (typeof edit === 'object' && edit !== null ? edit : {})

function ours({ oldText, newText }: Partial<ZotEdit>): Record<string, unknown> {
  return {
    ...(oldText !== undefined && { old_string: oldText }),
    ...(newText !== undefined && { new_string: newText }),
  }
}

const zots = ({ old_string, new_string }: MultiEditInput['edits'][number]): ZotEdit => ({
  oldText: old_string,
  newText: new_string,
})

/** What our own edit says is about its own fields. */
function inZotsWords(text: string): string {
  return text
    .replaceAll(', or set replace_all to replace all of them', '')
    .replaceAll(/\bold_string\b/g, 'oldText')
    .replaceAll(/\bnew_string\b/g, 'newText')
    .replaceAll(/\bwrite_file\b/g, 'write')
    .replace(/^multi_edit error:/, 'edit error:')
}
