import { isDeepStrictEqual } from 'node:util'
import type { Call, Outcome, Usage } from './outcome.ts'

/** The first difference between two readings of an answer, and a note. */
export interface Comparison {
  readonly difference?: { readonly what: string; readonly ours: string; readonly theirs: string }
  readonly note?: string
}

/**
 * Compares what every decoder must read the same. Not counted as differences:
 *
 * - What a service calls the end of its answer: content decides. With calls it stopped for them; without, it ended.
 * - Empty lines in thinking: we set the parts of a summary apart with one, the AI SDK gives each a block of its own.
 * - The text for a custom tool: it is a bare string there, and the field `input` of an object here.
 * - Token counts of zero: some services end with zeros after the real counts. The AI SDK takes the last count, we the last
 *   one that is not zero.
 * - How much of the input was cached, if the AI SDK does not report it: then the sum is compared.
 * - The wording of a failure. For an error with a status, our message must contain that of the AI SDK.
 *
 * If only the AI SDK fails, what it read until then must be the beginning of what we read, and the note says so.
 */
export function compare(ours: Outcome, theirs: Outcome): Comparison {
  if (ours.isUnread) return differ('failure', String(ours.failure), theirs.failure ?? `stop ${theirs.stop}`)
  if (ours.failure !== undefined && theirs.failure !== undefined) {
    if (ours.isRefused && !ours.failure.includes(theirs.failure)) return differ('error', ours.failure, theirs.failure)
    return { note: `both fail: ${short(ours.failure)}` }
  }
  if (ours.failure !== undefined) return differ('failure', ours.failure, `stop ${theirs.stop}`)
  if (theirs.failure !== undefined && ours.stop === 'cut')
    return { note: `both miss the end: ${short(theirs.failure)}` }
  if (theirs.failure !== undefined) {
    const note = `the AI SDK gave up: ${short(theirs.failure)}`
    return { note, ...compareBeginning(ours, theirs) }
  }
  const [mine, other] = [settled(ours), settled(theirs)]
  return (
    compareText('text', mine.text, other.text) ??
    compareText('thinking', mine.thinking, other.thinking) ??
    (mine.stop === 'cut' ? undefined : compareCalls(mine.calls, other.calls)) ??
    (mine.stop === other.stop ? undefined : differ('stop', mine.stop, other.stop)) ??
    (mine.stop === 'cut' ? undefined : compareUsage(ours.usage, theirs.usage)) ??
    {}
  )
}

const differ = (what: string, ours: unknown, theirs: unknown): Comparison => ({
  difference: { what, ours: short(ours), theirs: short(theirs) },
})

const longest = 160

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const line = String(text).replaceAll('\n', '\\n')
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

function compareBeginning(ours: Outcome, theirs: Outcome): Comparison {
  const [mine, other] = [settled(ours), settled(theirs)]
  const isKnown = (call: Call): boolean => mine.calls.some((one) => isDeepStrictEqual(one, call))
  const unknown = other.calls.find((call) => !isKnown(call))
  return (
    compareText('text', mine.text.slice(0, other.text.length), other.text) ??
    compareText('thinking', mine.thinking.slice(0, other.thinking.length), other.thinking) ??
    (unknown ? differ('call', mine.calls, unknown) : {})
  )
}

/** The outcome without parts that are not compared. */
function settled(outcome: Outcome): Outcome {
  const { calls, stop } = outcome
  const called = calls.length > 0 ? 'tool_use' : 'end'
  return {
    ...outcome,
    thinking: outcome.thinking.replaceAll(/\n{2,}/g, ''),
    calls: calls.map(({ name, input }) => ({ name, input: unwrapped(input) })),
    stop: stop === 'end' || stop === 'tool_use' ? called : stop,
  }
}

function unwrapped(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input
  const { input: text, ...rest } = input as { input?: unknown }
  return typeof text === 'string' && Object.keys(rest).length === 0 ? text : input
}

function compareText(what: string, ours: string, theirs: string): Comparison | undefined {
  if (ours === theirs) return undefined
  let at = 0
  while (ours[at] === theirs[at]) at++
  const from = Math.max(0, at - 20)
  const shown = (text: string): string => JSON.stringify(text.slice(from, at + 60))
  return differ(`${what} at ${at}`, shown(ours), shown(theirs))
}

function compareCalls(ours: readonly Call[], theirs: readonly Call[]): Comparison | undefined {
  for (let i = 0; i < Math.max(ours.length, theirs.length); i++)
    if (!isDeepStrictEqual(ours[i], theirs[i])) return differ(`call ${i + 1}`, ours[i] ?? 'none', theirs[i] ?? 'none')
  return undefined
}

function compareUsage(ours: Usage | undefined, theirs: Usage | undefined): Comparison | undefined {
  const isTold = Object.values(theirs ?? {}).some((count) => count !== undefined && count !== 0)
  if (!ours || !theirs || !isTold) return undefined
  const { input = 0, cacheRead = 0, cacheCreation = 0 } = ours
  const untold =
    (theirs.cacheRead === undefined ? cacheRead : 0) + (theirs.cacheCreation === undefined ? cacheCreation : 0)
  const mine = { ...ours, input: input + untold }
  for (const name of ['input', 'output', 'cacheRead', 'cacheCreation'] as const)
    if (theirs[name] !== undefined && mine[name] !== theirs[name]) return differ(`usage.${name}`, ours, theirs)
  return undefined
}
