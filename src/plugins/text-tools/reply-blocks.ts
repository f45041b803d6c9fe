import type { ModelReply, ReplyToolCall } from '../../core/provider.ts'
import type { ProviderData, TextBlock, ThinkingBlock } from '../../core/turn.ts'
import { scan } from './call-scanner.ts'
import { readParameters } from './read-parameters.ts'
import type { Scanned, ScannedCall, ScanOptions } from './text-call-pattern.ts'
import { between, callText, jsonOf, type Neighbour, type WrittenCallData } from './written-call.ts'

interface ReadOptions extends ScanOptions {
  readonly nameOf: (said: string) => string
  readonly idOf: (name: string) => string
}

type ReplyBlock = ModelReply['content'][number]

/**
 * The blocks of a reply, with the calls in its texts as call blocks, and thoughts of which only the end was marked as
 * thinking blocks. The same list if there is neither.
 */
export function readReplyBlocks(content: readonly ReplyBlock[], options: ReadOptions): readonly ReplyBlock[] {
  const read = content.map((block) => (isText(block) ? parseText(block.text, options) : undefined))
  const lastThought = read.findLastIndex((parsed) => parsed?.thought)
  const parts = read.map((parsed, i) => (parsed && i < lastThought ? asThought(content[i] as TextBlock) : parsed))
  const isOther = (i: number): boolean =>
    parts[i]?.thought !== undefined || (parts[i]?.items.some((item) => item.call) ?? false)
  if (!parts.some((_, i) => isOther(i))) return content
  const spacing = new CallSpacing()
  return content.flatMap((block, i) => {
    const before = content[i - 1]
    if (!isText(block)) spacing.reset()
    const starts = before !== undefined && isText(before) && (isOther(i) || isOther(i - 1))
    if (!isText(block)) return [block]
    if (isOther(i) || starts) return blocksOf(parts[i]!, { ...options, starts, block: block.providerData, spacing })
    spacing.before(block.text)
    return [block]
  })
}

const isText = (block: ReplyBlock): block is TextBlock => block?.type === 'text' && typeof block.text === 'string'

/** A text or a call, and the space around it. */
interface Item {
  text: string
  readonly call?: ScannedCall
  readonly before: string
  after: string
}

/** The parts of a text. */
interface ParsedText {
  readonly thought?: Thought
  readonly items: readonly Item[]
}

/** The thought before an answer, and the tag and the space after it. */
interface Thought {
  readonly text: string
  readonly after: string
}

const asThought = ({ text }: TextBlock): ParsedText => ({ thought: { text, after: '' }, items: [] })

function parseText(text: string, options: ScanOptions): ParsedText {
  const found = scan(text, options)
  const last = found.findLastIndex(({ type }) => type === 'thought')
  if (last < 0) return { items: itemsOf(found) }
  const end = found.slice(0, last).reduce((length, one) => length + wordsOf(one).length, 0)
  const answer = found.slice(last + 1)
  const tag = /<\/[a-z]+>\s*$/i.exec(text.slice(Math.max(0, end - 100), end))?.[0] ?? ''
  const thought = text.slice(0, end - tag.length).trimEnd()
  const space = text.length - end - text.slice(end).trimStart().length
  return { thought: { text: thought, after: text.slice(thought.length, end + space) }, items: itemsOf(answer, space) }
}

function wordsOf(one: Scanned): string {
  if (one.type === 'text' || one.type === 'gap') return one.text
  return one.type === 'call' ? one.call.words.join('') : ''
}

/** Without `spaces` characters at the beginning. */
function itemsOf(found: readonly Scanned[], spaces = 0): Item[] {
  const items: Item[] = []
  let gap = ''
  let left = spaces
  for (const given of found) {
    const one =
      left > 0 && (given.type === 'gap' || given.type === 'text') ? { ...given, text: given.text.slice(left) } : given
    left -= wordsOf(given).length - wordsOf(one).length
    if (one.type === 'text' && one.text === '') continue
    if (one.type === 'gap') gap += one.text
    const last = items.at(-1)
    if (one.type === 'text' && last && !last.call) last.text += one.text
    else if (one.type === 'text' || one.type === 'call') {
      const said = one.type === 'call' ? { text: '', call: one.call } : { text: one.text }
      if (last) last.after = gap
      items.push({ ...said, before: gap, after: '' })
      gap = ''
    }
  }
  const last = items.at(-1)
  if (last) last.after = gap
  return items
}

interface BlockOptions extends ReadOptions {
  readonly starts: boolean
  readonly block: ProviderData | undefined
  readonly spacing: CallSpacing
}

function blocksOf({ thought, items }: ParsedText, options: BlockOptions): ReplyBlock[] {
  if (thought) {
    const { starts, block, ...rest } = options
    options.spacing.startOver()
    return [
      thoughtBlock(thought, { ...(starts && { starts }), ...(block && { block }) }),
      ...blocksOf({ items }, { ...rest, starts: false, block: undefined }),
    ]
  }
  return items.map((item, i) => {
    const first = i === 0 && {
      ...(options.starts && { starts: true as const }),
      ...(item.call && options.block && { block: options.block }),
    }
    const { spacing } = options
    if (!item.call) {
      const lead = spacing.before(item.text)
      const data = { ...first, ...(lead !== '' && { lead }) }
      return textBlock(lead + item.text, data, i === 0 ? options.block : undefined)
    }
    spacing.gap(item.before)
    spacing.call()
    spacing.gap(item.after)
    return callBlock(item.call, { ...first, ...unusualSpace(items, i) }, options)
  })
}

function thoughtBlock({ text, after }: Thought, data: WrittenCallData): ThinkingBlock {
  const textTools: WrittenCallData = { ...data, after: after.toWellFormed() }
  return { type: 'thinking', text, providerData: { textTools } }
}

function textBlock(text: string, data: WrittenCallData, block: ProviderData | undefined): TextBlock {
  const providerData = { ...block, ...(Object.keys(data).length > 0 && { textTools: data }) }
  return { type: 'text', text, ...(Object.keys(providerData).length > 0 && { providerData }) }
}

/** The space around a call, if it is not the usual one. */
function unusualSpace(items: readonly Item[], i: number): WrittenCallData {
  const item = items[i]!
  const next = items[i + 1]
  const kind = kindOf(item)
  const isUsualBefore = item.before === between(kindOf(items[i - 1]), kind)
  // The second call has the space between two calls.
  const isUsualAfter = next?.call !== undefined || item.after === between(kind, kindOf(next))
  return {
    ...(!isUsualBefore && { before: item.before.toWellFormed() }),
    ...(!isUsualAfter && { after: item.after.toWellFormed() }),
  }
}

function kindOf(item: Item | undefined): Neighbour {
  if (!item) return undefined
  if (!item.call) return 'text'
  return item.call.isParallel ? 'parallel call' : 'call'
}

function callBlock(call: ScannedCall, around: WrittenCallData, { nameOf, idOf }: ReadOptions): ReplyToolCall {
  const name = nameOf(call.name)
  const [head, body, tail] = call.words
  const { text, read } = readParameters(body, call.nameIn)
  // The engine gets the text if it must refuse it, or see how a number was written.
  const input = read.problem === undefined && read.isLossless ? read.value : text
  const isUsual = typeof input !== 'string' && head + body + tail === callText(name, jsonOf(input))
  const textTools: WrittenCallData = {
    ...(!isUsual && { name, words: [head.toWellFormed(), body.toWellFormed(), tail] as const }),
    ...(call.nameIn && { nameIn: call.nameIn }),
    ...around,
  }
  const providerData = {
    ...(call.isParallel && { parallel: true }),
    ...(Object.keys(textTools).length > 0 && { textTools }),
  }
  const data = Object.keys(providerData).length > 0 && { providerData }
  return { type: 'tool_call', id: idOf(name), name, input, ...data }
}

/**
 * The space between the texts before and after calls, once the calls are taken out: that of the model, or an empty line.
 * Fed with a reply in its order, at once or as it is streamed.
 */
export class CallSpacing {
  #hasText = false
  #wasCall = false
  #space = ''

  /** The space to insert before a text. */
  before(text: string): string {
    const isFirst = !this.#hasText
    if (isFirst) this.#hasText = text.trim() !== ''
    if (!this.#wasCall) return ''
    const isApart = this.#space !== '' || text.trimStart() !== text
    const space = isApart ? this.#space : '\n\n'
    this.reset()
    return isFirst ? '' : space
  }

  /** The text beside a call; of a parallel wrapper only the space after it counts. */
  gap(text: string): void {
    const space = text.slice(text.trimEnd().length)
    if (space !== '') this.#space = space
  }

  call(): void {
    this.#wasCall = true
  }

  /** A block that is no text came. */
  reset(): void {
    this.#wasCall = false
    this.#space = ''
  }

  /** Drops all that came so far. */
  startOver(): void {
    this.reset()
    this.#hasText = false
  }
}
