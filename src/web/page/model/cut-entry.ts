import type { CallResultView, LogEntry } from '../libero.ts'

/** Longer texts of calls are cut in memory, and read again by the number of their entry when they are opened. */
const mostInCall = 2000
/** The same for texts of messages and summaries. */
const mostInMessage = 20_000
const mostItems = 200

interface CutEntry {
  readonly entry: LogEntry
  /** What is shown has less than the log has. */
  readonly isCut: boolean
}

/** An entry as the page keeps it: without large texts and pictures, and without what is for providers and processes alone. */
export function cutEntry(entry: LogEntry): CutEntry {
  switch (entry.type) {
    case 'turn': {
      const content = entry.turn.content.map((block) => cutBlock(block, entry.turn.role === 'user'))
      const isCut = content.some((one) => one.isCut)
      return { entry: { ...entry, turn: { ...entry.turn, content: content.map(({ block }) => block) } }, isCut }
    }
    case 'input': {
      const content = entry.content.map((block) => cutBlock(block, true))
      return {
        entry: { ...entry, content: content.map(({ block }) => block) },
        isCut: content.some((one) => one.isCut),
      }
    }
    case 'call_result':
    case 'approval_requested':
      return cutAll(entry, mostInCall)
    case 'compaction':
      return cutAll(entry, mostInMessage)
    case 'checkpoint':
      return { entry: { ...entry, state: undefined }, isCut: false }
    case 'state':
      return shownStates.has(entry.owner)
        ? { entry, isCut: false }
        : { entry: { ...entry, value: undefined }, isCut: false }
    default:
      return { entry, isCut: false }
  }
}

/** The owners whose state the view of a session shows. */
const shownStates: ReadonlySet<string> = new Set(['todo', 'fork', 'snapshot'])

type Block = Extract<LogEntry, { type: 'turn' }>['turn']['content'][number]

function cutBlock(block: Block, isOfPerson: boolean): { readonly block: Block; readonly isCut: boolean } {
  switch (block.type) {
    case 'text': {
      const { providerData: _, ...rest } = block
      const text = isOfPerson ? cutText(block.text, mostInMessage) : block.text
      return { block: { ...rest, text }, isCut: text !== block.text }
    }
    case 'thinking': // its signature is for the provider
      return { block: { type: 'thinking', text: block.text }, isCut: false }
    case 'image':
    case 'document':
      return { block: { ...block, data: '' }, isCut: true }
    case 'tool_call': {
      const { providerData: _, ...rest } = block
      const cut = cutting(mostInCall)
      return { block: cut.value(rest) as Block, isCut: cut.isCut() }
    }
    default: {
      const cut = cutting(mostInCall)
      return { block: cut.value(block) as Block, isCut: cut.isCut() }
    }
  }
}

function cutAll<Entry extends LogEntry>(entry: Entry, most: number): CutEntry {
  const cut = cutting(most)
  const value = cut.value(entry) as Entry
  return { entry: value, isCut: cut.isCut() }
}

/** Shortens texts and lists anywhere in a JSON value. What stays whole stays the same object. */
function cutting(most: number) {
  let isCut = false
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') {
      const text = cutText(given, most)
      isCut ||= text !== given
      return text
    }
    if (typeof given !== 'object' || given === null) return given
    if (Array.isArray(given)) {
      isCut ||= given.length > mostItems
      const items = given.length > mostItems ? given.slice(0, mostItems) : given
      const changed = items.map(value)
      return changed.length === given.length && changed.every((one, i) => one === given[i]) ? given : changed
    }
    const pairs = Object.entries(given).map(([key, one]) => [key, value(one)] as const)
    return pairs.every(([key, one]) => one === (given as Record<string, unknown>)[key])
      ? given
      : Object.fromEntries(pairs)
  }
  return { value, isCut: () => isCut }
}

/** Its beginning and its end, which tell the most. A piece of a longer text is copied, so that the longer one can go. */
function cutText(text: string, most: number): string {
  if (text.length <= most + 200) return text
  const head = Math.round(most * 0.6)
  return structuredClone(`${text.slice(0, head)}\n…\n${text.slice(head - most)}`)
}

/** The result that an entry tells. */
export function resultIn(entry: LogEntry | undefined): CallResultView | undefined {
  if (entry?.type !== 'call_result') return undefined
  const { diff } = (entry.details ?? {}) as { readonly diff?: unknown }
  return { ...entry, ...(typeof diff === 'string' && { diff }) }
}
