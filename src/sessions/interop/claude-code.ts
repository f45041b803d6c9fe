import { messageOf } from '../../core/errors.ts'
import { checkedAs, isRecord } from '../../core/is-record.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { type AnthropicMessage, fromAnthropic } from './anthropic.ts'
import {
  type Fields,
  type ForeignTranscript,
  Messages,
  metaOf,
  readLines,
  Skipped,
  type TranscriptLine,
  textIn,
  timeIn,
} from './transcript.ts'

/**
 * Reads a session of Claude Code (`~/.claude/projects/<project>/<session>.jsonl`), as versions 1.0 to 2.1 write it.
 * There is no official description: lines of type `user` and `assistant` hold messages of the Anthropic API, one line
 * for each block of a reply, and form a tree by `uuid` and `parentUuid`. The path to the newest leaf is taken. It ends
 * at a compaction, whose summary is a message of its own; side chains (sub-agents), lines marked `isMeta`, and errors
 * that the program itself wrote as replies are left out.
 */
export function fromClaudeCode(jsonl: string): ForeignTranscript {
  const skipped = new Skipped()
  const lines = readLines(jsonl, 'fromClaudeCode', skipped)
  const written = lines.filter(({ fields }) => isMessage(fields))
  // The file of a sub-agent is a side chain as a whole.
  const isMain = written.some(({ fields }) => fields.isSidechain !== true)
  const main = written.filter(({ fields }) => !isMain || fields.isSidechain !== true)
  const taken = withSiblings(pathTo(main.at(-1), lines), main)

  const messages = new Messages()
  let model: string | undefined
  for (const line of lines) {
    const { fields, number } = line
    if (taken.has(line)) model = addMessage(messages, line, skipped) ?? model
    else if (!isMessage(fields)) skipUnlessTitle(fields, number, skipped)
    else if (isMain && fields.isSidechain === true) skipped.add('side chain', number)
    else skipped.add('another branch, or before a compaction', number)
  }
  const first = lines.find(({ fields }) => textIn(fields, 'sessionId'))?.fields
  const withCwd = lines.find(({ fields }) => textIn(fields, 'cwd'))?.fields
  const meta = {
    id: textIn(first, 'sessionId'),
    cwd: textIn(withCwd, 'cwd'),
    model,
    createdAt: timeIn(lines.find(({ fields }) => timeIn(fields, 'timestamp') !== undefined)?.fields, 'timestamp'),
    title: titleOf(lines),
  }
  return { messages: messages.list, meta: metaOf(meta), skipped: skipped.list }
}

const isMessage = ({ type, message }: Fields): boolean => (type === 'user' || type === 'assistant') && isRecord(message)

/** The path from the leaf to the root, over lines of any type. */
function pathTo(leaf: TranscriptLine | undefined, lines: readonly TranscriptLine[]): Set<TranscriptLine> {
  const byUuid = new Map<string, TranscriptLine>()
  for (const line of lines) {
    const uuid = textIn(line.fields, 'uuid')
    if (uuid) byUuid.set(uuid, line)
  }
  const path = new Set<TranscriptLine>()
  for (let line = leaf; line && !path.has(line); line = byUuid.get(textIn(line.fields, 'parentUuid') ?? ''))
    path.add(line)
  return path
}

/** Adds lines of the same turn that concurrent calls put on other branches: the rest of a reply, and results of its calls. */
function withSiblings(path: Set<TranscriptLine>, main: readonly TranscriptLine[]): Set<TranscriptLine> {
  const taken = new Set([...path].filter(({ fields }) => isMessage(fields)))
  const replies = new Set([...taken].flatMap((line) => replyId(line) ?? []))
  for (const line of main) if (replies.has(replyId(line) ?? '')) taken.add(line)
  const calls = new Set([...taken].flatMap((line) => idsOf(line, 'tool_use', 'id')))
  const answered = new Set([...taken].flatMap((line) => idsOf(line, 'tool_result', 'tool_use_id')))
  for (const line of main) {
    const results = idsOf(line, 'tool_result', 'tool_use_id')
    if (taken.has(line) || !results.some((id) => calls.has(id) && !answered.has(id))) continue
    taken.add(line)
    for (const id of results) answered.add(id)
  }
  return taken
}

function replyId({ fields }: TranscriptLine): string | undefined {
  return fields.type === 'assistant' ? textIn(fields.message as Fields, 'id') : undefined
}

function blocksOf({ fields }: TranscriptLine): readonly Fields[] {
  const { content } = fields.message as Fields
  return Array.isArray(content) ? content.filter(isRecord) : []
}

function idsOf(line: TranscriptLine, type: string, key: string): string[] {
  return blocksOf(line).flatMap((block) => (block.type === type ? (textIn(block, key) ?? []) : []))
}

/** Returns the model of the message. */
function addMessage(messages: Messages, line: TranscriptLine, skipped: Skipped): string | undefined {
  const { fields, number } = line
  const message = fields.message as Fields
  const model = textIn(message, 'model')
  if (fields.isMeta === true) skipped.add('a note of the program (isMeta)', number)
  else if (fields.isApiErrorMessage === true || model === '<synthetic>') skipped.add('an error of the program', number)
  else if (fields.type === 'assistant') {
    messages.assistant(readContent(line, 'assistant', skipped), textIn(message, 'id'))
    return model
  } else {
    const content = readContent(line, 'user', skipped)
    for (const block of content) if (block.type === 'tool_result') messages.result(block)
    messages.user(content.filter(({ type }) => type !== 'tool_result'))
  }
  return undefined
}

const blockTypes = new Set(['text', 'image', 'document', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result'])

function readContent(
  line: TranscriptLine,
  role: 'user' | 'assistant',
  skipped: Skipped,
): readonly SessionContentBlock[] {
  const { content } = line.fields.message as Fields
  const isKnown = (block: Fields): boolean => {
    if (blockTypes.has(String(block.type))) return true
    skipped.add(`a block of type ${String(block.type)}`, line.number)
    return false
  }
  const blocks = blocksOf(line)
    .filter(isKnown)
    .map((block) =>
      Array.isArray(block.content) ? { ...block, content: block.content.filter(isRecord).filter(isKnown) } : block,
    )
  try {
    const message = { role, content: typeof content === 'string' ? content : blocks }
    return fromAnthropic([checkedAs<AnthropicMessage>(message)])[0]?.content ?? []
  } catch (error) {
    throw new TypeError(`fromClaudeCode: line ${line.number}: ${messageOf(error)}`, { cause: error })
  }
}

const titles = { 'custom-title': 'customTitle', 'ai-title': 'aiTitle', summary: 'summary' } as const

/** A title given by the user is preferred to a generated one. */
function titleOf(lines: readonly TranscriptLine[]): string | undefined {
  for (const [type, key] of Object.entries(titles)) {
    const line = lines.findLast(({ fields }) => fields.type === type && textIn(fields, key))
    if (line) return textIn(line.fields, key)
  }
  return undefined
}

function skipUnlessTitle(fields: Fields, number: number, skipped: Skipped): void {
  const type = String(fields.type)
  if (!Object.hasOwn(titles, type))
    skipped.add(textIn(fields, 'subtype') ? `${type} ${String(fields.subtype)}` : type, number)
}
