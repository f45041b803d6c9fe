import { opaqueWrappers, shells, type Wrapper, wrappers } from './tables/wrappers.ts'

/** The commands that a wrapper runs. */
interface Wrapped {
  /** The inner command may replace the whole. */
  readonly isTransparent: boolean
  /** The range of words of each inner command. */
  readonly inner: readonly (readonly [from: number, to: number])[]
  /** Shell lines among its words. */
  readonly lines: readonly string[]
  /** Its flags are unknown: `inner` is every word that could be a program. */
  readonly isGuess: boolean
}

/** The inner commands, or undefined if it runs only itself. `isUnsure` tells which words are not final. */
export function unwrap(words: readonly string[], isUnsure: (index: number) => boolean): Wrapped | undefined {
  const [written = '', first = ''] = words
  const program = baseName(written)
  if (shells.has(program)) return shell(words)
  if (program === 'find' || program === 'gfind' || program === 'fd' || program === 'fdfind') return executed(words)
  if (program === 'trap')
    return lines(
      words
        .slice(1)
        .filter((word) => !word.startsWith('-'))
        .slice(0, 1),
    )
  if (program === 'alias') return lines(words.slice(1).map((word) => word.replace(/^[^=\s]*=/, '')))
  if (program === 'command' && /^-p?[vV]/.test(first)) return undefined
  if (opaqueWrappers.has(program) || isLoader.test(program) || (program === 'jobs' && first.startsWith('-x')))
    return guess(words, 1)
  const named = wrappers.get(program)
  const wrapper = named ?? wrappers.get(`${program} ${first}`)
  if (!wrapper) return undefined
  return byTable(words, isUnsure, wrapper, named ? 1 : 2)
}

/** Whether a command runs text: then quoted text elsewhere in the line may be a command. */
export function runsText([written = '']: readonly string[]): boolean {
  const program = baseName(written)
  return shells.has(program) || /^(eval|source|\.)$/.test(program) || /[$`]/.test(written)
}

/** Whether a command is a shell, perhaps wrapped, that may read lines from its input. */
export function readsLines(words: readonly string[]): boolean {
  const program = baseName(words[0])
  if (/^(ssh|at|batch|crontab)$/.test(program)) return true
  if (/^(source|\.)$/.test(program)) return isInput.test(words[1] ?? '')
  const operands = words.filter(
    (word, at) => at > 0 && !/^[-+]/.test(word) && !isInput.test(word) && !/^[-+][a-z]*o$/i.test(words[at - 1]!),
  )
  if (shells.has(program)) return operands.length === 0 || words.includes('-s')
  const isWrapper = wrappers.has(program) || opaqueWrappers.has(program)
  return isWrapper && (shells.has(baseName(operands.at(-1))) || words.includes('-s'))
}

const isInput = /^\/(?:dev|proc\/self)\/(?:stdin|fd\/)/

/** The name of a program without its folder, in small letters. */
export const baseName = (path = ''): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase()

/** The dynamic linker runs its argument. */
const isLoader = /^ld(?:-[\w.-]+)?\.so[.\d]*$/

/** A path is not a known wrapper: any file can be named `timeout`. */
const isSystemName = /^(?:\/(?:usr\/(?:local\/)?)?s?bin\/)?[a-z]+$/

function byTable(
  words: readonly string[],
  isUnsure: (index: number) => boolean,
  wrapper: Wrapper,
  start: number,
): Wrapped | undefined {
  const { flags = '', valued = '', long = [], operands = 0, assigns, isLine, transparent } = wrapper
  const lines: string[] = []
  let at = start
  let isBare = true
  for (; at < words.length; at++) {
    const word = words[at]!
    if (isUnsure(at)) return guess(words, start)
    if (word === '--') {
      at++
      break
    }
    const isAssignment = assigns && word.includes('=') && !word.startsWith('-')
    // `env -` is `env -i`.
    const isClear = assigns && word === '-'
    if (!isAssignment && !isClear && (word === '-' || !word.startsWith('-'))) break
    isBare = false
    if (isAssignment || isClear || long.includes(word)) continue
    if (word.startsWith('--')) {
      const name = long.find((flag) => flag.endsWith('=') && word.startsWith(flag.slice(0, -1)))
      if (name === undefined) return guess(words, start)
      if (word === name.slice(0, -1)) at++
      else if (!word.startsWith(name)) return guess(words, start)
      continue
    }
    for (let letter = 1; letter < word.length; letter++) {
      const flag = word[letter]!
      if (flags.includes(flag)) continue
      const takesLine = wrapper.lines?.includes(flag)
      if (!takesLine && !valued.includes(flag)) return guess(words, start)
      const value = word.slice(letter + 1) || words[++at]
      if (isUnsure(at)) return guess(words, start)
      if (takesLine && value !== undefined) lines.push(value)
      break
    }
  }
  for (; assigns && words[at]?.includes('='); at++) isBare = false
  for (let own = 0; own < operands; own++) {
    if (isUnsure(at)) return guess(words, start)
    // Some accept flags after their own words too.
    if (words[++at]?.startsWith('-')) return guess(words, start)
  }
  const hasInner = at < words.length
  if (!hasInner && lines.length === 0) return undefined
  const isTransparent =
    hasInner &&
    lines.length === 0 &&
    isSystemName.test(words[0]!) &&
    (transparent === 'always' || (transparent === 'bare' && isBare))
  if (isLine) return { isTransparent, inner: [], lines: [words.slice(at).join(' ')], isGuess: false }
  return { isTransparent, inner: hasInner ? [[at, words.length]] : [], lines, isGuess: false }
}

/** `sh -c 'a line' name arguments`. A script file is not an inner command. */
function shell(words: readonly string[]): Wrapped | undefined {
  if (words.some((word) => word.startsWith('--command'))) return guess(words, 1)
  const flag = words.findIndex((word, at) => at > 0 && /^[-+][a-z]*c[a-z]*$/i.test(word))
  const operand = words.findIndex((word, at) => at > 0 && !/^[-+]/.test(word))
  // After the first operand a `-c` belongs to the script, unless that operand is the value of an option.
  const isOfScript = operand > 0 && operand < flag && !/^[-+][a-z]*o$|^--/i.test(words[operand - 1]!)
  if (flag < 0 || flag === words.length - 1 || isOfScript) return undefined
  const line = words[flag + 1]!
  // `-c -o errexit 'a line'`: the line is among the rest. A line with `$1` may run what follows it.
  if (/^[-+]/.test(line)) return { ...guess(words, flag + 1)!, lines: words.slice(flag + 1) }
  const rest = line.includes('$') ? guess(words, flag + 2) : undefined
  return { isTransparent: false, inner: rest?.inner ?? [], lines: [line, ...(rest?.lines ?? [])], isGuess: true }
}

/** `find … -exec a command ;` */
function executed(words: readonly string[]): Wrapped | undefined {
  const inner: [number, number][] = []
  for (let at = 1; at < words.length; at++) {
    if (!/^(?:-(?:exec|execdir|ok|okdir|x|X)|--exec(?:-batch)?)$/.test(words[at]!)) continue
    const from = at + 1
    while (at < words.length && words[at] !== ';' && !(words[at] === '+' && words[at - 1] === '{}')) at++
    if (from < at) inner.push([from, at])
  }
  return inner.length > 0 ? { isTransparent: false, inner, lines: [], isGuess: false } : undefined
}

/** `trap 'a line' EXIT`, `alias x='a line'`. */
function lines(found: readonly string[]): Wrapped | undefined {
  return found.length > 0 ? { isTransparent: false, inner: [], lines: found, isGuess: false } : undefined
}

/** Every later word may be the program; one with blanks or syntax may be a line, and so may the value of a flag. */
function guess(words: readonly string[], start: number): Wrapped | undefined {
  if (start >= words.length) return undefined
  const inner: [number, number][] = []
  const lines: string[] = []
  for (let at = start; at < words.length; at++) {
    const word = words[at]!
    if (!word.startsWith('-')) inner.push([at, words.length])
    const value = valueIn(word)
    if (value !== word && value !== '') lines.push(value)
    if (isSyntax.test(word)) lines.push(word)
  }
  return { isTransparent: false, inner, lines, isGuess: true }
}

const isSyntax = /[\s;&|<>()`$'"\\]/

/** `--flag=value`, `-fvalue`, `Name=value` */
function valueIn(word: string): string {
  if (/^-[^-]/.test(word)) return word.slice(2)
  return word.slice(word.indexOf('=') + 1)
}
