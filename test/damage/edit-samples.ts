import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from './random.ts'

/** An edit of a real file, made of whole lines, as a model means it. */
export interface EditSample {
  /** The lines of the file. */
  readonly lines: readonly string[]
  /** Where the old lines begin, and how many they are. */
  readonly at: number
  readonly old: readonly string[]
  readonly new: readonly string[]
}

/** Our own sources: real indentation, quotes and repetition. */
const corpus: () => readonly (readonly string[])[] = keptOnce(() => {
  const root = join(import.meta.dirname, '../../src')
  const paths = globSync('{core,tools,authority,cli}/**/*.ts', { cwd: root }).toSorted()
  return paths.map((path) => readFileSync(join(root, path), 'utf8').split('\n')).filter(({ length }) => length > 30)
})

function keptOnce<T>(make: () => T): () => T {
  let kept: T | undefined
  return () => {
    kept ??= make()
    return kept
  }
}

/** A change to one to four lines that are there once. */
export function editSample(random: Random): EditSample {
  for (;;) {
    const lines = random.pick(corpus())
    const at = random.below(lines.length - 6)
    const old = lines.slice(at, at + 1 + random.below(4))
    const isTelling = old.every((line) => /\w{4}/.test(line) || line.trim() === '}') && /\w{4}/.test(old[0]!)
    if (!isTelling || countOf(lines, old) !== 1 || `\n${lines.join('\n')}`.split(old.join('\n')).length !== 2) continue
    const fresh = changed(old, lines, at, random)
    if (fresh.join('\n') !== old.join('\n')) return { lines, at, old, new: fresh }
  }
}

function changed(old: readonly string[], lines: readonly string[], at: number, random: Random): readonly string[] {
  const line = random.below(old.length)
  const inserted = (indent: string): string[] => statements({ indent, at, lines, random })
  const indent = /^\s*/.exec(old[line]!)![0]
  switch (random.below(4)) {
    case 0:
      return old.with(
        line,
        old[line]!.replace(/\w{4,}/, (word) => `${word}Other`),
      )
    case 1:
      return [...old.slice(0, line), ...inserted(indent), ...old.slice(line)]
    case 2: {
      const isOpening = /(?:[{([:=,&|?]|=>)$/.test(old[line]!)
      return old.toSpliced(line + 1, 0, ...inserted(isOpening ? indent + unitOf(lines) : indent))
    }
    default:
      return old.toSpliced(line, 1, ...inserted(indent))
  }
}

interface Place {
  readonly indent: string
  readonly at: number
  readonly lines: readonly string[]
  readonly random: Random
}

/** Statements for a place: two or three lines, at its depth and one deeper. */
function statements({ indent, at, lines, random }: Place): string[] {
  const name = `fresh${at}`
  return random.chance(50)
    ? [`${indent}const ${name} = make('${name}')`, `${indent}use(${name})`]
    : [`${indent}if (${name}) {`, `${indent}${unitOf(lines)}use("${name}")`, `${indent}}`]
}

const unitOf = (lines: readonly string[]): string => (lines.some((line) => line.startsWith('\t')) ? '\t' : '  ')

/** How often some lines stand in others, indentation and spaces at their ends aside. */
export function countOf(lines: readonly string[], wanted: readonly string[]): number {
  let count = 0
  for (let i = 0; i + wanted.length <= lines.length; i++)
    if (wanted.every((line, n) => line.trim() === lines[i + n]!.trim())) count++
  return count
}
