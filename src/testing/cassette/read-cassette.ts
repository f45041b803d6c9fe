import { show } from '../../core/behavior.ts'
import { checkedAs, isRecord } from '../../core/is-record.ts'
import type { ModelEvent } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import type { TapedRequest, TapeFact, TapeItem } from './tape-items.ts'
import { cassetteVersion } from './write-cassette.ts'

export interface Cassette {
  readonly items: readonly TapeItem[]
  readonly facts: readonly TapeFact[]
}

type Line = Readonly<Record<string, unknown>>

/** Reads a cassette. Errors name the line. */
export function readCassette(text: string): Cassette {
  if (typeof text !== 'string') throw new TypeError(`A cassette is the text that record() gave, got ${show(text)}`)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  checkHeader(lines[0])
  const reader = new Reader()
  for (let at = 1; at < lines.length; at++) {
    const number = at + 1
    if (reader.isOver) throw broken(number, 'nothing may follow the line of type "end"')
    reader.add(parse(lines[at] ?? '', number, lines.length), number)
  }
  if (!reader.isOver)
    throw broken(lines.length, 'the line of type "end" is missing after it; the file was cut off, record it again')
  return reader
}

function checkHeader(line = ''): void {
  const { libero, version } = parse(line, 1, 0)
  if (libero !== 'cassette' || typeof version !== 'number')
    throw broken(1, `a cassette begins with {"libero":"cassette","version":${cassetteVersion}}, this is ${show(line)}`)
  if (version > cassetteVersion)
    throw new Error(`The cassette has version ${version}, this Libero reads up to ${cassetteVersion}; use a newer one`)
}

function parse(line: string, number: number, last: number): Line {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    const why = number === last ? 'the file was cut off in the middle of it' : 'it is no JSON'
    throw broken(number, `${why}; record it again: ${show(line)}`)
  }
  if (isRecord(value)) return value as unknown as Line
  throw broken(number, `it must be an object, got ${show(line)}`)
}

const broken = (line: number, why: string): Error => new Error(`The cassette is damaged at line ${line}: ${why}`)

class Reader implements Cassette {
  readonly items: TapeItem[] = []
  readonly facts: TapeFact[] = []
  isOver = false
  readonly #requests = new Map<number, TapedRequest>()
  readonly #started = { request: new Set<number>(), execute: new Set<number>(), timer: new Set<number>() }

  add(line: Line, number: number): void {
    const { type } = line
    const wanted = typeof type === 'string' && Object.hasOwn(fields, type) ? fields[type] : undefined
    if (!wanted) throw broken(number, `there is no type ${show(type)}`)
    for (const [name, kind] of Object.entries(wanted))
      if (!isOf(kind, line[name])) throw broken(number, `${String(type)}.${name} must be ${kind}`)
    this.#checkReference(line, number)
    switch (type) {
      case 'end':
        if (line.lines !== number) throw broken(number, `it says there are ${line.lines} lines, there are ${number}`)
        this.isOver = true
        return
      case 'provider':
      case 'answer':
        this.facts.push(checkedAs<TapeFact>(line))
        return
      case 'reads':
        for (const value of line.values as unknown[]) this.items.push(reading(value, number))
        return
      case 'events':
        for (const event of line.events as unknown[])
          this.items.push({ type: 'event', n: line.n as number, event: event as ModelEvent })
        return
      case 'request':
        this.#addRequest(line, number)
        return
      default:
        this.items.push(checkedAs<TapeItem>(line))
    }
  }

  #addRequest(line: Line, number: number): void {
    const { n, by, session, base, keep, add, model, settings } = line
    const other = this.#requests.get(base as number)
    if (base !== 0 && !other) throw broken(number, `it builds on request ${base}, which is not before it`)
    const kept = other?.messages.slice(0, keep as number) ?? []
    if (kept.length !== keep) throw broken(number, `it keeps ${keep} messages of request ${base}, which has fewer`)
    const system = line.system ?? other?.system
    const tools = line.tools ?? other?.tools
    if (typeof system !== 'string' || !Array.isArray(tools)) throw broken(number, 'it has no system prompt or no tools')
    const messages = [...kept, ...(add as Message[])]
    const request = { model, settings, system, tools, messages } as TapedRequest
    this.#requests.set(n as number, request)
    this.items.push({
      type: 'request',
      n: n as number,
      by: by as number,
      ...(typeof session === 'string' && { session }),
      request,
    })
  }

  /** An item that continues another must come after it. */
  #checkReference({ type, n }: Line, number: number): void {
    if (typeof n !== 'number') return
    if (type === 'request' || type === 'execute' || type === 'timer') {
      if (this.#started[type].has(n)) throw broken(number, `${type} ${n} is there already`)
      this.#started[type].add(n)
    }
    const needs = continuedKind[type as string]
    if (needs && !this.#started[needs].has(n)) throw broken(number, `there is no ${needs} ${n} before it`)
  }
}

const continuedKind: Readonly<Record<string, 'request' | 'execute' | 'timer'>> = {
  events: 'request',
  failed: 'request',
  ended: 'request',
  step: 'execute',
  result: 'execute',
  fired: 'timer',
}

function reading(value: unknown, number: number): TapeItem {
  if (typeof value === 'number') return { type: 'now', value }
  if (typeof value === 'string') return { type: 'id', value }
  const { random } = (value ?? {}) as { random?: unknown }
  if (typeof random === 'number') return { type: 'random', value: random }
  throw broken(number, `a reading is a number, a text or { random }, got ${show(value)}`)
}

type Kind = 'a number' | 'a text' | 'a list' | 'an object'

const fields: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  end: { lines: 'a number' },
  provider: { n: 'a number', meta: 'an object', has: 'a list' },
  answer: { by: 'a number', question: 'a text', about: 'a text' },
  reads: { values: 'a list' },
  timer: { n: 'a number', ms: 'a number' },
  fired: { n: 'a number' },
  request: {
    n: 'a number',
    by: 'a number',
    base: 'a number',
    model: 'a text',
    settings: 'an object',
    keep: 'a number',
    add: 'a list',
  },
  events: { n: 'a number', events: 'a list' },
  failed: { n: 'a number', error: 'an object' },
  ended: { n: 'a number' },
  execute: { n: 'a number', tool: 'a text', part: 'a text', callId: 'a text', key: 'a text' },
  step: { n: 'a number', did: 'a text' },
  result: { n: 'a number', result: 'an object' },
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === 'a list') return Array.isArray(value)
  if (kind === 'an object') return isRecord(value)
  return typeof value === (kind === 'a number' ? 'number' : 'string')
}
