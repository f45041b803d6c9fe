import type { Run } from '../../core/run.ts'
import { textOf, toolCallsOf } from '../../core/turn.ts'
import { instructionsFor, questionFor } from './instructions.ts'
import { type Quote, quoteOf } from './quote.ts'
import type { Passage } from './render.ts'
import { cutMiddle, levelFor } from './shorten.ts'
import { bytesOf } from './sizes.ts'

export interface SummaryTask {
  readonly turnId: string
  readonly model: string
  readonly passages: readonly Passage[]
  /** What stood for the time before them. */
  readonly previous: string
  /** Bytes that a question may have. */
  readonly room: number
  /** Bytes that the answer should have, and those it must not exceed. */
  readonly wanted: number
  readonly most: number
}

/**
 * Asks the model of the run for a summary, in as many questions as it takes for each to fit: each carries on the summary
 * of the one before. Undefined when it gave none that can be used; an abort is thrown.
 */
export async function summarise(run: Run, task: SummaryTask): Promise<string | undefined> {
  const { turnId, model, wanted, most } = task
  const system = instructionsFor(Math.max(Math.floor(wanted / 8), 50))
  const records = recordsOf(task, bytesOf(system))
  let previous = cutMiddle(task.previous, most)
  for (const [i, record] of records.entries()) {
    const text = questionFor({ previous, record, part: i + 1, parts: records.length })
    const maxTokens = Math.min(run.settings.behavior.maxTokens, Math.max(Math.ceil(most / 3), 256))
    try {
      const messages = [{ role: 'user', content: [{ type: 'text', text }] }] as const
      const reply = await run.askAside({
        cause: 'compaction',
        turnId,
        model,
        system,
        messages,
        maxTokens,
        cache: false,
      })
      const message = { role: 'assistant', content: reply.content } as const
      previous = textOf(message).trim()
      // What breaks off says nothing of the next step, which comes last.
      if (reply.stop === 'refusal' || reply.stop === 'length' || toolCallsOf(message).length > 0) return undefined
    } catch (error) {
      if (run.cancellation.isCancelled) throw error
      return undefined
    }
    if (previous === '' || bytesOf(previous) > most) return undefined
  }
  return previous
}

/** The record, in pieces that fit. The longer it is, the more is cut out of what is long in it: calls stay few. */
function recordsOf({ passages, room, most }: SummaryTask, overhead: number): string[] {
  const each = Math.max(room - overhead - most - 400, 500)
  const capped = passages.map((passage) => {
    const { text, wrap } = readable(passage)
    return { body: cutMiddle(text, Math.min(caps[passage.kind], each / 4)), wrap }
  })
  const sizes = capped.map(({ body, wrap }) => bytesOf(wrap(body)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // What is cut between passages leaves pieces a little empty; a single one can be full.
  const full = total <= each ? each : each * 0.75
  const pieces = Math.max(Math.min(Math.ceil(total / full), Math.ceil(Math.log2(1 + total / room))), 1)
  const level = levelFor(sizes, pieces * full)
  const texts = capped.map(({ body, wrap }, i) =>
    wrap(sizes[i]! <= level ? body : cutMiddle(body, Math.max(level - bytesOf(wrap('\n')), 0))),
  )
  return packed(texts, each, pieces)
}

/** A passage's text, and what to put around it. What a tool gave could look like further passages, unless it is one line. */
function readable({ head, body, tool }: Passage): Quote {
  if (tool === undefined) return { text: body, wrap: (text) => `${head}\n${text}\n\n` }
  const { text, wrap } = quoteOf(body, tool)
  return { text, wrap: (piece) => `${head}\n${piece.includes('\n') ? wrap(piece) : piece}\n\n` }
}

/** Bytes of one passage that are worth reading. */
const caps: Readonly<Record<Passage['kind'], number>> = { user: 20_000, assistant: 10_000, call: 2_000, result: 4_000 }

/** In order, full pieces first. Whatever does not fit into the last one is cut out of its middle. */
function packed(texts: readonly string[], each: number, most: number): string[] {
  const pieces: string[][] = [[]]
  let bytes = 0
  for (const text of texts) {
    const size = bytesOf(text)
    if (bytes > 0 && bytes + size > each && pieces.length < most) {
      pieces.push([])
      bytes = 0
    }
    pieces.at(-1)!.push(text)
    bytes += size
  }
  return pieces.map((piece) => cutMiddle(piece.join(''), each))
}
