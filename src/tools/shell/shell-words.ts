/** A word of a command line without its quotes, or an operator such as `|` or `&&`. */
export interface ShellToken {
  readonly text: string
  readonly isOperator: boolean
  /** Unquoted characters that the shell expands. */
  readonly glob: boolean
  readonly brace: boolean
  /** `$name`, also inside double quotes. */
  readonly variable: boolean
  /** Expansions that can do more than insert a value: `$(…)`, backticks, `${…}`, `$'…'`, `$[…]`. */
  readonly code: boolean
}

/** Splits a command line like a POSIX shell; `undefined` for open quotes or control characters. */
export function tokensOf(command: string): readonly ShellToken[] | undefined {
  if (hasControlCharacters.test(command)) return undefined
  const tokens: ShellToken[] = []
  let word: Mutable<ShellToken> | undefined
  const open = (): Mutable<ShellToken> => (word ??= blank())
  const close = (): void => {
    if (word) tokens.push(word)
    word = undefined
  }

  for (let i = 0; i < command.length; i++) {
    const character = command[i]!
    if (character === ' ' || character === '\t') close()
    else if (operatorCharacters.includes(character)) {
      close()
      const text = operatorAt(command, i)
      tokens.push({ ...blank(), text, isOperator: true })
      i += text.length - 1
    } else if (character === "'") {
      const end = command.indexOf("'", i + 1)
      if (end < 0) return undefined
      open().text += command.slice(i + 1, end)
      i = end
    } else if (character === '"') {
      const end = readDoubleQuoted(command, i + 1, open())
      if (end === undefined) return undefined
      i = end
    } else if (character === '\\') {
      if (i + 1 >= command.length) return undefined
      open().text += command[++i] === '\n' ? '' : command[i]
    } else readBare(command, i, open())
  }
  close()
  return tokens
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

const blank = (): Mutable<ShellToken> => ({
  text: '',
  isOperator: false,
  glob: false,
  brace: false,
  variable: false,
  code: false,
})

const operatorCharacters = '|&;<>()\n'
const longOperators = ['&&', '||', ';;', '>>', '<<', '>|', '&>', '>&', '<&', '<>']

function operatorAt(command: string, at: number): string {
  const pair = command.slice(at, at + 2)
  return longOperators.includes(pair) ? pair : command[at]!
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are meant
const hasControlCharacters = /[\x00-\x08\x0b-\x1f\x7f]/

function readBare(command: string, at: number, word: Mutable<ShellToken>): void {
  const character = command[at]!
  word.text += character
  if ('*?['.includes(character)) word.glob = true
  if (character === '{') word.brace = true
  noteExpansion(command, at, word)
  // Only outside quotes does a quote after `$` begin another kind of string.
  if (character === '$' && /['"]/.test(command[at + 1] ?? '')) word.code = true
}

/** Returns the position of the closing quote. */
function readDoubleQuoted(command: string, from: number, word: Mutable<ShellToken>): number | undefined {
  for (let i = from; i < command.length; i++) {
    const character = command[i]!
    if (character === '"') return i
    if (character === '\\' && '$`"\\\n'.includes(command[i + 1] ?? ' ')) {
      if (command[++i] !== '\n') word.text += command[i]
      continue
    }
    word.text += character
    noteExpansion(command, i, word)
  }
  return undefined
}

function noteExpansion(command: string, at: number, word: Mutable<ShellToken>): void {
  if (command[at] === '`') word.code = true
  if (command[at] !== '$') return
  const next = command[at + 1] ?? ''
  if ('({['.includes(next) && next !== '') word.code = true
  if (/[\w@*#?$!-]/.test(next)) word.variable = true
}
