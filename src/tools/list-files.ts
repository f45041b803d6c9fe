import { codeOf } from '../core/errors.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import { visibleName } from '../platform/visible-text.ts'
import { folderKey } from './approval-keys.ts'
import { fileProblem, shownPath } from './file-problem.ts'

const description = `Lists what is directly in a folder, hidden files too, sorted by name. Folders end with a slash.`

/** A longer listing is cut. */
const maxNames = 1000

export interface ListFilesInput {
  readonly path?: string
}

/** A tool that lists a folder. */
export const listFiles: ToolDef<ListFilesInput> = {
  spec: {
    name: 'list_files',
    description,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'The folder. Default: the working directory.' } },
    },
  },
  isConcurrencySafe: true,
  replay: 'pure',
  effects: ['fs.read'],
  timeoutMs: 30_000,
  touches: ({ path }) => [{ path: folderOf(path), access: 'search' }],
  deriveApprovalKey: ({ path }) => folderKey(path),
  async execute(input, ctx) {
    const path = folderOf(input.path)
    const names = await namesIn(path, ctx)
    return { output: shown(names, path), details: { count: names.length } }
  },
}

/** Some models give an empty path for the working directory. */
const folderOf = (path: string | undefined): string => path || '.'

async function namesIn(path: string, ctx: ToolContext): Promise<readonly string[]> {
  try {
    return await ctx.execution.listFiles(ctx.handle, path)
  } catch (error) {
    if (await isFile(error, path, ctx)) throw new Error(`${shownPath(path)} is a file, not a folder`)
    throw await fileProblem(error, path, ctx)
  }
}

/** `ENOTDIR` may refer to a part of the path. A context without `stat` reports `ENOENT` for a file. */
async function isFile(error: unknown, path: string, { execution, handle }: ToolContext): Promise<boolean> {
  const code = codeOf(error)
  if (code !== 'ENOTDIR' && code !== 'ENOENT') return false
  const isOther = execution.stat
    ? execution.stat(handle, path).then(({ kind }) => kind !== 'folder')
    : code === 'ENOENT' && execution.readFile(handle, path).then(() => true)
  return Promise.resolve(isOther).catch(() => false)
}

function shown(names: readonly string[], path: string): string {
  if (names.length === 0) return `("${visibleName(path)}" is an empty folder)`
  const some = names.slice(0, maxNames)
  const lines = some.map(visibleName)
  const notes: string[] = []
  if (names.length > some.length)
    notes.push(`the first ${some.length} of ${names.length} names; look for the others by pattern`)
  if (lines.some((line, i) => line !== some[i])) notes.push('control characters in names are shown escaped')
  return notes.length > 0 ? `${lines.join('\n')}\n\n(${notes.join('; ')})` : lines.join('\n')
}
