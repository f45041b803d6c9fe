import { nearest } from '../../core/nearest.ts'
import type { ToolCheck, ToolDef } from '../../core/tool.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { codingTools } from '../../presets/coding.ts'
import { type MultiEditInput, multiEdit } from '../../tools/multi-edit.ts'
import { createReadFileTool } from '../../tools/read-file.ts'
import { createShellTool } from '../../tools/shell.ts'
import { UsageError } from '../cli-error.ts'

/** Our tool names and those of zot, which clients and the model see. The log keeps ours. */
export const zotAliases: Readonly<Record<string, string>> = { shell: 'bash', read_file: 'read', write_file: 'write' }

/** The tools of an agent behind zot's protocol: zot's tools with zot's input schemas, and the rest of ours. */
export function zotTools(selection: ToolSelection = {}): Readonly<Record<string, ToolDef>> {
  if (selection.none) return {}
  const { shell: _, shellOutput: __, shellStop: ___, multiEdit: ____, ...others } = codingTools
  const all = Object.values({ ...others, shell: bash, readFile: read(), edit: zotEdit } as Record<string, ToolDef>)
  return byName(selection.only === undefined ? all : chosen(all, selection.only))
}

/** The flags about tools. */
interface ToolSelection {
  readonly none?: boolean
  /** Names separated by commas, zot's or ours. */
  readonly only?: string
}

function read(): ToolDef {
  const tool = createReadFileTool({ limit: maxLines, maxBytes: maxBytes })
  const { maxBytes: _, ...properties } = tool.spec.inputSchema.properties as Record<string, unknown>
  return { ...tool, spec: { ...tool.spec, inputSchema: { ...tool.spec.inputSchema, properties } } }
}

function chosen(tools: readonly ToolDef[], only: string): ToolDef[] {
  const names = only.split(',').flatMap((name) => name.trim() || [])
  const known = tools.flatMap(({ spec: { name } }) => [shownAs(name), name])
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const [meant] = nearest(unknown, known, 1)
    const all = tools.map(({ spec }) => shownAs(spec.name)).join(', ')
    throw new UsageError(
      `--tools: there is no tool "${visibleName(unknown)}"${meant === undefined ? '' : `; did you mean ${meant}?`} There are ${all}`,
    )
  }
  return tools.filter(({ spec: { name } }) => names.includes(name) || names.includes(shownAs(name)))
}

const shownAs = (name: string): string => zotAliases[name] ?? name

const byName = (tools: readonly ToolDef[]): Record<string, ToolDef> =>
  Object.fromEntries(tools.map((tool) => [tool.spec.name, tool]))

/** The maximum that zot shows of a file or of a command's output. */
const maxLines = 2000
const maxBytes = 50 * 1024

const bashDescription = `Runs a shell command; stdout and stderr come as one, and only the end if it is long.
There is no terminal and nothing to type into it: pass flags such as --yes, and no editors or pagers.
Every command starts anew in the working directory; cd and variables are not kept. What a command leaves running is stopped.`

/** Seconds. */
const maxTimeout = 600

const shell = createShellTool({ maxOutputBytes: maxBytes, maxTimeoutMs: maxTimeout * 1000, background: false })

interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
}

/** The shell with zot's input schema. Its canonical name is `shell`; the model and clients see `bash`. */
const bash: ToolDef<BashInput> = {
  ...shell,
  spec: {
    name: 'shell',
    description: bashDescription,
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string' },
        timeout: { type: 'number', description: `Seconds. Default 120, at most ${maxTimeout}.` },
      },
      required: ['command'],
    },
  },
  async execute({ command, timeout }, ctx) {
    const limit = timeout !== undefined && timeout > 0 && { timeout: Math.max(Math.round(timeout * 1000), 1) }
    const ended = (await shell.execute({ command, ...limit }, ctx)) as EndedCommand
    return { ...ended, output: textOf(command, ended) }
  },
}

/** The result of the shell tool. */
interface EndedCommand {
  readonly output: string
  readonly isError: boolean
  readonly details: {
    readonly exitCode: number | null
    readonly durationMs: number
    readonly signal?: string
    readonly timedOut?: boolean
  }
}

function textOf(command: string, { output, details }: EndedCommand): string {
  const { exitCode, durationMs, signal, timedOut } = details
  // The last lines say how the command ended; the search from the end for the duration finds them.
  const at = output.lastIndexOf('\n(', output.lastIndexOf(`, ${durationMs}ms)`))
  const body = at < 0 ? output : output.slice(0, at)
  const notes =
    at < 0
      ? []
      : output
          .slice(at + 1)
          .split('\n')
          .slice(1)
  const end = exitCode ?? -1
  const why = timedOut ? ' timed out' : signal === undefined ? '' : ` killed by ${signal}`
  return [
    `$ ${command}`,
    lastLines(body === '(no output)' ? '' : body),
    ...notes.filter((note) => !note.startsWith('(it was stopped;')),
    timedOut
      ? `(it was stopped; the output is what came until then; ask for more with timeout, up to ${maxTimeout})`
      : '',
    `[exit ${end}]${why} ${(durationMs / 1000).toFixed(2)}s`,
  ]
    .filter((part, i) => i === 0 || part !== '')
    .join('\n')
}

function lastLines(text: string): string {
  const lines = text.split('\n')
  if (lines.length <= maxLines) return text
  return [`…(${lines.length - maxLines} lines truncated from head)…`, ...lines.slice(-maxLines)].join('\n')
}

const editDescription = `Makes edits to one file, in the order given, each on the result of the one before. If one of them fails, none is made.
Each oldText must be in the file exactly once at its turn, including its indentation: include surrounding lines until it is unique.
Leave out the line numbers that read shows. The rest of the file stays byte for byte as it is.`

interface ZotEditInput extends Omit<MultiEditInput, 'edits'> {
  readonly edits: readonly ZotEdit[]
}

interface ZotEdit {
  readonly oldText: string
  readonly newText: string
}

/** `edit` with zot's input schema: several replacements in a file, all or none. */
const zotEdit: ToolDef<ZotEditInput> = {
  ...(multiEdit as Pick<
    ToolDef,
    'isConcurrencySafe' | 'replay' | 'effects' | 'timeoutMs' | 'touches' | 'deriveApprovalKey'
  >),
  spec: {
    name: 'edit',
    description: editDescription,
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
              newText: { type: 'string', description: 'The text to replace it with.' },
            },
            required: ['oldText', 'newText'],
          },
        },
      },
      required: ['path', 'edits'],
    },
  },
  check(input): ToolCheck | undefined {
    const edits = (input.edits as readonly unknown[]).map((edit) => toOurEdit(readEdit(edit)))
    const checked = multiEdit.check?.({ ...input, edits })
    if (!checked) return undefined
    if (!checked.valid) return { valid: false, error: inZotTerms(checked.error) }
    const repaired = checked.input?.edits as MultiEditInput['edits'] | undefined
    return { valid: true, ...(repaired && { input: { ...input, edits: repaired.map(toZotEdit) } }) }
  },
  countEdits: (input) => multiEdit.countEdits?.(inOurForm(input)) ?? 0,
  preview: (input, ctx) => withZotErrors(async () => multiEdit.preview?.(inOurForm(input), ctx)),
  execute: (input, ctx) =>
    withZotErrors(async () => {
      const result = (await multiEdit.execute(inOurForm(input), ctx)) as Edited
      return { ...result, output: inZotTerms(result.output) }
    }),
}

const inOurForm = ({ edits, ...rest }: ZotEditInput): MultiEditInput => ({
  ...rest,
  edits: edits.map(({ oldText, newText }) => ({ old_string: oldText, new_string: newText })),
})

async function withZotErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Error ? new Error(inZotTerms(error.message), { cause: error }) : error
  }
}

type Edited = { readonly output: string; readonly isError?: boolean; readonly details?: unknown }

/** Any value is accepted here; `check` reports what is wrong with it. */
const readEdit = (edit: unknown): Partial<ZotEdit> => (typeof edit === 'object' && edit !== null ? edit : {})

function toOurEdit({ oldText, newText }: Partial<ZotEdit>): Record<string, unknown> {
  return {
    ...(oldText !== undefined && { old_string: oldText }),
    ...(newText !== undefined && { new_string: newText }),
  }
}

const toZotEdit = ({ old_string, new_string }: MultiEditInput['edits'][number]): ZotEdit => ({
  oldText: old_string,
  newText: new_string,
})

/** Replaces our field and tool names in a message by zot's. */
function inZotTerms(text: string): string {
  return text
    .replaceAll(', or set replace_all to replace all of them', '')
    .replaceAll(/\bold_string\b/g, 'oldText')
    .replaceAll(/\bnew_string\b/g, 'newText')
    .replaceAll(/\bwrite_file\b/g, 'write')
    .replace(/^multi_edit error:/, 'edit error:')
}
