/** Why and where a text is not JSON. */
interface JsonProblem {
  readonly line: number
  readonly column: number
  /** `expected a comma or }`. */
  readonly says: string
}

/**
 * Finds where a text stops being JSON; undefined if it is JSON. `JSON.parse` often does not say where, and it quotes
 * the text. Not recursive, because a file may be nested deeply.
 */
export function jsonProblem(text: string): JsonProblem | undefined {
  const open: ('{' | '[')[] = []
  let expects: Expected = 'value'
  let at = 0
  for (;;) {
    at += /^[ \t\r\n]*/.exec(text.slice(at, at + 10_000))![0].length
    const rest = text.slice(at, at + 1)
    if (/[ \t\r\n]/.test(rest)) continue
    if (expects === 'end') return rest === '' ? undefined : problem(text, at, 'there is more text after the end')
    if (rest === '') return problem(text, at, `the text ends too early, expected ${wordsFor(expects, open.at(-1))}`)
    if (rest === '/' || rest === '#') return problem(text, at, 'comments are not JSON')
    const after = step(text, at, expects, open)
    if (typeof after === 'string') return problem(text, at, after)
    at = after.at
    expects = after.expects
  }
}

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma' | 'end'

function step(
  text: string,
  at: number,
  expects: Expected,
  open: ('{' | '[')[],
): { at: number; expects: Expected } | string {
  const next = text.charAt(at)
  const inside = open.at(-1)
  const afterValue = (to: number) => ({ at: to, expects: open.length === 0 ? ('end' as const) : ('comma' as const) })
  const closes = next === (inside === '{' ? '}' : ']') && inside !== undefined
  if (closes && (expects === 'comma' || expects.endsWith('or end'))) {
    open.pop()
    return afterValue(at + 1)
  }
  if (closes && (expects === 'name' || expects === 'value') && text.slice(0, at).trimEnd().endsWith(','))
    return `there is an extra comma before the ${next}`
  if (expects === 'colon') return next === ':' ? { at: at + 1, expects: 'value' } : expected(expects, inside)
  if (expects === 'comma') {
    if (next !== ',') return expected(expects, inside)
    return { at: at + 1, expects: inside === '{' ? 'name' : 'value' }
  }
  const isName = expects.startsWith('name')
  if (next === '"') {
    const to = endOfText(text, at)
    if (to === undefined) return 'the text that begins here does not end on its line, or has an invalid \\ escape'
    return isName ? { at: to, expects: 'colon' } : afterValue(to)
  }
  if (isName || next === "'") return next === "'" ? 'texts must be in double quotes (")' : expected(expects, inside)
  if (next === '{' || next === '[') {
    open.push(next)
    return { at: at + 1, expects: next === '{' ? 'name or end' : 'value or end' }
  }
  const word = literal.exec(text.slice(at, at + 400))
  return word ? afterValue(at + word[0].length) : expected(expects, inside)
}

const literal = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/

/** The position after the closing quote. */
function endOfText(text: string, from: number): number | undefined {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code < 0x20) return undefined
    if (code !== 0x5c) continue
    const found = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at, at + 6))
    if (!found) return undefined
    at += found[0].length - 1
  }
  return undefined
}

const expected = (expects: Expected, inside: '{' | '[' | undefined): string => `expected ${wordsFor(expects, inside)}`

function wordsFor(expects: Expected, inside: '{' | '[' | undefined): string {
  if (expects === 'comma') return inside === '{' ? 'a comma or }' : 'a comma or ]'
  if (expects === 'colon') return 'a colon'
  if (expects.startsWith('name')) return `a name in double quotes (")${expects === 'name' ? '' : ', or }'}`
  return `a value${expects === 'value' ? '' : ', or ]'}`
}

function problem(text: string, at: number, says: string): JsonProblem {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1, says }
}
