import { each, type Program, type ReadArguments, reads, type Word } from './program.ts'

/** Programs that the shell has built in. */
export const builtins: Readonly<Record<string, Program>> = {
  cd: { neutral: { short: 'LP', most: 1 } },
  pwd: { neutral: { short: 'LP', words: 'none' } },
  true: { neutral: readEcho, exitOne: 'never' },
  ':': { neutral: readEcho, exitOne: 'never' },
  false: { neutral: readEcho },
  echo: reads(readEcho, { exitOne: 'never' }),
  printf: reads(readPrintf, { exitOne: 'never' }),
  test: reads((given) => readTest(given, 'test'), { exitOne: 'no' }),
  '[': reads((given) => readTest(given, '['), { exitOne: 'no' }),
  ...each(
    'function coproc jobs bg fg disown wait kill pushd popd dirs umask ulimit type return break continue exit logout suspend caller times',
    { forgets: true },
  ),
}

/** `test` and `[` in their plain forms: the others evaluate their operands. */
function readTest(given: readonly Word[], name: 'test' | '['): ReadArguments | string {
  const glob = given.find(({ isGlob }) => isGlob)
  if (glob) return `${glob.text} may be more than one word`
  let words = given.map(({ text }) => text)
  if (name === '[' && words.pop() !== ']') return 'a [ without its ]'
  while (words.length > 1 && words[0] === '!' && !isComparison(words)) words = words.slice(1)
  const [first = '', second = '', third = ''] = words
  if (words.length <= 1) return looked(given)
  if (words.length === 2) {
    if (/^-[nz]$/.test(first)) return looked(given)
    return /^-[bcdefghkLNOGprsSuwx]$/.test(first)
      ? looked(given, [second])
      : `${first} is not among the tests that are known to be read-only`
  }
  if (areJoined(words))
    return looked(
      given,
      words.filter((word) => !isOperator.test(word)),
    )
  if (!isComparison(words)) return `${words.length} words that are no plain comparison`
  if (/^(=|==|!=|<|>)$/.test(second)) return looked(given)
  if (/^-(nt|ot|ef)$/.test(second)) return looked(given, [first, third])
  const areNumbers = [first, third].every((word) => /^([+-]?\d+|\$\?)$/.test(word))
  return areNumbers ? looked(given) : `${second} evaluates what is no plain number`
}

function isComparison(words: readonly string[]): boolean {
  return words.length === 3 && /^(=|==|!=|<|>|-nt|-ot|-ef|-eq|-ne|-lt|-le|-gt|-ge)$/.test(words[1]!)
}

/** `-f a -a ! -d b`: only tests of files, in which no word can be read as anything else. */
function areJoined(words: readonly string[]): boolean {
  return /^(! )*-[defhLrswx] \.( -[ao] (! )*-[defhLrswx] \.)+$/.test(
    words.map((word) => (isOperator.test(word) ? word : '.')).join(' '),
  )
}

const isOperator = /^(-.*|[!()<>]|!?==?|)$/

/** `printf` without `-v` and `%n`, which set variables. */
function readPrintf(given: readonly Word[]): ReadArguments | string {
  const format = given[given[0]?.text === '--' ? 1 : 0]
  if (!format) return looked(given)
  if (format.isGlob) return `${format.text} may turn into a flag: file names begin as they like`
  if (format === given[0] && format.text.startsWith('-')) return `${format.text} is not among the flags that only print`
  if (/%[^a-zA-Z%]*[hlLjzt]*n/.test(format.text.replaceAll('%%', ''))) return '%n sets a variable'
  return looked(given)
}

/** `echo` prints all its arguments, flags too. */
function readEcho(given: readonly Word[]): ReadArguments {
  return looked(given)
}

function looked(words: readonly Word[], reads: readonly string[] = []): ReadArguments {
  return { flags: [], words, reads }
}
