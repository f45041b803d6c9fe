import { isAbsolute, resolve } from 'node:path'
import { fenced } from '../chat/attached-text.ts'
import { callTitle } from '../chat/describe-call.ts'
import { isRecord } from '../core/is-record.ts'
import { headOf, oneLine, tailOf } from '../core/text.ts'
import type { ToolPreview } from '../core/tool.ts'
import type { ToolOutput } from '../core/turn.ts'
import { visibleName, visibleText } from '../platform/visible-text.ts'
import type { CallRow } from '../view/rows.ts'
import type { ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from './protocol.ts'

export interface CallContext {
  /** The folder of the session; absolute. */
  readonly cwd: string
  /** The terminal of the client in which the command of a call runs. */
  terminalOf(callId: string): string | undefined
  /** No run is under way: a call without a result was interrupted. */
  readonly isIdle: boolean
}

/** A call as the client shows it. */
export function toolCallOf(row: CallRow, context: CallContext): ToolCall {
  const { id: toolCallId, name, input, raw, result } = row
  const kind = kindOf(name)
  const text = result && textOf(result.output)
  return {
    toolCallId,
    title: titleOf(name, input, context.cwd),
    name: visibleName(name.slice(0, 200)),
    kind,
    status: statusOf(row, context),
    content: contentOf(row, context),
    locations: locationsOf(row, context.cwd),
    rawInput: raw ?? input,
    ...(text !== undefined && text !== '' && { rawOutput: bounded(text, kind) }),
  }
}

/** One line that says what a call does. The text comes from a model: hidden characters are made visible. */
export function titleOf(name: string, input: Readonly<Record<string, unknown>>, cwd: string): string {
  const argument = callTitle(input, cwd)
  const isCommand = kindOf(name) === 'execute' && typeof input.command === 'string'
  return oneLine(isCommand ? argument : `${visibleName(name)} ${argument}`, longestTitle)
}

const longestTitle = 200

/** Tools of servers, files and plugins are `other`. */
export const kindOf = (name: string): ToolKind => (Object.hasOwn(kinds, name) ? kinds[name]! : 'other')

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  glob: 'search',
  grep: 'search',
  edit: 'edit',
  multi_edit: 'edit',
  write_file: 'edit',
  shell: 'execute',
  shell_output: 'execute',
  shell_stop: 'execute',
  web_fetch: 'fetch',
  todowrite: 'think',
  todoread: 'think',
  spawn: 'think',
  present_plan: 'switch_mode',
}

function statusOf({ state, result }: CallRow, { isIdle }: CallContext): NonNullable<ToolCall['status']> {
  if (result) return result.isError || !isGood.has(result.outcome) ? 'failed' : 'completed'
  if (state === 'running') return isIdle ? 'failed' : 'in_progress'
  return isIdle && state !== 'waiting' ? 'failed' : 'pending'
}

const isGood: ReadonlySet<string> = new Set(['done', 'substituted'])

function contentOf(row: CallRow, context: CallContext): ToolCallContent[] {
  const { id, name, input, result, live } = row
  const kind = kindOf(name)
  const terminalId = context.terminalOf(id)
  if (terminalId !== undefined) return [{ type: 'terminal', terminalId }]
  const path = pathOf(input, context.cwd)
  if (result?.diff !== undefined && path !== undefined) return diffContent(path, result.diff)
  if (result) return outputContent(result.output, kind)
  if (name === 'present_plan' && typeof input.plan === 'string') return [textContent(visibleText(input.plan))]
  if (live?.progress !== undefined && live.progress !== '')
    return [textContent(fenced(bounded(visibleText(live.progress), kind)))]
  const preview = row.approvals?.findLast(({ callId }) => callId === id)?.preview
  if (preview) return previewContent(preview, context.cwd)
  return path === undefined ? [] : editsOf(input).map((edit) => ({ type: 'diff', path, ...edit }))
}

/** The changes of files that a call would make. */
export function previewContent({ files }: ToolPreview, cwd: string): ToolCallContent[] {
  return files.flatMap(({ path, diff }) => (diff === undefined ? [] : diffContent(resolve(cwd, path), diff)))
}

function diffContent(path: string, diff: string): ToolCallContent[] {
  return diffBlocks(diff).map(({ oldText, newText }) => ({ type: 'diff', path, oldText, newText }))
}

/** What the edits of a call are, before it is known where they apply. */
function editsOf(input: Readonly<Record<string, unknown>>): { readonly oldText: string; readonly newText: string }[] {
  const list: readonly unknown[] = Array.isArray(input.edits) ? input.edits : [input]
  return list.flatMap((one) => {
    if (!isRecord(one) || typeof one.old_string !== 'string' || typeof one.new_string !== 'string') return []
    return [{ oldText: one.old_string, newText: one.new_string }]
  })
}

function outputContent(output: ToolOutput, kind: ToolKind): ToolCallContent[] {
  const blocks = typeof output === 'string' ? [{ type: 'text' as const, text: output }] : output
  return blocks.flatMap((block): ToolCallContent[] => {
    if (block.type === 'image')
      return [{ type: 'content', content: { type: 'image', mimeType: block.mediaType, data: block.data } }]
    if (block.type !== 'text') return [textContent(`[${visibleName(block.mediaType)}]`)]
    if (block.text === '') return []
    const text = visibleText(bounded(block.text, kind))
    return [textContent(isVerbatim.has(kind) ? fenced(text) : text)]
  })
}

/** What these give back is no Markdown. */
const isVerbatim: ReadonlySet<ToolKind> = new Set(['read', 'search', 'execute', 'fetch'])

export const textContent = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } })

const longestText = 65_536

/** Of a command the end says how it went, of all else the beginning. */
function bounded(text: string, kind: ToolKind): string {
  if (text.length <= longestText) return text
  return kind === 'execute' ? `…${tailOf(text, longestText)}` : `${headOf(text, longestText)}…`
}

function textOf(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

const mostLocations = 20

/** Where the client may look to follow the agent. Paths are absolute, lines count from 1. */
function locationsOf(row: CallRow, cwd: string): ToolCallLocation[] {
  const path = pathOf(row.input, cwd)
  if (path === undefined) return []
  const { diff, details } = row.result ?? {}
  if (diff !== undefined) {
    const lines = diffBlocks(diff).map(({ line }) => ({ path, line }))
    if (lines.length > 0) return lines.slice(0, mostLocations)
  }
  const shown = isRecord(details) && isRecord(details.lines) ? details.lines.first : row.input.offset
  const line = typeof shown === 'number' && Number.isSafeInteger(shown) && shown > 0 ? { line: shown } : {}
  return [{ path, ...line }]
}

/** The path that a call of a file tool is about. */
function pathOf({ path }: Readonly<Record<string, unknown>>, cwd: string): string | undefined {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return undefined
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path)
}

/** A part of a file before and after a change. `line` is the first line that changed, from 1. */
interface DiffBlock {
  /** `null` if there was no file. */
  readonly oldText: string | null
  readonly newText: string
  readonly line: number
}

/** The hunks of a unified diff of one file. */
export function diffBlocks(diff: string): readonly DiffBlock[] {
  const blocks: DiffBlock[] = []
  let hunk: Hunk | undefined
  const flush = (): void => {
    if (hunk) blocks.push(blockOf(hunk))
    hunk = undefined
  }
  for (const line of diff.split('\n')) {
    const [, before, beforeCount = '1', after, afterCount = '1'] = header.exec(line) ?? []
    if (before !== undefined) {
      flush()
      const left = { before: Number(beforeCount), after: Number(afterCount) }
      hunk = { left, isNew: before === '0' && beforeCount === '0', at: Number(after), before: [], after: [] }
    } else if (hunk && line.startsWith('\\')) endWithoutNewline(hunk)
    else if (hunk && (hunk.left.before > 0 || hunk.left.after > 0)) take(hunk, line)
  }
  flush()
  return blocks
}

interface Hunk {
  /** How many lines of each side are to come: `---` within a hunk is a removed line. */
  readonly left: { before: number; after: number }
  readonly isNew: boolean
  at: number
  readonly before: string[]
  readonly after: string[]
  hasChanged?: true
  last?: 'before' | 'after' | 'both'
}

const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

function take(hunk: Hunk, line: string): void {
  const sign = line[0]
  const isBefore = sign === '-' || sign === ' '
  const isAfter = sign === '+' || sign === ' '
  if (!isBefore && !isAfter) return // a note that lines were cut
  const text = `${line.slice(1)}\n`
  if (isBefore) hunk.before.push(text)
  if (isAfter) hunk.after.push(text)
  hunk.left.before -= isBefore ? 1 : 0
  hunk.left.after -= isAfter ? 1 : 0
  hunk.last = isBefore && isAfter ? 'both' : isBefore ? 'before' : 'after'
  if (hunk.last !== 'both') hunk.hasChanged = true
  else if (!hunk.hasChanged) hunk.at++
}

/** The line before says that its text does not end with a newline. */
function endWithoutNewline({ last, before, after }: Hunk): void {
  for (const lines of [last !== 'after' && before, last !== 'before' && after])
    if (lines && lines.length > 0) lines.push(lines.pop()!.replace(/\n$/, ''))
}

const blockOf = ({ isNew, before, after, at }: Hunk): DiffBlock => ({
  oldText: isNew ? null : before.join(''),
  newText: after.join(''),
  line: Math.max(1, at),
})
