import { spellingsOf } from './spellings.ts'

/** Takes secrets out of texts. The same secret becomes the same placeholder, so that what is left can be compared. */
export interface Redactor {
  /** Notes the secrets inside a value, so that they are found later where nothing around them gives them away. */
  learn(value: unknown): void
  text(text: string): string
  /** A copy of plain data with every text inside redacted, names of fields included. */
  json<T>(value: T): T
  /** A text that came in pieces, which may have cut a secret in two; as many pieces come back. */
  pieces(pieces: readonly string[]): string[]
}

export interface RedactorOptions {
  /** Texts that are secret wherever they stand, or functions that find the secrets of a text. */
  readonly secrets?: readonly (string | ((text: string) => readonly string[]))[]
  /** Variables; the values of those that are named like a secret are taken out too. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** What a secret is replaced by. */
export const placeholder = /\[REDACTED:\d+\]/

/** Knows secrets by their shape, by what stands before them, and by what it was told. */
export function createRedactor({ secrets = [], env = {} }: RedactorOptions = {}): Redactor {
  const known = new Set<string>()
  const spelled = new Map<string, string>()
  const finders = secrets.filter((secret) => typeof secret === 'function')
  const numbers = new Map<string, number>()
  let knownPattern: RegExp | undefined
  let longKnown: readonly string[] = []

  for (const secret of secrets) if (typeof secret === 'string') addKnown(requireLong(secret))
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && envName.test(name) && isTelling(value)) addKnown(value)

  function addKnown(secret: string): void {
    known.add(secret)
    knownPattern = undefined
  }

  function patternOfKnown(): RegExp {
    if (knownPattern) return knownPattern
    for (const secret of known) for (const spelling of spellingsOf(secret)) spelled.set(spelling, secret)
    const longestFirst = [...spelled.keys()].sort((a, b) => b.length - a.length)
    // A pattern can be too large, and the error of that would quote what it was made of.
    longKnown = longestFirst.filter((spelling) => spelling.length > longestInPattern)
    const rest = longestFirst.slice(longKnown.length)
    knownPattern = new RegExp(rest.map(escaped).join('|') || '(?!)', 'g')
    return knownPattern
  }

  function spansOf(text: string): Span[] {
    const spans = [...shapesIn(text), ...matchesOf(text, patternOfKnown())]
    for (const spelling of longKnown) spans.push(...occurrences(text, spelling))
    for (const find of finders) for (const secret of find(text)) spans.push(...occurrences(text, requireLong(secret)))
    return withoutOverlaps(spans)
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
        if (start >= from) out += tokenOf(secret) // it stands where the secret began
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
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), json(inner, key)]))
  }

  function learn(value: unknown, name = ''): void {
    if (typeof value === 'string') {
      const found = spansOf(value).map(({ secret }) => spelled.get(secret) ?? secret)
      // `Basic abc` is one, and so is `abc`.
      if (isSecretField(name, value)) found.push(value, value.slice(value.lastIndexOf(' ') + 1))
      for (const secret of found) if (isTelling(secret) && !known.has(secret)) addKnown(secret)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) learn(inner, Array.isArray(value) ? name : key)
  }

  return { learn, text: redact, json: (value) => json(value) as typeof value, pieces }
}

const longestInPattern = 4096

interface Span {
  readonly start: number
  readonly end: number
  readonly secret: string
}

/** Where a group is, it is the secret, and what is before it gives it away. Lengths are bounded: texts may be hostile. */
const shapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,20000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g,
  /(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,200}\d)[A-Za-z0-9_-]{12,}/g,
  /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_)[A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{20,}/g,
  /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\bBearer\s{1,4}([A-Za-z0-9._~+/=-]{12,})/gi,
  /\bauthorization\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?(?:basic|bearer|token|digest|apikey)\s{1,4}([^\s"'\\,;]{8,400})/gi,
  /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/"'<>\\]{0,200}:([^\s@/"'<>\\]{3,400})@/gi,
  /\bhttps?:\/\/([^\s:@/"'<>\\]{16,400})@/gi,
  /[?&](?:[a-z0-9]{1,20}[_.-]){0,3}(?:api_?-?key|access_?-?key|(?:access|auth|api|refresh)?token|(?:client)?secret|password|passwd|signature)=([^\s&"'#<>\\]{6,400})/gi,
  /[?&](?:key|sig)=([^\s&"'#<>\\]{16,400})/gi,
  /\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]{0,60}\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/g,
  /\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]{0,60}\s{0,4}[=:]\s{0,4}([^\s"'`,;\\]{6,400})/g,
  /\b[a-z0-9_-]{0,60}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|authorization|cookie|credentials?)\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/gi,
  /(?:^|[\s"'`([{,;|-])(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|pwd|cookie)\s{0,4}[=:]\s{0,4}([^\s"'`,;\\()<>{}[\]]{6,400})/gi,
  /\s--?(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase)[\s=]{1,2}([^\s"'`,;\\-][^\s"'`,;\\]{5,400})/gi,
  /\b(?:set-)?cookie\s{0,4}:\s{0,4}[^\s=;]{1,100}=([^\s;"'\\]{6,400})/gi,
]

const envName = /KEY|TOKEN|SECRET|PASSWORD|PASSWD/
const secretField =
  /(?:^|[_-])(?:(?:api|access|private|secret)[_-]?key|secret|token|pass|password|passwd|passphrase|authorization|cookie|credentials?)$/i
const camelSecretField =
  /(?:apiKey|ApiKey|accessKey|AccessKey|privateKey|PrivateKey|secretKey|Secret|Token|Password|Passphrase|Authorization|Cookie|Credentials?)$/

function shapesIn(text: string): Span[] {
  return shapes.flatMap((shape) => matchesOf(text, shape)).filter(({ secret }) => !isNoSecret(secret))
}

function matchesOf(text: string, pattern: RegExp): Span[] {
  return Array.from(text.matchAll(pattern), (match) => {
    const secret = match[1] ?? match[0]
    const start = match.index + match[0].lastIndexOf(secret)
    return { start, end: start + secret.length, secret }
  })
}

function occurrences(text: string, secret: string): Span[] {
  return matchesOf(text, new RegExp(escaped(secret), 'g'))
}

/** Of two that overlap, the one that begins first, or else the longer one. */
function withoutOverlaps(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end)
  let end = 0
  return spans.filter((span) => {
    if (span.start < end) return false
    end = span.end
    return true
  })
}

/** A field that is named like a secret, with a text that may be one. */
function isSecretField(name: string, value: string): boolean {
  const isNamedSo = secretField.test(name) || camelSecretField.test(name) || /^[A-Z0-9_]*(?:KEY|TOKEN)$/.test(name)
  return isNamedSo && value.length >= 6 && !isNoSecret(value)
}

/** Placeholders and the names of secrets are none themselves. A password may well begin as they do. */
const isNoSecret = (text: string): boolean =>
  /^(?:\[REDACTED:|\$\{|\$\(|\$[A-Z_][A-Z0-9_]*$|\$[a-z_]+$|<[^>]*>?$|\{[^}]*\}+$|%\w+%$|process\.|os\.|undefined$|string$)/.test(
    text,
  )

/** Whether a text is secret wherever it stands; an everyday word is only where something says so. */
const isTelling = (text: string): boolean => text.length >= 8 && /[^A-Za-z]/.test(text) && !isNoSecret(text)

function requireLong(secret: string): string {
  if (secret.length >= 4) return secret
  throw new TypeError(`A secret of ${secret.length} characters would be found everywhere; give at least 4`)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
