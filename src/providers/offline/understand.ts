import type { Intent } from './intent.ts'
import { recognise } from './recognise.ts'
import { isBareCommand } from './recognise-run.ts'
import { phraseOf, type Word } from './words.ts'

/** One of the requests in a prompt; without an intent nobody knows what it means. */
export interface Request {
  readonly text: string
  readonly intent?: Intent
}

/** Longer prompts are not read: nobody writes plain requests of that length. */
export const longestPrompt = 100_000
const mostRequests = 20
/** Lines are put together again only up to this length: each try reads all of them. */
const longestJoined = 3000

/** What a prompt asks for, in order: requests are parted by `then`, `;`, a new line, or an `and` between two of them. */
export function understand(prompt: string): Request[] {
  const read = prompt.slice(0, longestPrompt)
  const found: Piece[] = []
  for (const piece of pieces(read)) {
    const intent = recognise(piece.text)
    const before = found.at(-1)
    const whole = before && wholeOf(read, before, piece, intent)
    if (whole) found[found.length - 1] = whole
    else if (found.length >= mostRequests) break
    else found.push({ ...piece, ...(intent && { intent }) })
  }
  return found.flatMap(({ text, intent }) => parted(text, intent))
}

interface Piece extends Request {
  readonly start: number
  readonly end: number
  /** What stands between it and the next one. */
  readonly separator?: ';' | 'then' | 'line'
}

const takesMore = new Set<Intent['kind']>(['run', 'create', 'append', 'note'])

/** `run a; b` and a text of several lines are one thing: what means nothing by itself belongs to what came before. */
function wholeOf(prompt: string, before: Piece, piece: Piece, intent: Intent | undefined): Piece | undefined {
  if (!before.intent || !takesMore.has(before.intent.kind)) return undefined
  const isLine = before.separator === ';' && before.intent.kind === 'run' && isBareCommand(piece.text)
  if (intent && !isLine) return undefined
  if (piece.end - before.start > longestJoined) return undefined
  const text = prompt.slice(before.start, piece.end)
  const whole = recognise(text)
  return whole?.kind === before.intent.kind ? { ...piece, start: before.start, text, intent: whole } : undefined
}

/** Parts a prompt outside of quotes. */
function pieces(prompt: string): Piece[] {
  const { words } = phraseOf(prompt)
  const found: Piece[] = []
  let start = 0
  const cut = (end: number, next: number, separator?: Piece['separator']): void => {
    const piece = trimmed(prompt, start, end)
    if (piece.text !== '') found.push({ ...piece, ...(separator && { separator }) })
    start = next
  }
  for (const [i, word] of words.entries()) {
    const next = words[i + 1]
    if (!next) break
    const gap = prompt.slice(word.end, next.start)
    if (word.plain === 'then' && i > 0) cut(Math.max(start, beforeThen(words, i)), word.end, 'then')
    else if (!word.isQuoted && word.text.endsWith(';')) cut(word.end - 1, word.end, ';')
    else if (gap.includes(';')) cut(word.end, word.end + gap.indexOf(';') + 1, ';')
    else if (gap.includes('\n')) cut(word.end, next.start, 'line')
  }
  cut(prompt.length, prompt.length)
  return found
}

/** `and then` is one word. */
const beforeThen = (words: readonly Word[], i: number): number =>
  words[i - 1]!.plain === 'and' ? words[i - 1]!.start : words[i]!.start

/** Without the mark of a list in front of it, and the comma behind it. */
function trimmed(prompt: string, from: number, to: number): Piece {
  let start = from
  let end = to
  while (start < end && prompt[start]!.trim() === '') start++
  while (end > start && (prompt[end - 1]!.trim() === '' || prompt[end - 1] === ',')) end--
  const mark = /^(?:[-*•]|\d{1,2}[.)]) /.exec(prompt.slice(start, Math.min(end, start + 5)))
  start += mark?.[0].length ?? 0
  return { text: prompt.slice(start, end), start, end }
}

/** `list the files and read a.txt`: only where both halves mean something, and the first one takes no text, or the whole means nothing. */
function parted(text: string, intent: Intent | undefined): Request[] {
  const whole = { text, ...(intent && { intent }) }
  if (intent?.kind === 'fix' || text.length > longestParted) return [whole]
  const isClear = intent !== undefined && intent.kind !== 'incomplete'
  for (const [i, { plain, start, end }] of phraseOf(text).words.entries()) {
    if (plain !== 'and' || i === 0) continue
    const left = recognise(text.slice(0, start))
    const isLeft = left && (looks.has(left.kind) || (!isClear && deeds.has(left.kind)))
    const right = isLeft ? recognise(text.slice(end)) : undefined
    if (!left || !right) continue
    return [{ text: text.slice(0, start).trim(), intent: left }, ...parted(text.slice(end).trim(), right)]
  }
  return [whole]
}

const longestParted = 500

const looks = new Set<Intent['kind']>(['list', 'read', 'search', 'files', 'count', 'changes', 'test', 'notes', 'fetch'])
const deeds = new Set<Intent['kind']>(['replace', 'run'])
