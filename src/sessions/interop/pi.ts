import { isRecord } from '../../core/is-record.ts'
import { copyJson, type SessionContentBlock, type ToolOutput, type ToolResultContent } from '../../core/turn.ts'
import { redactedPrefix } from './anthropic.ts'
import {
  type Fields,
  type ForeignTranscript,
  Messages,
  metaOf,
  readLines,
  requireInput,
  Skipped,
  type TranscriptLine,
  textIn,
  timeIn,
} from './transcript.ts'

/**
 * Reads a session of pi (`~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`), formats 1 to 3: a header, then entries
 * that form a tree by `id` and `parentId`; in format 1 they are a list. Like pi, it takes the path to the last entry and
 * what a compaction on it kept. Thinking keeps its signature if that is Anthropic's.
 */
export function fromPi(jsonl: string): ForeignTranscript {
  const skipped = new Skipped()
  const lines = readLines(jsonl, 'fromPi', skipped)
  const header = lines.find(({ fields }) => fields.type === 'session')
  if (!header) throw new TypeError('fromPi: there is no line of type "session"; is this a session of pi?')
  const entries = lines.filter((line) => line !== header)
  const path = pathOf(entries)
  const onPath = new Set(path)
  for (const line of entries) if (!onPath.has(line)) skipped.add('another branch', line.number)

  const messages = new Messages()
  const seen = { model: undefined as string | undefined, title: undefined as string | undefined }
  for (const line of sinceCompaction(path, skipped)) addEntry(messages, line, seen, skipped)
  const { fields } = header
  const meta = {
    id: textIn(fields, 'id'),
    cwd: textIn(fields, 'cwd'),
    model: seen.model ?? textIn(fields, 'modelId'),
    createdAt: timeIn(fields, 'timestamp'),
    title: seen.title,
  }
  return { messages: messages.list, meta: metaOf(meta), skipped: skipped.list }
}

function pathOf(entries: readonly TranscriptLine[]): readonly TranscriptLine[] {
  const byId = new Map(entries.map((line) => [textIn(line.fields, 'id'), line]))
  const leaf = entries.at(-1)
  if (!leaf || !textIn(leaf.fields, 'id')) return entries // format 1
  const path = new Set<TranscriptLine>()
  for (let line: TranscriptLine | undefined = leaf; line && !path.has(line); line = parentOf(line)) path.add(line)
  return [...path].reverse()

  function parentOf({ fields }: TranscriptLine): TranscriptLine | undefined {
    const parent = textIn(fields, 'parentId')
    return parent === undefined ? undefined : byId.get(parent)
  }
}

/** The summary first, then the kept entries before it, then the entries after it. */
function sinceCompaction(path: readonly TranscriptLine[], skipped: Skipped): readonly TranscriptLine[] {
  const at = path.findLastIndex(({ fields }) => fields.type === 'compaction')
  const compaction = path[at]
  if (!compaction) return path
  const { firstKeptEntryId, firstKeptEntryIndex } = compaction.fields
  const before = path.slice(0, at)
  const kept = before.findIndex(
    // Format 1 counts lines, the header included.
    ({ fields, number }) =>
      firstKeptEntryId === undefined ? number === Number(firstKeptEntryIndex) + 1 : fields.id === firstKeptEntryId,
  )
  const gone = kept === -1 ? before : before.slice(0, kept)
  const settings = gone.filter(({ fields }) => !isMessage(fields)) // settings and names stay valid
  for (const line of gone) if (isMessage(line.fields)) skipped.add('before a compaction', line.number)
  return [
    ...settings,
    compaction,
    ...(kept === -1 ? [] : before.slice(kept)).filter(isNoCompaction),
    ...path.slice(at + 1),
  ]
}

/** The later summary includes the earlier one. */
const isNoCompaction = ({ fields }: TranscriptLine): boolean => fields.type !== 'compaction'

const isMessage = ({ type }: Fields): boolean =>
  type === 'message' || type === 'custom_message' || type === 'branch_summary' || type === 'compaction'

function addEntry(
  messages: Messages,
  { fields, number }: TranscriptLine,
  seen: { model: string | undefined; title: string | undefined },
  skipped: Skipped,
): void {
  switch (fields.type) {
    case 'message':
      if (isRecord(fields.message)) addMessage(messages, fields.message, number, skipped)
      if (isRecord(fields.message) && fields.message.role === 'assistant')
        seen.model = textIn(fields.message, 'model') ?? seen.model
      return
    case 'custom_message':
      messages.user(partsOf(fields.content, number, skipped))
      break
    case 'compaction':
      messages.user(summary('What was said before was summed up as follows', fields))
      break
    case 'branch_summary':
      messages.user(summary('Another branch of this conversation was left; it came to this', fields))
      break
    case 'model_change':
      seen.model = textIn(fields, 'modelId') ?? seen.model
      return
    case 'session_info':
      seen.title = textIn(fields, 'name') ?? seen.title
      return
    default:
      skipped.add(String(fields.type), number)
  }
}

function summary(words: string, fields: Fields): SessionContentBlock[] {
  const text = textIn(fields, 'summary')
  return text === undefined ? [] : [{ type: 'text', text: `${words}:\n\n${text}` }]
}

function addMessage(messages: Messages, message: Fields, number: number, skipped: Skipped): void {
  const { role, content } = message
  switch (role) {
    case 'user':
    case 'custom':
    case 'hookMessage':
      messages.user(partsOf(content, number, skipped))
      break
    case 'assistant':
      messages.assistant(replyOf(message, number, skipped))
      break
    case 'toolResult': {
      const output = outputOf(partsOf(content, number, skipped))
      const callId = textIn(message, 'toolCallId') ?? ''
      messages.result({
        type: 'tool_result',
        callId,
        output,
        ...(message.isError === true && { isError: true }),
      })
      break
    }
    case 'bashExecution':
      if (message.excludeFromContext === true) skipped.add('a command that the model was not shown', number)
      else messages.user([{ type: 'text', text: commandText(message) }])
      break
    case 'branchSummary':
    case 'compactionSummary':
      messages.user(summary('What was said before was summed up as follows', message))
      break
    default:
      skipped.add(`a message of ${String(role)}`, number)
  }
}

/** A single text is returned as a string. */
function outputOf(parts: readonly ToolResultContent[]): ToolOutput {
  const [only] = parts
  if (only === undefined) return ''
  return parts.length === 1 && only.type === 'text' ? only.text : parts
}

function commandText(message: Fields): string {
  const { exitCode } = message
  const code = typeof exitCode === 'number' && exitCode !== 0 ? `\n(exit code ${exitCode})` : ''
  const cancelled = message.cancelled === true ? '\n(cancelled)' : ''
  return `The user ran: ${String(message.command)}\n${textIn(message, 'output') ?? '(no output)'}${code}${cancelled}`
}

function partsOf(content: unknown, number: number, skipped: Skipped): ToolResultContent[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isRecord).flatMap((part): ToolResultContent[] => {
    const { type, text, data, mimeType } = part
    if (type === 'text' && typeof text === 'string') return [{ type, text }]
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string')
      return [{ type, mediaType: mimeType, data }]
    skipped.add(`a block of type ${String(type)}`, number)
    return []
  })
}

function replyOf({ content, api }: Fields, number: number, skipped: Skipped): SessionContentBlock[] {
  if (!Array.isArray(content)) return partsOf(content, number, skipped)
  return content.filter(isRecord).flatMap((block): SessionContentBlock[] => {
    if (block.type === 'thinking') return thoughtOf(block, api)
    if (block.type !== 'toolCall') return partsOf([block], number, skipped)
    const input = copyJson(requireInput(block.arguments ?? {}, `line ${number}: arguments`))
    return [{ type: 'tool_call', id: String(block.id), name: String(block.name), input }]
  })
}

function thoughtOf(block: Fields, api: unknown): SessionContentBlock[] {
  const text = textIn(block, 'thinking') ?? ''
  const signature = api === 'anthropic-messages' ? textIn(block, 'thinkingSignature') : undefined
  if (block.redacted === true && signature)
    return [{ type: 'thinking', text: '', signature: redactedPrefix + signature }]
  if (text === '' && !signature) return []
  return [{ type: 'thinking', text, ...(signature && { signature }) }]
}
