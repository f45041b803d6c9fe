import { isNoSecret, type SecretSpan, secretShapesIn } from './secret-shapes.ts'
import { spellingsOf } from './spellings.ts'
import { TextIndex } from './text-index.ts'

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
  const spellings = new TextIndex()
  const finders = secrets.filter((secret) => typeof secret === 'function')
  const numbers = new Map<string, number>()
  const names = new Map<string, string>()

  for (const secret of secrets) if (typeof secret === 'string') addKnown(requireLong(secret))
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && envName.test(name) && isTelling(value)) addKnown(value)

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
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redactedName(key), json(inner, key)]))
  }

  /** Fields of a log have few names, again and again. */
  function redactedName(name: string): string {
    let redacted = names.get(name)
    if (redacted === undefined) names.set(name, (redacted = redact(name)))
    if (names.size > mostNames) names.clear()
    return redacted
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

const mostNames = 1000

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

/** Of two that overlap, the one that begins first, or else the longer one. */
function withoutOverlaps(spans: SecretSpan[]): SecretSpan[] {
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

/** Whether a text is secret wherever it stands; an everyday word is only where something says so. */
const isTelling = (text: string): boolean => text.length >= 8 && /[^A-Za-z]/.test(text) && !isNoSecret(text)

function requireLong(secret: string): string {
  if (secret.length >= 4) return secret
  throw new TypeError(`A secret of ${secret.length} characters would be found everywhere; give at least 4`)
}
