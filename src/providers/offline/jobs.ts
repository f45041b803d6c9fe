import { shellWord } from '../../core/execution.ts'
import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'

/** Something to do with a tool, independent of the tool's name. */
export type Job =
  | { readonly do: 'list'; readonly path: string }
  | { readonly do: 'read'; readonly path: string; readonly from?: number; readonly count?: number }
  | { readonly do: 'search'; readonly text: string; readonly path: string }
  | { readonly do: 'files'; readonly pattern: string; readonly path: string }
  | { readonly do: 'run'; readonly command: string }
  | {
      readonly do: 'replace'
      readonly path: string
      readonly from: string
      readonly to: string
      readonly isAll?: boolean
    }
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  | { readonly do: 'read notes' }
  | { readonly do: 'write notes'; readonly todos: readonly { content: string; status: string }[] }
  | { readonly do: 'fetch'; readonly url: string }
  | { readonly do: 'time' }
  | { readonly do: 'alarm'; readonly at: string; readonly text: string }
  | { readonly do: 'ask'; readonly question: string; readonly options: readonly string[] }
  | { readonly do: 'recent'; readonly wiki: string }

export interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** A call that does the job with one of the given tools, or the name of the missing tool. */
export function callFor(job: Job, tools: readonly ToolSpec[]): Call | { readonly missing: string } {
  for (const name of names[job.do]) {
    const tool = tools.find((one) => one.name === name)
    if (tool) return { name, input: inputFor(job, propertiesOf(tool.inputSchema)) }
  }
  const command = commandFor(job)
  const shell = command === undefined ? undefined : tools.find((one) => names.run.includes(one.name))
  if (shell)
    return { name: shell.name, input: inputFor({ do: 'run', command: command! }, propertiesOf(shell.inputSchema)) }
  return { missing: names[job.do][0]! }
}

/** Our names first, then those of other harnesses. */
const names: Readonly<Record<Job['do'], readonly string[]>> = {
  list: ['list_files', 'ls', 'list'],
  read: ['read_file', 'read'],
  search: ['grep', 'search'],
  files: ['glob', 'find_files'],
  run: ['shell', 'bash'],
  replace: ['edit', 'multi_edit'],
  write: ['write_file', 'write'],
  'read notes': ['todoread'],
  'write notes': ['todowrite'],
  fetch: ['web_fetch', 'web-fetch', 'fetch'],
  time: ['list-schedules'],
  alarm: ['alarm-clock'],
  ask: ['ask-question', 'ask_user'],
  recent: ['wiki-recent'],
}

/** A shell command for the job, if there is no tool for it. */
function commandFor(job: Job): string | undefined {
  switch (job.do) {
    case 'list':
      return `ls -Ap -- ${shellWord(job.path)}`
    case 'read':
      return `cat -- ${shellWord(job.path)}`
    case 'search':
      return `grep -rnF -- ${shellWord(job.text)} ${shellWord(job.path)}`
    case 'files':
      // A path that begins with one of these would be read as a part of the expression, such as `-delete`.
      return `find ${shellWord(/^[-(!,)]/.test(job.path) ? `./${job.path}` : job.path)} -type f -name ${shellWord(job.pattern.slice(job.pattern.lastIndexOf('/') + 1))}`
    default:
      return undefined
  }
}

type Properties = Readonly<Record<string, unknown>>

const propertiesOf = ({ properties }: JsonSchema): Properties => (isRecord(properties) ? properties : {})

/** The first of the names that the schema has, else the first. */
const field = (properties: Properties, ...candidates: [string, ...string[]]): string =>
  candidates.find((name) => Object.hasOwn(properties, name)) ?? candidates[0]

function inputFor(job: Job, properties: Properties): Record<string, unknown> {
  const path = field(properties, 'path', 'file_path', 'filePath', 'file', 'dir')
  switch (job.do) {
    case 'list':
      return { [path]: job.path }
    case 'read': {
      const offset = job.from !== undefined && { [field(properties, 'offset')]: job.from }
      const limit = job.count !== undefined && { [field(properties, 'limit')]: job.count }
      return { [path]: job.path, ...offset, ...limit }
    }
    case 'search': {
      const content = Object.hasOwn(properties, 'output_mode') && { output_mode: 'content' }
      return { [field(properties, 'pattern', 'query')]: escaped(job.text), [path]: job.path, ...content }
    }
    case 'files':
      return { pattern: job.pattern, [path]: job.path }
    case 'run':
      return { [field(properties, 'command', 'cmd')]: job.command }
    case 'replace':
      return { [path]: job.path, ...editFor(job, properties) }
    case 'write':
      return { [path]: job.path, [field(properties, 'content', 'text')]: job.text }
    case 'read notes':
      return {}
    case 'write notes':
      return { todos: job.todos }
    case 'fetch':
      return { url: job.url }
    case 'time':
      return {}
    case 'alarm':
      return { wakeAtISO: job.at, reminderMessage: job.text }
    case 'ask':
      return {
        question: job.question,
        ...(job.options.length > 0 && { options: job.options.map((label) => ({ label })) }),
      }
    case 'recent':
      return { workspaceName: job.wiki }
  }
}

/** One edit, or a list of one. */
function editFor(
  { from, to, isAll }: Extract<Job, { do: 'replace' }>,
  properties: Properties,
): Record<string, unknown> {
  const { edits } = properties
  if (isRecord(edits)) {
    const items = isRecord(edits.items) ? propertiesOf(edits.items) : {}
    return { edits: [editFor({ do: 'replace', path: '', from, to, ...(isAll && { isAll }) }, items)] }
  }
  const all = isAll && Object.hasOwn(properties, 'replace_all') && { replace_all: true }
  return {
    [field(properties, 'old_string', 'oldText', 'old_text')]: from,
    [field(properties, 'new_string', 'newText', 'new_text')]: to,
    ...all,
  }
}

/** A search is for a text, unless it is written as a pattern, `/…/`. */
function escaped(text: string): string {
  if (text.length > 2 && text.startsWith('/') && text.endsWith('/')) return text.slice(1, -1)
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
