import { posix } from 'node:path'
import type { ToolContext, ToolDef, ToolResult } from '../../core/tool.ts'
import { boundedKey } from '../../platform/digest.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { definePlugin, type PluginDefinition, type PluginSetup } from '../plugin.ts'
import { innerPath, runGit } from './run-git.ts'
import { workspaceFolder } from './workspace-folder.ts'

const mostLines = 500

const description = `Reads a file as it was at a commit of the git repository, at most ${mostLines} lines at once.
Find commits with git-log. What is not committed yet is not seen.`

const inputSchema = {
  type: 'object',
  properties: {
    workspaceName: { type: 'string', description: 'The wiki whose folder is meant. Default: your working directory.' },
    path: { type: 'string', description: 'The file, relative to that folder.' },
    ref: { type: 'string', description: 'A commit, a branch or a tag. Default HEAD.' },
    startLine: { type: 'integer', description: 'From 1. Default 1.' },
    endLine: { type: 'integer', description: `Default: ${mostLines} lines from the first.` },
  },
  required: ['path'],
}

interface GitReadFileInput {
  readonly workspaceName?: string
  readonly path: string
  readonly ref?: string
  readonly startLine?: number
  readonly endLine?: number
}

/** Reads files from the history of a repository. Runs no program that the repository configures. */
export const gitReadFilePlugin: PluginDefinition = definePlugin({
  toolId: 'git-read-file',
  displayName: 'Files in git',
  description: 'Reads a file as it was at a commit.',
  tools: (setup) => [gitReadFileTool(setup)],
})

function gitReadFileTool({ services }: PluginSetup): ToolDef<GitReadFileInput> {
  return {
    spec: { name: 'git-read-file', description, inputSchema },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    // The folder of a wiki is not known here; a call that names one counts as reading outside.
    touches: ({ workspaceName, path }) => (workspaceName ? [] : [{ path, access: 'read' }]),
    deriveApprovalKey: ({ workspaceName = '', path }) =>
      boundedKey(`${workspaceName.replace(/[%/:]/g, encodeURIComponent)}/${posix.dirname(posix.normalize(path))}`),
    timeoutMs: 60_000,
    async execute(input, ctx) {
      const folder = await workspaceFolder(services, input.workspaceName)
      const blob = await blobAt(input, folder, ctx)
      const args = ['cat-file', 'blob', blob.id]
      const { text } = await runGit({ args, folder, maxBytes: maxFileBytes }, ctx)
      const details = { path: input.path, ref: input.ref ?? 'HEAD', bytes: blob.size }
      if (text.slice(0, 8000).includes('\0')) return { output: `[binary file: ${blob.size} bytes]`, details }
      if (blob.isLink) return { output: `[a link to ${visibleName(text.slice(0, 1000))}]`, details }
      return linesOf(text, input, details)
    },
  }
}

const maxFileBytes = 10 * 1024 * 1024

interface Blob {
  readonly id: string
  readonly size: number
  readonly isLink: boolean
}

async function blobAt({ path, ref }: GitReadFileInput, folder: string | undefined, ctx: ToolContext): Promise<Blob> {
  const at = ref || 'HEAD'
  const where = `"${visibleName(path.slice(0, 200))}" at ${visibleName(at.slice(0, 200))}`
  const inner = innerPath(path)
  // Only a commit: with a tree, such as HEAD:secrets, the path would name another file than the one that was allowed.
  const args = ['ls-tree', '-l', '-z', '--end-of-options', `${at}^{commit}`, '--', inner.replace(/\/$/, '')]
  const { text } = await runGit({ args, folder, maxBytes: 65_536 }, ctx).catch((error) => {
    if (!/Not a valid object name/.test(String(error))) throw error
    throw new Error(
      `there is no commit, branch or tag ${visibleName(at.slice(0, 200))}; see which commits there are with git-log`,
    )
  })
  const [, mode, type, id, size] = /^(\d+) (\w+) ([0-9a-f]+) +(\S+)\t/.exec(text) ?? []
  if (!id) throw new Error(`there is no file ${where}; see with git-log and its path when it was there`)
  if (type === 'tree') throw new Error(`${where} is a folder; name a file in it`)
  if (type !== 'blob') throw new Error(`${where} is a repository of its own (a submodule), not a file`)
  if (!/^\d+$/.test(size ?? '')) throw new Error(`${where} is not in this clone of the repository, and is not fetched`)
  if (Number(size) > maxFileBytes)
    throw new Error(`${where} has ${size} bytes, more than the ${maxFileBytes} that can be read`)
  return { id, size: Number(size), isLink: mode === '120000' }
}

function linesOf(text: string, input: GitReadFileInput, details: object): ToolResult {
  const { startLine = 1, endLine } = input
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) return { output: '(empty file)', details }
  const first = Math.max(1, startLine)
  if (first > lines.length)
    throw new Error(
      `startLine ${first} is beyond the end: the file has ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`,
    )
  if (endLine !== undefined && endLine < first)
    throw new Error(`endLine ${endLine} comes before startLine ${first}; give a later one, or leave it out`)
  const asked = Math.min(endLine ?? lines.length, lines.length)
  const shown = fitting(lines.slice(first - 1, Math.min(asked, first + mostLines - 1)))
  const last = first + shown.length - 1
  const range = { first, last, total: lines.length }
  const output = visibleText(shown.join('\n'))
  const isAll = first === 1 && last === lines.length
  const more = last < asked ? `; go on with startLine=${last + 1}` : ''
  const note = isAll ? '' : `\n\n(lines ${first}-${last} of ${lines.length}${more})`
  return { output: output + note, details: { ...details, lines: range } }
}

const longestLine = 4000
const mostCharacters = 262_144

/** As many lines as fit, at least one; a line that is too long is cut, with a note. */
function fitting(lines: readonly string[]): string[] {
  const kept: string[] = []
  let size = 0
  for (const line of lines) {
    const shown = line.length > longestLine ? `${line.slice(0, longestLine)}… [${line.length} characters]` : line
    size += shown.length + 1
    if (size > mostCharacters && kept.length > 0) break
    kept.push(shown)
  }
  return kept
}
