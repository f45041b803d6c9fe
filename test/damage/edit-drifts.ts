import { countOf, type EditSample } from './edit-samples.ts'
import { type BlockStyle, braceStyle, nestedSample, pythonStyle } from './nested-samples.ts'
import type { Random } from './random.ts'

/** A file, an edit as a model writes it, and what the file should become; `undefined` where only a refusal is right. */
export interface Drifted {
  readonly text: string
  readonly old: string
  readonly new: string
  readonly meant: string | undefined
}

/** Lets the file, or the edit, drift from the other; `undefined` where it cannot. */
export type Drift = (sample: EditSample, random: Random) => Drifted | undefined

/** Every kind of drift. */
export const editDrifts: Readonly<Record<string, Drift>> = {
  none: (sample) => drifted(sample, {}),
  'indentation missing': (sample) => bothLines(sample, without(commonIndent([...sample.old, ...sample.new]))),
  'indentation too deep': (sample, random) => {
    const more = random.pick(['  ', '    ', '\t'])
    return bothLines(sample, (line) => (line === '' ? line : more + line))
  },
  'spaces for tabs': (sample, random) => {
    const width = random.pick([2, 4])
    const tabs = withLines(sample, (line) => line.replace(/^(?: {2})+/, (indent) => '\t'.repeat(indent.length / 2)))
    const spaces = (line: string): string => line.replace(/^\t+/, (indent) => ' '.repeat(indent.length * width))
    return tabs.old.some((line) => line.startsWith('\t')) ? bothLines(tabs, spaces) : undefined
  },
  'tabs for spaces': (sample) => {
    const isEven = [...sample.old, ...sample.new].every((line) => /^(?: {2})*\S|^$/.test(line))
    if (!isEven || !sample.old.some((line) => line.startsWith(' '))) return undefined
    return bothLines(sample, (line) => line.replace(/^(?: {2})+/, (indent) => '\t'.repeat(indent.length / 2)))
  },
  'only old without indentation': (sample) => {
    const indent = commonIndent(sample.old)
    return indent === '' ? undefined : drifted(sample, { old: sample.old.map(without(indent)) })
  },
  'only old too deep': (sample) => drifted(sample, { old: sample.old.map((line) => `    ${line}`) }),
  'only the first line without indentation': (sample) => {
    const [first] = sample.old
    if (sample.old.length < 2 || first === first!.trimStart()) return undefined
    return bothLines(sample, (line, i) => (i === 0 ? line.trimStart() : line))
  },
  'one line without indentation, the new ones with': (sample) => {
    const { old, new: fresh } = sample
    if (old.length !== 1 || fresh.length < 2 || old[0] === old[0]!.trimStart()) return undefined
    return bothLines(sample, (line, i) => (i === 0 ? line.trimStart() : line))
  },
  'one line without indentation, and the new ones': (sample) => {
    const indent = commonIndent([...sample.old, ...sample.new])
    if (sample.old.length !== 1 || sample.new.length < 2 || indent === '') return undefined
    return bothLines(sample, without(indent))
  },

  'nested braces, one level less': nested(braceStyle, (sample, unit) => bothLines(sample, without(unit))),
  'nested braces, one level more': nested(braceStyle, (sample, unit) => bothLines(sample, (line) => unit + line)),
  'nested braces, only old one level less': nested(braceStyle, (sample, unit) =>
    drifted(sample, { old: sample.old.map(without(unit)) }),
  ),
  'nested braces, only old one level more': nested(braceStyle, (sample, unit) =>
    drifted(sample, { old: sample.old.map((line) => unit + line) }),
  ),
  'nested Python, one level less': nested(pythonStyle, (sample, unit) => bothLines(sample, without(unit))),
  'nested Python, one level more': nested(pythonStyle, (sample, unit) => bothLines(sample, (line) => unit + line)),
  'nested Python, only old one level less': nested(pythonStyle, (sample, unit) =>
    drifted(sample, { old: sample.old.map(without(unit)) }),
  ),
  'nested Python, only old one level more': nested(pythonStyle, (sample, unit) =>
    drifted(sample, { old: sample.old.map((line) => unit + line) }),
  ),

  'spaces at the ends of lines of the file': (sample, random) =>
    inFile(sample, (line) => line + random.pick(['', ' ', '  '])),
  'spaces at the ends of lines of the edit': (sample) => drifted(sample, { old: sample.old.map((line) => `${line} `) }),
  'CRLF in the file': (sample) => {
    const { text, meant, ...edit } = drifted(sample, {})
    return { ...edit, text: text.replaceAll('\n', '\r\n'), meant: meant?.replaceAll('\n', '\r\n') }
  },
  'CRLF in the edit': (sample) => {
    const { old, new: fresh, ...file } = drifted(sample, {})
    return { ...file, old: old.replaceAll('\n', '\r\n'), new: fresh.replaceAll('\n', '\r\n') }
  },
  'a line break at the end of old': (sample) => {
    const { old, ...rest } = drifted(sample, {})
    return { ...rest, old: `${old}\n`, new: `${rest.new}\n` }
  },
  'blank lines around the edit': (sample, random) => {
    const { old, ...rest } = drifted(sample, {})
    const [above, below] = [random.pick(['', '\n']), random.pick(['\n', '\n\n'])]
    return { ...rest, old: above + old + below, new: above + rest.new + below }
  },
  'a blank line more inside old': (sample) => {
    if (sample.old.length < 2) return undefined
    const [first, ...others] = sample.old
    return { ...drifted(sample, { old: [first!, '', ...others] }), meant: undefined }
  },

  'curly quotes in the edit': (sample) => {
    const isQuoted = /['"]/.test(sample.old.join('\n'))
    return isQuoted ? bothLines(sample, curly) : undefined
  },
  'curly quotes in old': (sample) =>
    /['"]/.test(sample.old.join('\n')) ? drifted(sample, { old: sample.old.map(curly) }) : undefined,
  'curly quotes in the file': (sample) => {
    const curled = withLines(sample, curly)
    if (!/['"]/.test(sample.old.join('\n'))) return undefined
    return { ...drifted(curled, {}), old: sample.old.join('\n'), new: sample.new.join('\n') }
  },
  'accents in two characters': (sample) => {
    const accented = withLines(sample, (line) => line.replaceAll('e', 'é'))
    return /e/.test(sample.old.join('')) ? bothLines(accented, (line) => line.normalize('NFD')) : undefined
  },
  'spaces that do not break': (sample) =>
    /\S \S/.test(sample.old.join('\n'))
      ? bothLines(sample, (line) => line.replace(/(?<=\S) (?=\S)/g, '\u00A0'))
      : undefined,

  'line numbers with a tab': (sample) => numbered(sample, '\t'),
  'line numbers with an arrow': (sample) => numbered(sample, '→'),
  'line numbers with a bar': (sample) => numbered(sample, '| '),
  'line numbers with a colon': (sample) => numbered(sample, ':'),
  'line numbers with a colon and a space': (sample) => numbered(sample, ': '),
  'line numbers in old alone': (sample, random) => {
    const mark = random.pick(['\t', '→', '| ', ':', ': '])
    return drifted(sample, { old: sample.old.map((line, i) => `${sample.at + 1 + i}${mark}${line}`) })
  },

  'the place moved': (sample) =>
    drifted({ ...sample, lines: ['// above', '', ...sample.lines], at: sample.at + 2 }, {}),
  'the place changed': (sample, random) => withChangedPlace(sample, random),
  'the place changed, and a twin of other indentation elsewhere': (sample, random) => {
    const changed = withChangedPlace(sample, random)
    const twin = sample.old.map((line) => `  ${line}`)
    return changed && { ...changed, text: `${changed.text}\n${twin.join('\n')}\n` }
  },
  'a twin elsewhere': (sample) => {
    const { text, ...edit } = drifted(sample, {})
    return { ...edit, text: `${text}\n${sample.old.join('\n')}\n`, meant: undefined }
  },
  'a twin of other indentation elsewhere': (sample) => {
    const twin = ['', ...sample.old.map((line) => `\t\t${line.trim()}`), '']
    return sample.old[0] === sample.old[0]!.trimStart()
      ? undefined
      : drifted({ ...sample, lines: [...sample.lines, ...twin] }, {})
  },
  'a twin, and neither is as it was given': (sample) => {
    const twin = sample.old.map((line) => `\t\t${line}`)
    const { text, old, ...edit } = drifted(sample, {})
    return { ...edit, old: old.replace(/^/gm, '   '), text: `${text}\n${twin.join('\n')}\n`, meant: undefined }
  },

  'the same insertion again': (sample) => again(drifted(sample, {})),
  'the same insertion again, without indentation': (sample) =>
    again(bothLines(sample, without(commonIndent([...sample.old, ...sample.new])))),
  'the same insertion again, into CRLF': (sample) => {
    const { text, meant, ...edit } = drifted(sample, {})
    return again({ ...edit, text: text.replaceAll('\n', '\r\n'), meant: meant?.replaceAll('\n', '\r\n') })
  },
  'the same twice': (sample) => ({ ...drifted(sample, { new: sample.old }), meant: undefined }),
  'dots for what was left out': (sample, random) => {
    if (sample.old.length < 3) return undefined
    const dots = random.pick(['...', '…', '// ...'])
    return { ...drifted(sample, { old: [sample.old[0]!, dots, sample.old.at(-1)!] }), meant: undefined }
  },
  'line breaks as escapes': (sample) => {
    const { old, ...rest } = drifted(sample, {})
    return old.includes('\n') ? { ...rest, old: old.replaceAll('\n', '\\n'), meant: undefined } : undefined
  },
}

/** An edit of nested blocks, where one level of indentation is what a drift adds or removes. */
function nested(style: BlockStyle, drift: (sample: EditSample, unit: string) => Drifted): Drift {
  return (_, random) => drift(nestedSample(style, random), style.unit)
}

/** The edit on the file, with other words for it. */
function drifted(
  { lines, at, old, new: fresh }: EditSample,
  said: { readonly old?: readonly string[]; readonly new?: readonly string[] },
): Drifted {
  return {
    text: lines.join('\n'),
    old: (said.old ?? old).join('\n'),
    new: (said.new ?? fresh).join('\n'),
    meant: lines.toSpliced(at, old.length, ...fresh).join('\n'),
  }
}

type ChangeLine = (line: string, index: number) => string

/** Old and new are said differently. */
function bothLines(sample: EditSample, change: ChangeLine): Drifted {
  return drifted(sample, { old: sample.old.map(change), new: sample.new.map(change) })
}

/** File, old and new are different from the beginning. */
function withLines({ lines, at, old, new: fresh }: EditSample, change: ChangeLine): EditSample {
  return { lines: lines.map(change), at, old: old.map(change), new: fresh.map(change) }
}

/** The lines of the file changed since; those that both old and new have stay as the file has them. */
function inFile(sample: EditSample, change: ChangeLine): Drifted | undefined {
  const { lines, at, old, new: fresh } = sample
  const changed = lines.map((line, i) => (i >= at && i < at + old.length ? change(line, i) : line))
  let top = 0
  while (top < Math.min(old.length, fresh.length) && old[top] === fresh[top]) top++
  let bottom = 0
  while (bottom < Math.min(old.length, fresh.length) - top && old.at(-1 - bottom) === fresh.at(-1 - bottom)) bottom++
  const inner = fresh.slice(top, fresh.length - bottom)
  const text = changed.join('\n')
  // What is there to the letter is replaced, and what follows it on its line stays.
  const isThere = text.includes(old.join('\n'))
  const meant = isThere
    ? text.replace(old.join('\n'), () => fresh.join('\n'))
    : changed.toSpliced(at + top, old.length - top - bottom, ...inner).join('\n')
  return { text, old: old.join('\n'), new: fresh.join('\n'), meant }
}

function commonIndent(lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^\s*/.exec(line)![0])
  return indents.reduce((shortest, indent) => (indent.length < shortest.length ? indent : shortest))
}

const without =
  (indent: string): ChangeLine =>
  (line) =>
    line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()

const curly: ChangeLine = (line) =>
  line
    .replace(/"([^"]*)"/g, '“$1”')
    .replace(/'([^']*)'/g, '‘$1’')
    .replaceAll("'", '’')

function numbered({ at, ...sample }: EditSample, mark: string): Drifted {
  const said = (lines: readonly string[]): string[] => lines.map((line, i) => `${at + 1 + i}${mark}${line}`)
  return drifted({ at, ...sample }, { old: said(sample.old), new: said(sample.new) })
}

/** A word of the place is another one now. What is still there to the letter, as the beginning of a line, can be edited. */
function withChangedPlace(sample: EditSample, random: Random): Drifted | undefined {
  const { lines, at, old } = sample
  const line = at + random.below(old.length)
  const changed = lines.with(
    line,
    lines[line]!.replace(/\w{4,}/, (word) => `${word}Since`),
  )
  const isSame = changed[line] === lines[line]
  const made = drifted({ ...sample, lines: isSame ? lines.toSpliced(line, 1) : changed }, {})
  return made.text.includes(made.old) ? undefined : { ...made, meant: undefined }
}

/** The same edit on its own result, if it only adds lines: then nothing is left to do. */
function again({ old, new: fresh, meant }: Drifted): Drifted | undefined {
  if (meant === undefined || !`\n${fresh}\n`.includes(`\n${old}\n`)) return undefined
  const lines = meant.split(/\r?\n/)
  return countOf(lines, old.split('\n')) === 1 ? { text: meant, old, new: fresh, meant } : undefined
}
