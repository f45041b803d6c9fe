import type { LogEntry } from '../core/log.ts'
import { oneLine } from '../core/text.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { SessionContentBlock } from '../core/turn.ts'

/** Where a text was found. */
export type FoundIn = 'title' | 'user' | 'assistant' | 'thinking' | 'call' | 'result' | 'label'

export interface TextHit {
  readonly seq: number
  readonly where: FoundIn
  /** One line around the place. */
  readonly excerpt: string
}

/** Looks for a phrase, upper and lower case alike. */
export class TextSearch {
  readonly #wanted: string

  constructor(phrase: string) {
    this.#wanted = phrase.toLowerCase()
  }

  /** One line around the first place in a text; undefined if it is not there. */
  excerpt(text: string): string | undefined {
    const at = text.toLowerCase().indexOf(this.#wanted)
    if (at < 0) return undefined
    const from = Math.max(0, at - before)
    const shown = text.slice(from, at + this.#wanted.length + behind)
    return `${from > 0 ? '…' : ''}${oneLine(shown, before + this.#wanted.length + behind)}`
  }

  /** The places in an entry, one for each of its texts. */
  in(entry: LogEntry): readonly TextHit[] {
    return textsOf(entry).flatMap(({ where, text }) => {
      const excerpt = this.excerpt(text)
      return excerpt === undefined ? [] : [{ seq: entry.seq, where, excerpt }]
    })
  }
}

const before = 40
const behind = 120

interface NamedText {
  readonly where: FoundIn
  readonly text: string
}

function textsOf(entry: LogEntry): readonly NamedText[] {
  if (entry.type === 'turn') return entry.turn.content.flatMap((block) => textIn(block, entry.turn.role))
  if (entry.type === 'call_result') return [{ where: 'result', text: toolResultToText(entry.output) }]
  return entry.type === 'label' ? [{ where: 'label', text: entry.text }] : []
}

function textIn(block: SessionContentBlock, role: 'user' | 'assistant'): readonly NamedText[] {
  if (block.type === 'text') return [{ where: role, text: block.text }]
  if (block.type === 'thinking') return [{ where: 'thinking', text: block.text }]
  // The result of a call is found in its own entry, which comes before the turn that brings it to the model.
  return block.type === 'tool_call' ? [{ where: 'call', text: `${block.name} ${JSON.stringify(block.input)}` }] : []
}
