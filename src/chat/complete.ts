import { isThenable } from '../core/cancellation.ts'
import type { ChatCommand, CommandContext, Completion } from './command.ts'
import { fuzzyIndex } from './fuzzy-match.ts'
import { findCommand } from './run-command.ts'
import type { WorkspaceFiles } from './workspace-files.ts'

/** What can replace the part of a text from `from` to `to`, best first. */
export interface Completions {
  readonly from: number
  readonly to: number
  readonly items: readonly Completion[]
}

const mostShown = 50

/**
 * What the person may mean at the caret: a command, its argument, or a file after `@`; undefined elsewhere. A promise only
 * where a command looks its values up.
 */
export function completionsFor(
  text: string,
  caret: number,
  sources: {
    readonly context: CommandContext
    /** The files of the workspace; absent while they are being listed. */
    readonly files?: NonNullable<WorkspaceFiles['index']>
  },
): Completions | undefined | Promise<Completions | undefined> {
  const target = targetAt(text, caret)
  if (!target) return undefined
  const { typed, from, to } = target
  if (target.kind === 'command') return listed({ from, to }, commandItems(typed, sources.context.commands))
  if (target.kind === 'file') return listed({ from, to }, (sources.files?.best(typed, mostShown) ?? []).map(fileItem))
  const command = findCommand(target.command, sources.context.commands)
  if (!command?.complete) return undefined
  const found = command.complete(typed, sources.context)
  if (!isThenable(found)) return listed({ from, to }, matching(found, typed))
  return Promise.resolve(found).then((items) => listed({ from, to }, matching(items, typed)))
}

const listed = (range: Pick<Completions, 'from' | 'to'>, items: Completions['items']): Completions | undefined =>
  items.length === 0 ? undefined : { ...range, items }

interface Range {
  readonly from: number
  readonly to: number
  /** What stands between the beginning of the range and the caret, without its mark. */
  readonly typed: string
}

type Target =
  | (Range & { readonly kind: 'command' })
  | (Range & { readonly kind: 'file' })
  | (Range & { readonly kind: 'argument'; readonly command: string })

/** What is typed at the caret. A command stands at the very beginning, and its argument on the same line. */
function targetAt(text: string, caret: number): Target | undefined {
  const before = text.slice(0, caret)
  const [, mention] = /(?:^|[\s(])@("[^"\n]*|[^\s"]*)$/.exec(before) ?? []
  if (mention !== undefined) {
    const typed = mention.replace(/^"/, '')
    return { kind: 'file', typed, from: caret - mention.length - 1, to: wordEnd(text, caret) }
  }
  const [, name, gap, argument] = /^\/([^\s/]*)(?:([ \t]+)([^\n]*))?$/.exec(before) ?? []
  if (name === undefined) return undefined
  if (gap === undefined) return { kind: 'command', typed: name, from: 0, to: wordEnd(text, caret) }
  const typed = argument ?? ''
  return { kind: 'argument', command: name, typed, from: caret - typed.length, to: lineEnd(text, caret) }
}

function wordEnd(text: string, caret: number): number {
  const rest = text.slice(caret).search(/\s/)
  return rest < 0 ? text.length : caret + rest
}

function lineEnd(text: string, caret: number): number {
  const at = text.indexOf('\n', caret)
  return at < 0 ? text.length : at
}

function commandItems(typed: string, commands: readonly ChatCommand[]): readonly Completion[] {
  const found = fuzzyIndex(commands, ({ name }) => name).best(typed, typed === '' ? commands.length : mostShown)
  return found.map(({ name, summary, argument }) => ({
    text: argument === undefined ? `/${name}` : `/${name} `,
    label: argument === undefined ? `/${name}` : `/${name} ${argument}`,
    detail: summary,
  }))
}

const matching = (items: readonly Completion[], typed: string): readonly Completion[] =>
  fuzzyIndex(items, ({ text }) => text).best(typed.trim(), mostShown)

/** A folder can be completed further; a name with blanks is quoted. */
function fileItem(path: string): Completion {
  const isFolder = path.endsWith('/')
  const mention = /\s/.test(path) ? `@"${path}${isFolder ? '' : '"'}` : `@${path}`
  return { text: isFolder ? mention : `${mention} `, label: path }
}
