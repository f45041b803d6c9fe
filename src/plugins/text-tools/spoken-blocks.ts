import type { ModelReply, ReplyToolCall } from '../../core/provider.ts'
import type { ProviderData, TextBlock } from '../../core/turn.ts'
import { scan } from './call-scanner.ts'
import { readInput } from './read-parameters.ts'
import type { ScannedCall, ScanOptions } from './scanned.ts'
import { between, callText, jsonOf, type Neighbour, type SpokenData } from './spoken-call.ts'

export interface ReadOptions extends ScanOptions {
  /** The tool that a model means by a name. */
  readonly nameOf: (said: string) => string
  readonly idOf: (name: string) => string
}

type ReplyBlock = ModelReply['content'][number]

/** The blocks of a reply with the calls in its texts as calls. Where there is none, the very same list. */
export function spokenBlocks(content: readonly ReplyBlock[], options: ReadOptions): readonly ReplyBlock[] {
  const parts = content.map((block) => (isText(block) ? itemsOf(block.text, options) : []))
  const hasCall = (i: number): boolean => parts[i]?.some((item) => item.call) ?? false
  if (!parts.some((_, i) => hasCall(i))) return content
  return content.flatMap((block, i) => {
    const before = content[i - 1]
    const starts = before !== undefined && isText(before) && (hasCall(i) || hasCall(i - 1))
    if (!isText(block) || (!hasCall(i) && !starts)) return [block]
    return blocksOf(parts[i]!, { ...options, starts, block: block.providerData })
  })
}

const isText = (block: ReplyBlock): block is TextBlock => block?.type === 'text' && typeof block.text === 'string'

/** A text or a call, and what stands around it. */
interface Item {
  text: string
  readonly call?: ScannedCall
  readonly before: string
  after: string
}

function itemsOf(text: string, options: ScanOptions): Item[] {
  const items: Item[] = []
  let gap = ''
  for (const one of scan(text, options)) {
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
}

function blocksOf(items: readonly Item[], options: BlockOptions): ReplyBlock[] {
  return items.map((item, i) => {
    const first = i === 0 && {
      ...(options.starts && { starts: true as const }),
      ...(item.call && options.block && { block: options.block }),
    }
    if (!item.call) return textBlock(item.text, { ...first }, i === 0 ? options.block : undefined)
    return callBlock(item.call, { ...first, ...spacing(items, i) }, options)
  })
}

function textBlock(text: string, data: SpokenData, block: ProviderData | undefined): TextBlock {
  const providerData = { ...block, ...(Object.keys(data).length > 0 && { textTools: data }) }
  return { type: 'text', text, ...(Object.keys(providerData).length > 0 && { providerData }) }
}

/** The space around a call, where it is not what we would put there. */
function spacing(items: readonly Item[], i: number): SpokenData {
  const item = items[i]!
  const next = items[i + 1]
  const kind = kindOf(item)
  const isUsualBefore = item.before === between(kindOf(items[i - 1]), kind)
  // What stands between two calls is told by the second.
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

function callBlock(call: ScannedCall, around: SpokenData, { nameOf, idOf }: ReadOptions): ReplyToolCall {
  const name = nameOf(call.name)
  const [head, body, tail] = call.words
  const input = readInput(body, call.nameIn)
  const isUsual = head + body + tail === callText(name, jsonOf(input))
  const textTools: SpokenData = {
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
