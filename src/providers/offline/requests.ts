import { type Masked, mask, restored } from './masked-text.ts'
import { recognise, shellWords } from './recognise.ts'

/** What a request asks for. */
export type Intent =
  | { readonly kind: 'list' | 'count'; readonly path: string }
  | {
      readonly kind: 'read'
      readonly path: string
      readonly lines?: { readonly from: number; readonly count: number }
      /** An explanation was asked for, which the offline model cannot give. */
      readonly isExplained?: true
    }
  | { readonly kind: 'search'; readonly text: string; readonly path: string }
  | { readonly kind: 'files'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'test' | 'fix'; readonly command?: string }
  | {
      readonly kind: 'replace'
      readonly from: string
      readonly to: string
      readonly path: string
      readonly isAll: boolean
    }
  | { readonly kind: 'create' | 'append'; readonly path: string; readonly text: string }
  | { readonly kind: 'changes'; readonly isDiff: boolean }
  /** `rung` is a reminder that is due. */
  | { readonly kind: 'note' | 'rung'; readonly text: string }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'remind'; readonly text: string; readonly seconds: number }
  | { readonly kind: 'ask'; readonly question: string; readonly options: readonly string[] }
  | { readonly kind: 'recent'; readonly wiki?: string }
  | { readonly kind: 'help' | 'greeting' | 'summary' | 'notes' }
  /** Understood, but something is missing; `like` is the kind of an example. */
  | { readonly kind: 'incomplete'; readonly question: string; readonly like: Kind }

export type Kind = Exclude<Intent['kind'], 'incomplete'>

/** One request of a prompt. Without an intent it was not understood. */
export interface Request {
  readonly text: string
  readonly intent?: Intent
}

/** Longer prompts are not read. */
export const maxPromptLength = 100_000
const maxRequests = 20
/** Only requests up to this length are joined or split: each attempt reads the whole text. */
const maxJoinedLength = 3000
const maxSplitLength = 500

/** The requests of a prompt in order. They are separated by `then`, `;`, a new line, or an `and` between two of them. */
export function understand(prompt: string): Request[] {
  const masked = mask(prompt.slice(0, maxPromptLength))
  const found: Piece[] = []
  for (const piece of piecesOf(masked.text)) {
    const intent = recognise({ ...masked, text: piece.text })
    const last = found.at(-1)
    const joined = last && joinedWith(last, piece, intent, masked)
    if (joined) found[found.length - 1] = joined
    else if (found.length >= maxRequests) break
    else found.push({ ...piece, ...(intent && { intent }) })
  }
  return found
    .flatMap(({ text, intent }) => splitAtAnd({ ...masked, text }, intent))
    .map(({ text, intent }) => ({ text: restored({ ...masked, text }), ...(intent && { intent }) }))
}

interface Piece extends Request {
  readonly start: number
  readonly end: number
  readonly isAfterSemicolon: boolean
}

function piecesOf(text: string): Piece[] {
  const found: Piece[] = []
  let start = 0
  let isAfterSemicolon = false
  const add = (until: number): boolean => {
    const part = text.slice(start, until)
    const [lead = ''] = /^\s*(?:(?:[-*•]|\d{1,2}[.)]) )?/.exec(part) ?? []
    const piece = part.slice(lead.length).replace(/[\s,]+$/, '')
    if (piece === '') return false
    found.push({ text: piece, start: start + lead.length, end: start + lead.length + piece.length, isAfterSemicolon })
    return true
  }
  for (const { 0: separator, index } of text.matchAll(/;|\n|(?<=\S)(?:,?\s+and)?,?\s+then(?=\s)/gi)) {
    if (add(index)) isAfterSemicolon = separator === ';'
    start = index + separator.length
  }
  add(text.length)
  return found
}

/** `run a; b` and a text of several lines are one request: a piece that is not understood continues the one before. */
function joinedWith(last: Piece, piece: Piece, intent: Intent | undefined, masked: Masked): Piece | undefined {
  const { kind } = last.intent ?? {}
  if (!last.intent || !['run', 'create', 'append', 'note'].includes(kind!)) return undefined
  const isShellLine = piece.isAfterSemicolon && kind === 'run' && shellWords.has(piece.text.split(/\s/, 1)[0]!)
  if ((intent && !isShellLine) || piece.end - last.start > maxJoinedLength) return undefined
  const text = masked.text.slice(last.start, piece.end)
  const whole = recognise({ ...masked, text })
  return whole && whole.kind === kind ? { ...last, end: piece.end, text, intent: whole } : undefined
}

/** `list the files and read a.txt`: split if both halves are understood and the first one takes no text, or the whole is unclear. */
function splitAtAnd(masked: Masked, intent: Intent | undefined): Request[] {
  const { text } = masked
  const whole = [{ text, ...(intent && { intent }) }]
  if (intent?.kind === 'fix' || text.length > maxSplitLength) return whole
  const isClear = intent !== undefined && intent.kind !== 'incomplete'
  for (const { index } of text.matchAll(/(?<=\s)and\s/gi)) {
    const [left, right] = [text.slice(0, index).trim(), text.slice(index + 4).trim()]
    const first = recognise({ ...masked, text: left })
    const isFirst = first && (readingKinds.has(first.kind) || (!isClear && ['replace', 'run'].includes(first.kind)))
    const second = isFirst && recognise({ ...masked, text: right })
    if (second) return [{ text: left, intent: first }, ...splitAtAnd({ ...masked, text: right }, second)]
  }
  return whole
}

const readingKinds: ReadonlySet<Intent['kind']> = new Set([
  'list',
  'read',
  'search',
  'files',
  'count',
  'changes',
  'test',
  'notes',
  'fetch',
] as const)
