import { memoize } from '../../core/memoize.ts'
import type { ModelEvent } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import type { Redactor } from '../../platform/redact.ts'
import type { Recording } from './recording.ts'
import { stableText, type TapedRequest, type TapeFact, type TapeItem } from './tape-items.ts'

/** The version of the format that is written, and the newest that is read. */
export const cassetteVersion = 1

/**
 * Writes a recording as JSON Lines: a header, the facts, all items in order, and an end with the number of lines.
 * Consecutive readings share a line, and so do the events of a reply. A request holds only what is new since an earlier one.
 */
export function writeCassette({ items, facts }: Recording, redactor: Redactor): string {
  const seen = new WeakSet<Message>()
  for (const item of items) redactor.learn(item.type === 'request' ? newIn(item.request, seen) : item)
  const lines: unknown[] = [{ libero: 'cassette', version: cassetteVersion }]
  for (const fact of withoutRepeats(facts)) lines.push(redactor.json(fact))
  const requests = new Requests()
  for (const group of grouped(withRedactedDeltas(items, redactor))) lines.push(lineOf(group, requests, redactor))
  lines.push({ type: 'end', lines: lines.length + 1 })
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Each message is read once, although every request contains it. */
function newIn({ model: _, messages, ...rest }: TapedRequest, seen: WeakSet<Message>): object {
  const fresh = messages.filter((message) => !seen.has(message))
  for (const message of fresh) seen.add(message)
  return { ...rest, messages: fresh.map(messageOf) }
}

function messageOf({ role, content }: Message): Message {
  return { role, content }
}

function lineOf(group: readonly TapeItem[], requests: Requests, redactor: Redactor): unknown {
  const [first] = group
  if (first === undefined) return {}
  if (isReading(first)) return { type: 'reads', values: group.map(readingOf) }
  if (first.type === 'event') {
    const events = group.map((item) => (item.type === 'event' ? redactor.json(item.event) : item))
    return { type: 'events', n: first.n, events }
  }
  if (first.type !== 'request') return redactor.json(first)
  const { request, ...about } = first
  return { ...redactor.json(about), ...(redactor.json(requests.shortened(first.n, request)) as object) }
}

const isReading = ({ type }: TapeItem): boolean => type === 'now' || type === 'id' || type === 'random'

function readingOf(item: TapeItem): unknown {
  if (item.type === 'random') return { random: item.value }
  return item.type === 'now' || item.type === 'id' ? item.value : null
}

function* grouped(items: readonly TapeItem[]): Generator<readonly TapeItem[]> {
  let group: TapeItem[] = []
  for (const item of items) {
    const last = group.at(-1)
    const isSame =
      last !== undefined &&
      ((isReading(last) && isReading(item)) || (last.type === 'event' && item.type === 'event' && last.n === item.n))
    if (!isSame && group.length > 0) {
      yield group
      group = []
    }
    group.push(item)
  }
  if (group.length > 0) yield group
}

/** Writes each request as a difference to the recent one with the longest common prefix. */
class Requests {
  readonly #recent: { readonly n: number; readonly request: TapedRequest }[] = []
  readonly #textOf = memoize((message: Message) => stableText(messageOf(message)))

  shortened(n: number, request: TapedRequest): object {
    let base = { n: 0, kept: 0 }
    for (const earlier of this.#recent) {
      const kept = commonPrefix(earlier.request.messages, request.messages, this.#textOf)
      if (kept >= base.kept) base = { n: earlier.n, kept }
    }
    const { request: other } = this.#recent.find((earlier) => earlier.n === base.n) ?? {}
    this.#recent.push({ n, request })
    if (this.#recent.length > 16) this.#recent.shift()
    const { model, settings, system, tools, messages } = request
    return {
      base: base.n,
      model,
      settings,
      ...(system !== other?.system && { system }),
      ...(stableText(tools) !== stableText(other?.tools) && { tools }),
      keep: base.kept,
      add: messages.slice(base.kept).map(messageOf),
    }
  }
}

function commonPrefix(a: readonly Message[], b: readonly Message[], textOf: (message: Message) => string): number {
  let i = 0
  for (; i < a.length && i < b.length; i++) {
    const [one, other] = [a[i], b[i]]
    if (one === other) continue
    if (!one || !other || textOf(one) !== textOf(other)) break
  }
  return i
}

function withoutRepeats(facts: readonly TapeFact[]): TapeFact[] {
  const seen = new Map(facts.map((fact) => [stableText(fact), fact]))
  return [...seen.values()]
}

/** Redacts the joined deltas of a reply, because a secret may be spread over several. */
function withRedactedDeltas(items: readonly TapeItem[], redactor: Redactor): TapeItem[] {
  const copy = [...items]
  const runs = new Map<string, number[]>()
  const rewrite = (positions: readonly number[]): void => {
    const deltas = redactor.pieces(positions.map((at) => deltaOf(copy[at]) ?? ''))
    for (const [i, at] of positions.entries()) {
      const item = copy[at]
      if (item?.type === 'event') copy[at] = { ...item, event: { ...item.event, delta: deltas[i] } as ModelEvent }
    }
  }
  for (const [at, item] of items.entries()) {
    if (item.type !== 'event') continue
    const { event, n } = item
    if (deltaOf(item) !== undefined) {
      const run = `${n} ${event.type} ${'id' in event ? event.id : ''}`
      const positions = runs.get(run)
      if (positions) positions.push(at)
      else runs.set(run, [at])
    }
    if (event.type !== 'retry' && event.type !== 'reply') continue
    for (const [run, positions] of [...runs])
      if (run.startsWith(`${n} `)) {
        rewrite(positions)
        runs.delete(run)
      }
  }
  for (const positions of runs.values()) rewrite(positions)
  return copy
}

function deltaOf(item: TapeItem | undefined): string | undefined {
  return item?.type === 'event' && 'delta' in item.event ? item.event.delta : undefined
}
