import { isRecord } from '../../core/is-record.ts'
import type { ProviderData, SessionContentBlock, TextBlock, ThinkingBlock, ToolCallBlock } from '../../core/turn.ts'
import { readParameters } from './read-parameters.ts'
import { parallelTag } from './text-call-pattern.ts'

/** What has to be known to say a call again exactly as the model did. Where it spoke as we would, nothing. */
export interface WrittenCallData {
  /** Under this name the call was understood. */
  readonly name?: string
  /** Its opening tag, what stood between the tags, and its closing tag. */
  readonly words?: readonly [head: string, body: string, tail: string]
  /** The name stood between the tags. */
  readonly nameIn?: 'json'
  /** What stood before it, and behind it; a thought of a text always has the latter. */
  readonly before?: string
  readonly after?: string
  /** Of a text: space at its beginning that is ours, and keeps it apart from the words before a call. */
  readonly lead?: string
  /** With it a block of the model's own began. */
  readonly starts?: true
  /** What the provider said of that block. */
  readonly block?: ProviderData
}

/** The form in which models are asked to write calls. */
export function callText(name: string, body: string): string {
  return `<tool_use name="${attribute(name)}">${body}</tool_use>`
}

/** A call of the history as text: in the model's own words, as long as they still say what the block says. */
function spokenCall(block: ToolCallBlock): string {
  const { name, words, nameIn } = writtenData(block)
  const { input, raw } = block
  // Hooks and compaction may have changed what is in the block since it was said.
  const isSame = name === block.name && isWords(words) && jsonOf(inputIn(words[1], nameIn)) === jsonOf(input)
  if (isSame) return words.join('')
  return callText(block.name, raw ?? jsonOf(input))
}

/** What the engine puts into the block of a call with this body. */
function inputIn(body: string, nameIn: 'json' | undefined): Record<string, unknown> {
  const { read } = readParameters(body, nameIn)
  return read.problem === undefined ? read.value : {}
}

/** A call, a text, or a thought that was part of a text. */
export type WrittenBlock = ToolCallBlock | TextBlock | ThinkingBlock

/** Whether a block was part of a text, or is one. */
export function isWritten(block: SessionContentBlock): block is WrittenBlock {
  if (block?.type === 'thinking') return typeof writtenData(block).after === 'string'
  return block?.type === 'text' || block?.type === 'tool_call'
}

/** What a block was in the text of the model. */
export function writtenText(block: WrittenBlock): string {
  if (block.type === 'tool_call') return spokenCall(block)
  const { after, lead } = writtenData(block)
  if (block.type === 'thinking') return block.text + after
  return typeof lead === 'string' && block.text.startsWith(lead) ? block.text.slice(lead.length) : block.text
}

/** What we wrote into a block, if it is still there. */
export function writtenData(block: WrittenBlock): WrittenCallData {
  const data = block.providerData?.textTools
  return isRecord(data) ? data : {}
}

/** What may stand around calls and texts: the call before or behind it, or a text, or nothing. */
export type Neighbour = 'text' | 'call' | 'parallel call' | undefined

/** What stands between two neighbours unless the model put something else there. */
export function between(before: Neighbour, after: Neighbour): string {
  const closes = before === 'parallel call' && after !== 'parallel call' ? `\n</${parallelTag}>` : ''
  const opens = after === 'parallel call' && before !== 'parallel call' ? `<${parallelTag}>\n` : ''
  return closes + space(before, after) + opens
}

function space(before: Neighbour, after: Neighbour): string {
  if (before === undefined || after === undefined) return ''
  return before === 'text' || after === 'text' ? '\n\n' : '\n'
}

type Words = NonNullable<WrittenCallData['words']>

const isWords = (words: unknown): words is Words =>
  Array.isArray(words) && words.length === 3 && words.every((word) => typeof word === 'string')

/** The input as a model would write it. */
export const jsonOf = (input: unknown): string => JSON.stringify(input ?? {}).toWellFormed()

const attribute = (name: string): string => name.replace(/["<>\n]/g, (char) => `&#${char.charCodeAt(0)};`)
