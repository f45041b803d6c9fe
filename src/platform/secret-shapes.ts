/** A secret and its position in a text. */
export interface SecretSpan {
  readonly start: number
  readonly end: number
  readonly secret: string
}

/** The secrets of a text that are recognised by their shape, or by the text before them. */
export function secretShapesIn(text: string): SecretSpan[] {
  const spans: SecretSpan[] = []
  if (text.length < minLength) return spans
  const lower = text.toLowerCase()
  for (const { words, near, patterns } of shapes)
    if (words.some((word) => lower.includes(word)) && (!near || near.test(lower)))
      for (const pattern of patterns) for (const span of matchesOf(text, pattern)) spans.push(span)
  return spans.length > 0 ? spans.filter(({ secret }) => !isNoSecret(secret)) : spans
}

/** `pwd=` and six characters are the shortest shape. */
const minLength = 10

/** The matches of a pattern. Its group, if it has one, is the secret. */
export function matchesOf(text: string, pattern: RegExp): SecretSpan[] {
  return Array.from(text.matchAll(pattern), (match) => {
    const secret = match[1] ?? match[0]
    const start = match.index + match[0].lastIndexOf(secret)
    return { start, end: start + secret.length, secret }
  })
}

/** Placeholders and variable references are no secrets. A password may begin like one, so the whole text is matched. */
export const isNoSecret = (text: string): boolean =>
  /^(?:\[REDACTED:|\$\{|\$\(|\$[A-Z_][A-Z0-9_]*$|\$[a-z_]+$|<[^>]*>?$|\{[^}]*\}+$|%\w+%$|process\.|os\.|undefined$|string$)/.test(
    text,
  )

interface Shape {
  /** Every text with such a secret contains one of these, in lower case: searching a word is ten times cheaper than a pattern. */
  readonly words: readonly string[]
  /** If the words are common: another pattern that every such text matches, in lower case. */
  readonly near?: RegExp
  readonly patterns: readonly RegExp[]
}

/**
 * Lengths are bounded, because texts may be hostile. A pattern begins with a rare text and checks what comes before by
 * lookbehind: a pattern that begins with letters would be tried at every word.
 */
const shapes: readonly Shape[] = [
  {
    words: ['private key-----'],
    patterns: [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,20000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g],
  },
  { words: ['sk-'], patterns: [/(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,200}\d)[A-Za-z0-9_-]{12,}/g] },
  {
    words: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'npm_', 'hf_'],
    patterns: [/(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_)[A-Za-z0-9_-]{16,}/g],
  },
  { words: ['aiza'], patterns: [/(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{20,}/g] },
  { words: ['xox'], patterns: [/(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/g] },
  { words: ['akia', 'asia'], patterns: [/(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g] },
  {
    words: ['eyj'],
    patterns: [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g],
  },
  { words: ['bearer'], patterns: [/\bBearer\s{1,4}([A-Za-z0-9._~+/=-]{12,})/gi] },
  {
    words: ['authorization'],
    patterns: [
      /\bauthorization\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?(?:basic|bearer|token|digest|apikey)\s{1,4}([^\s"'\\,;]{8,400})/gi,
    ],
  },
  {
    words: ['://'],
    near: /@/,
    patterns: [
      /:\/\/(?<=\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s:@/"'<>\\]{0,200}:([^\s@/"'<>\\]{3,400})@/gi,
      /:\/\/(?<=\bhttps?:\/\/)([^\s:@/"'<>\\]{16,400})@/gi,
    ],
  },
  {
    words: ['key=', 'token=', 'secret=', 'password=', 'passwd=', 'signature=', 'sig='],
    patterns: [
      /[?&](?:[a-z0-9]{1,20}[_.-]){0,3}(?:api_?-?key|access_?-?key|(?:access|auth|api|refresh)?token|(?:client)?secret|password|passwd|signature)=([^\s&"'#<>\\]{6,400})/gi,
      /[?&](?:key|sig)=([^\s&"'#<>\\]{16,400})/gi,
    ],
  },
  {
    words: ['key', 'token', 'secret', 'passw', 'passphrase', 'pwd', 'authorization', 'cookie', 'credential'],
    near: /(?:key|token|secret|passwd|password|passphrase|pwd|authorization|cookie|credentials?)[a-z0-9_]{0,60}\\?["']?\s{0,4}[=:]/,
    patterns: [
      /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?<=\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))[A-Z0-9_]{0,60}\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/g,
      /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?<=\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))[A-Z0-9_]{0,60}\s{0,4}[=:]\s{0,4}([^\s"'`,;\\]{6,400})/g,
      /(?:key|secret|token|password|passwd|passphrase|authorization|cookie|credentials?)(?=\\?["']?\s{0,4}[=:])(?<=\b[a-z0-9_-]{0,60}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|authorization|cookie|credentials?))\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/gi,
      /(?:key|secret|token|password|passwd|passphrase|pwd|cookie)(?=\s{0,4}[=:])(?<=(?:^|[\s"'`([{,;|-])(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|pwd|cookie))\s{0,4}[=:]\s{0,4}([^\s"'`,;\\()<>{}[\]]{6,400})/gi,
      /\b(?:set-)?cookie\s{0,4}:\s{0,4}[^\s=;]{1,100}=([^\s;"'\\]{6,400})/gi,
    ],
  },
  {
    words: ['key', 'token', 'secret', 'passw', 'passphrase'],
    near: /\s--?[a-z0-9]/,
    patterns: [
      /\s--?(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase)[\s=]{1,2}([^\s"'`,;\\-][^\s"'`,;\\]{5,400})/gi,
    ],
  },
]
