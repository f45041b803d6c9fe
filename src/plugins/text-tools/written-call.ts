import { isRecord } from '../../core/is-record.ts'
import type { ProviderData, SessionContentBlock, TextBlock, ThinkingBlock, ToolCallBlock } from '../../core/turn.ts'
import { readParameters } from './read-parameters.ts'
import { parallelTag } from './text-call-pattern.ts'

/** What is needed to write a call again exactly as the model did. Empty if that is the usual form. */
export interface WrittenCallData {
  /** The name of the tool that the model meant. */
  readonly name?: string
  /** Its opening tag, its body, and its closing tag. */
  readonly words?: readonly [head: string, body: string, tail: string]
  /** The name was in the body. */
  readonly nameIn?: 'json'
  /** The text before it, and after it; a thought always has the latter. */
  readonly before?: string
  readonly after?: string
  /** Of a text: the space that we inserted at its beginning, after the text before a call. */
  readonly lead?: string
  /** A block of the model began with it. */
  readonly starts?: true
  /** The provider's data about that block. */
  readonly block?: ProviderData
}

/** The form in which models are asked to write calls. */
export function callText(name: string, body: string): string {
  return `<tool_use name="${attribute(name)}">${body}</tool_use>`
}

/** A call of the history as text: as the model wrote it, if the block still has the same content. */
function writtenCall(block: ToolCallBlock): string {
  const { name, words, nameIn } = writtenData(block)
  const { input, raw } = block
  // Hooks and compaction may have changed the block since.
  if (name === block.name && isWords(words) && hasParameters(words[1], nameIn, block)) return words.join('')
  return callText(block.name, raw ?? jsonOf(input))
}

/** Whether a body has the parameters of a call. Its text decides where only the schema of the tool tells how to read it. */
function hasParameters(body: string, nameIn: 'json' | undefined, { input, raw }: ToolCallBlock): boolean {
  const { text, read } = readParameters(body, nameIn)
  return text.toWellFormed() === raw || jsonOf(read.problem === undefined ? read.value : {}) === jsonOf(input)
}

/** A call, a text, or a thought that was part of a text. */
export type WrittenBlock = ToolCallBlock | TextBlock | ThinkingBlock

/** Whether a block is a text, or was part of one. */
export function isWritten(block: SessionContentBlock): block is WrittenBlock {
  if (block?.type === 'thinking') return typeof writtenData(block).after === 'string'
  return block?.type === 'text' || block?.type === 'tool_call'
}

/** A block as it was in the text of the model. */
export function writtenText(block: WrittenBlock): string {
  if (block.type === 'tool_call') return writtenCall(block)
  const { after, lead } = writtenData(block)
  if (block.type === 'thinking') return block.text + after
  return typeof lead === 'string' && block.text.startsWith(lead) ? block.text.slice(lead.length) : block.text
}

/** The data that we stored in a block. */
export function writtenData(block: WrittenBlock): WrittenCallData {
  const data = block.providerData?.textTools
  return isRecord(data) ? data : {}
}

/** The kind of block before or after another one. */
export type Neighbour = 'text' | 'call' | 'parallel call' | undefined

/** The usual text between two neighbours. */
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

export const jsonOf = (input: unknown): string => JSON.stringify(input ?? {}).toWellFormed()

const attribute = (name: string): string => name.replace(/["<>\n]/g, (char) => `&#${char.charCodeAt(0)};`)
