import type { ToolDef } from '../../core/tool.ts'
import { boundedKey } from '../../platform/digest.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { definePlugin, type PluginDefinition, type PluginSetup } from '../plugin.ts'
import { innerPath, runGit } from './run-git.ts'
import { workspaceFolder } from './workspace-folder.ts'

const description = `Shows commits of the git repository, newest first: hash, date, author and subject.
See a file as it was at one of them with git-read-file.`

const defaultLimit = 20
const mostCommits = 200

const inputSchema = {
  type: 'object',
  properties: {
    workspaceName: { type: 'string', description: 'The wiki whose folder is meant. Default: your working directory.' },
    limit: { type: 'integer', description: `How many commits. Default ${defaultLimit}, at most ${mostCommits}.` },
    path: { type: 'string', description: 'Only commits that changed this file or folder.' },
    ref: { type: 'string', description: 'Where to begin: a branch, a tag, a commit, or a range a..b. Default HEAD.' },
    since: { type: 'string', description: 'Only commits after this date, such as 2024-05-01 or "2 weeks ago".' },
    until: { type: 'string', description: 'Only commits before this date.' },
    author: { type: 'string', description: 'Only commits whose author has this text in name or address.' },
  },
}

interface GitLogInput {
  readonly workspaceName?: string
  readonly limit?: number
  readonly path?: string
  readonly ref?: string
  readonly since?: string
  readonly until?: string
  readonly author?: string
}

interface GitCommit {
  readonly hash: string
  readonly author: string
  /** ISO 8601. */
  readonly date: string
  readonly subject: string
}

/** Lists the history of a repository. Runs no program that the repository configures. */
export const gitLogPlugin: PluginDefinition = definePlugin({
  toolId: 'git-log',
  displayName: 'Git history',
  description: 'Lists commits of a repository.',
  tools: (setup) => [gitLogTool(setup)],
})

function gitLogTool({ services }: PluginSetup): ToolDef<GitLogInput> {
  return {
    spec: { name: 'git-log', description, inputSchema },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    // The folder of a wiki is not known here; a call that names one counts as reading outside.
    touches: ({ workspaceName, path = '.' }) => (workspaceName ? [] : [{ path, access: 'read' }]),
    deriveApprovalKey: ({ workspaceName = '' }) => boundedKey(`git-log ${workspaceName}`),
    timeoutMs: 30_000,
    async execute(input, ctx) {
      const folder = await workspaceFolder(services, input.workspaceName)
      const limit = Math.min(Math.max(1, Math.floor(input.limit ?? defaultLimit)), mostCommits)
      // One more than asked for, to know whether there are more.
      const { text, isCut } = await runGit({ args: logArgs(input, limit + 1), folder, maxBytes }, ctx)
      const found = commitsIn(text)
      const commits = found.slice(0, limit)
      const output = commits.map(lineOf).join('\n') || noneOf(input)
      const note = isCut || found.length > limit ? `\n\n(${commits.length} commits are shown, there are more)` : ''
      return { output: output + note, details: { commits } }
    },
  }
}

const maxBytes = 2 * 1024 * 1024

function logArgs({ path, ref, since, until, author }: GitLogInput, count: number): string[] {
  const fields = ['%H', '%an', '%aI', '%s'].join('%x00')
  return [
    ...['log', '-z', `--format=${fields}`, `--max-count=${count}`, '--encoding=UTF-8'],
    ...['--no-color', '--no-decorate', '--no-notes', '--no-mailmap', '--no-show-signature', '--no-patch'],
    ...['--no-ext-diff', '--no-textconv', '--fixed-strings', '--regexp-ignore-case'],
    ...(since ? [`--since=${since}`] : []),
    ...(until ? [`--until=${until}`] : []),
    ...(author ? [`--author=${author}`] : []),
    ...['--end-of-options', ref || 'HEAD', '--'],
    ...(path ? [innerPath(path)] : []),
  ]
}

/** Leaves out a commit that was cut off. */
function commitsIn(text: string): GitCommit[] {
  const fields = text.split('\0')
  const commits: GitCommit[] = []
  for (let i = 0; i + 4 < fields.length; i += 4) {
    const [hash = '', author = '', date = '', subject = ''] = fields.slice(i, i + 4)
    commits.push({ hash, author: short(author, 100), date, subject: short(subject, 300) })
  }
  return commits
}

function short(text: string, most: number): string {
  const shown = visibleName(text.slice(0, most + 1))
  return text.length > most ? `${shown.slice(0, most)}…` : shown
}

const lineOf = ({ hash, author, date, subject }: GitCommit): string =>
  `${hash.slice(0, 12)} ${date} ${author}: ${subject}`

function noneOf({ path, since, until, author }: GitLogInput): string {
  return path || since || until || author
    ? '(no commit fits; ask for more of them with fewer conditions)'
    : '(no commits)'
}
