import { isNoSecret, type SecretSpan, secretShapesIn } from './secret-shapes.ts'

/** Removes secrets from texts. The same secret becomes the same placeholder, so that redacted texts can be compared. */
export interface Redactor {
  /** Remembers the secrets inside a value, so that they are also found later without their context. */
  learn(value: unknown): void
  text(text: string): string
  /** A copy of plain data with every string redacted, including keys. */
  json<T>(value: T): T
  /** Redacts a text that came in pieces, also a secret that is split between two; returns as many pieces. */
  pieces(pieces: readonly string[]): string[]
}

export interface RedactorOptions {
  /** Texts that are always secret, or functions that find the secrets of a text. */
  readonly secrets?: readonly (string | ((text: string) => readonly string[]))[]
  /** Environment variables; values of those that are named like a secret are removed too. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The first `most` characters of a text, redacted before the cut: a secret that it would split is removed whole. */
export function redactedStart(redactor: Redactor, text: string, most: number): string {
  const [start = ''] = redactor.pieces([text.slice(0, most), text.slice(most, most + longestSecret)])
  return start
}

/** No secret is longer, so a text that is kept beside a cut in this length shows every secret there whole. */
export const longestSecret = 24 * 1024

/** What a secret is replaced by. */
export const placeholder = /\[REDACTED:\d+\]/

/** Finds secrets by their shape, by the text before them, and by the given options. */
export function createRedactor({ secrets = [], env = {} }: RedactorOptions = {}): Redactor {
  const known = new Set<string>()
  const spelled = new Map<string, string>()
  const spellings = new TextIndex()
  const finders = secrets.filter((secret) => typeof secret === 'function')
  const numbers = new Map<string, number>()
  const names = new Map<string, string>()

  for (const secret of secrets) if (typeof secret === 'string') addKnown(requireLong(secret))
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && envName.test(name) && isDistinctive(value)) addKnown(value)

  function addKnown(secret: string): void {
    known.add(secret)
    names.clear()
    for (const spelling of spellingsOf(secret)) {
      spelled.set(spelling, secret)
      spellings.add(spelling)
    }
  }

  function spansOf(text: string): SecretSpan[] {
    const spans = secretShapesIn(text)
    for (const { start, end, text: secret } of spellings.find(text)) spans.push({ start, end, secret })
    for (const find of finders) for (const secret of find(text)) spans.push(...occurrences(text, requireLong(secret)))
    return spans.length > 1 ? withoutOverlaps(spans) : spans
  }

  function tokenOf(secret: string): string {
    const same = spelled.get(secret) ?? secret
    let number = numbers.get(same)
    if (number === undefined) numbers.set(same, (number = numbers.size + 1))
    return `[REDACTED:${number}]`
  }

  function redact(text: string): string {
    const spans = spansOf(text)
    if (spans.length === 0) return text
    let out = ''
    let at = 0
    for (const { start, end, secret } of spans) {
      out += text.slice(at, start) + tokenOf(secret)
      at = end
    }
    return out + text.slice(at)
  }

  function pieces(list: readonly string[]): string[] {
    const spans = spansOf(list.join(''))
    if (spans.length === 0) return [...list]
    let from = 0
    return list.map((piece) => {
      const to = from + piece.length
      let out = ''
      let at = from
      for (const { start, end, secret } of spans) {
        if (end <= from || start >= to) continue
        out += piece.slice(at - from, Math.max(start, from) - from)
        if (start >= from) out += tokenOf(secret) // the placeholder is where the secret began
        at = Math.min(end, to)
      }
      out += piece.slice(at - from)
      from = to
      return out
    })
  }

  function json(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return isSecretField(name, value) ? tokenOf(value) : redact(value)
    if (Array.isArray(value)) return value.map((inner) => json(inner, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redactedName(key), json(inner, key)]))
  }

  /** Cached, because a log repeats few keys. */
  function redactedName(name: string): string {
    let redacted = names.get(name)
    if (redacted === undefined) names.set(name, (redacted = redact(name)))
    if (names.size > maxCachedNames) names.clear()
    return redacted
  }

  function learn(value: unknown, name = ''): void {
    if (typeof value === 'string') {
      const found = spansOf(value).map(({ secret }) => spelled.get(secret) ?? secret)
      // Both `Basic abc` and `abc` are secret.
      if (isSecretField(name, value)) found.push(value, value.slice(value.lastIndexOf(' ') + 1))
      for (const secret of found) if (isDistinctive(secret) && !known.has(secret)) addKnown(secret)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) learn(inner, Array.isArray(value) ? name : key)
  }

  return { learn, text: redact, json: (value) => json(value) as typeof value, pieces }
}

const maxCachedNames = 1000

const envName = /KEY|TOKEN|SECRET|PASSWORD|PASSWD/
const secretField =
  /(?:^|[_-])(?:(?:api|access|private|secret)[_-]?key|secret|token|pass|password|passwd|passphrase|authorization|cookie|credentials?)$/i
const camelSecretField =
  /(?:apiKey|ApiKey|accessKey|AccessKey|privateKey|PrivateKey|secretKey|Secret|Token|Password|Passphrase|Authorization|Cookie|Credentials?)$/

function occurrences(text: string, secret: string): SecretSpan[] {
  const spans: SecretSpan[] = []
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + secret.length))
    spans.push({ start, end: start + secret.length, secret })
  return spans
}

/** Of two overlapping spans the one that begins first, else the longer one. */
function withoutOverlaps(spans: SecretSpan[]): SecretSpan[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end)
  let end = 0
  return spans.filter((span) => {
    if (span.start < end) return false
    end = span.end
    return true
  })
}

/** Whether a field is named like a secret and its value may be one. */
function isSecretField(name: string, value: string): boolean {
  const isNamedSo = secretField.test(name) || camelSecretField.test(name) || /^[A-Z0-9_]*(?:KEY|TOKEN)$/.test(name)
  return isNamedSo && value.length >= 6 && !isNoSecret(value)
}

/** Whether a secret is distinctive enough to be removed everywhere; an ordinary word is not. */
const isDistinctive = (text: string): boolean => text.length >= 8 && /[^A-Za-z]/.test(text) && !isNoSecret(text)

function requireLong(secret: string): string {
  if (secret.length >= 4) return secret
  throw new TypeError(`A secret of ${secret.length} characters would be found everywhere; give at least 4`)
}

/** The encodings of a secret: plain, in a JSON string, in a URL, in hexadecimal, and in base64. */
function spellingsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  const inUrl = secret.isWellFormed() ? [encodeURIComponent(secret)] : []
  return [secret, JSON.stringify(secret).slice(1, -1), ...inUrl, ...inHex(bytes), ...inBase64(bytes)]
}

function inHex(bytes: Uint8Array): string[] {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex, hex.toUpperCase()]
}

/** Shorter texts would match by chance. */
const minBase64Length = 10

/** The base64 of a secret inside other data: for each of three alignments, the part that depends on the secret alone. */
function inBase64(bytes: Uint8Array): string[] {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  const cores = [0, 1, 2].map((before) => {
    const whole = btoa('\0'.repeat(before) + binary).replace(/=+$/, '')
    return whole.slice(before && before + 1, (before + binary.length) % 3 === 0 ? undefined : -1)
  })
  const long = cores.filter((core) => core.length >= minBase64Length)
  return [...long, ...long.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))]
}

interface FoundText {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Finds any of many texts in another text, in one pass. */
export class TextIndex {
  /** By the hash of their first four characters, the longest first. */
  readonly #texts = new Map<number, string[]>()
  /** Which hashes occur: most positions of a text are skipped by this check. */
  #isStart: Uint8Array | undefined

  /** The text must have at least four characters. */
  add(text: string): void {
    this.#isStart ??= new Uint8Array(hashes)
    const hash = hashOf(text)
    const same = this.#texts.get(hash) ?? []
    if (same.includes(text)) return
    this.#isStart[hash] = 1
    this.#texts.set(
      hash,
      [...same, text].sort((a, b) => b.length - a.length),
    )
  }

  /** Matches from left to right without overlaps; of several at one position the longest. */
  find(text: string): FoundText[] {
    const found: FoundText[] = []
    const isStart = this.#isStart
    if (!isStart) return found
    let hash = 0
    let from = 0
    for (let i = 0; i < text.length; i++) {
      hash = next(hash, text.charCodeAt(i))
      const start = i - hashed + 1
      if (isStart[hash] === 0 || start < from) continue
      const match = this.#texts.get(hash)?.find((one) => text.startsWith(one, start))
      if (match === undefined) continue
      from = start + match.length
      found.push({ start, end: from, text: match })
    }
    return found
  }
}

const hashed = 4
const hashes = 1 << 16

/** A rolling hash: each step shifts earlier characters by four bits, so that only the last four count. */
const next = (hash: number, code: number): number => ((hash << 4) ^ (code & 0xfff) ^ (code >> 12)) & (hashes - 1)

function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < hashed; i++) hash = next(hash, text.charCodeAt(i))
  return hash
}
