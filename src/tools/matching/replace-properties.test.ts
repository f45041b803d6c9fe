import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldLookAlikes } from './look-alikes.ts'
import { type NotReplaced, type Replaced, replaceText } from './replace.ts'
import { withLfEndings } from './text-lines.ts'

const replace = (text: string, old: string, fresh: string): Replaced | NotReplaced =>
  replaceText(text, { old, new: fresh, all: false })

const ending = fc.constantFrom('\n', '\r\n', '\r')
const word = fc.constantFrom('', 'a', 'a b', '  c', '\td', 'é', '漢', '😀', '}', 'a ')
const linesOf = (min: number, max: number) =>
  fc.array(fc.tuple(word, ending), { minLength: min, maxLength: max }).map((lines) => lines.flat().join(''))
const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('whatever the text and its line endings', () => {
  test('FT-19 every byte outside the replaced place stays', () => {
    const place = fc.tuple(word, linesOf(0, 3), word).map(([first, middle, last]) => `«${first}${middle}${last}»`)
    const fresh = fc.array(word, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(linesOf(0, 6), place, linesOf(0, 6), fresh, (before, target, after, text) => {
        const result = replace(`${before}${target}${after}`, withLfEndings(target), text)
        if (result.type === 'refused') throw new Error(result.reason)
        expect(result.count).toBe(1)
        expect(sha(result.text.slice(0, before.length))).toBe(sha(before))
        expect(sha(result.text.slice(result.text.length - after.length))).toBe(sha(after))
        const middle = result.text.slice(before.length, result.text.length - after.length)
        expect(withLfEndings(middle)).toBe(text)
      }),
      { numRuns: 500, seed: 11 },
    )
  })

  const fragment = fc.constantFrom(
    'word',
    'word',
    '"x"',
    '“x”',
    ' ',
    '\t',
    '\n',
    '\n',
    '\r\n',
    '\r',
    'other',
    '}',
    '  ',
  )
  const soup = (max: number) => fc.array(fragment, { minLength: 1, maxLength: max }).map((parts) => parts.join(''))

  test('a place is replaced only if it is the only one that could be meant, and nothing else changes', () => {
    const seen = { exact: 0, tolerant: 0, refused: 0 }
    fc.assert(
      fc.property(soup(14), soup(5), soup(4), (text, old, fresh) => {
        fc.pre(withLfEndings(old) !== withLfEndings(fresh) && !/\r(?!\n)/.test(fresh))
        const result = replace(text, old, fresh)
        if (result.type === 'refused') return void seen.refused++
        // Lines that got the indentation of the place are another matter.
        if (result.note?.startsWith('old_string starts after')) return
        seen[result.note === undefined ? 'exact' : 'tolerant']++
        const places = result.note === undefined ? exactPlaces(text, old) : alikeWindows(text, old)
        expect(places).toHaveLength(1)
        const [{ before, after }] = places as [Around]
        if (result.note !== undefined) {
          // Blank lines at its ends may belong to the place.
          expect(result.text.startsWith(before.trimEnd())).toBe(true)
          expect(result.text.endsWith(after.trimStart())).toBe(true)
          return
        }
        expect(result.text.startsWith(before)).toBe(true)
        expect(result.text.endsWith(after)).toBe(true)
        const middle = result.text.slice(before.length, result.text.length - after.length)
        expect(withLfEndings(middle)).toBe(withLfEndings(fresh))
      }),
      { numRuns: 6000, seed: 12 },
    )
    expect(seen.exact).toBeGreaterThan(100)
    expect(seen.tolerant).toBeGreaterThan(50)
    expect(seen.refused).toBeGreaterThan(100)
  })

  test('a second place like it, however it differs, is always refused', () => {
    const blockLine = fc.constantFrom('some words', "it's", '', 'f("x") {', '  deeper - still', '}')
    const block = fc.array(blockLine, { minLength: 1, maxLength: 4 }).filter((lines) => /\w{4}/.test(lines.join('')))
    const disguise = fc.record({
      indent: fc.constantFrom('', '  ', '\t'),
      trailing: fc.constantFrom('', ' ', '\t '),
      isCurly: fc.boolean(),
      ending,
    })
    type Disguise = { indent: string; trailing: string; isCurly: boolean; ending: string }
    const worn = (lines: readonly string[], { indent, trailing, isCurly, ending: end }: Disguise): string =>
      lines
        .map((line) => indent + (isCurly ? line.replaceAll("'", '’').replaceAll('"', '”') : line) + trailing + end)
        .join('')
    fc.assert(
      fc.property(block, disguise, disguise, fc.constantFrom('', '---\n'), (lines, one, two, between) => {
        const text = `${worn(lines, one)}${between}${worn(lines, two)}`
        const result = replace(text, lines.join('\n'), 'something else')
        // An exact one is what was asked for.
        if (result.type === 'replaced') expect(result.note).toBeUndefined()
      }),
      { numRuns: 500, seed: 13 },
    )
  })
})

interface Around {
  readonly before: string
  readonly after: string
}

/** What is around each place that is the old text; a `\n` of it may be any line ending, unless it says `\r` itself. */
function exactPlaces(text: string, old: string): Around[] {
  const literal = old.includes('\r') ? placesThat(text, old.length, (place) => place === old) : []
  if (literal.length > 0) return literal
  const wanted = withLfEndings(old)
  return placesThat(text, 2 * old.length, (place) => withLfEndings(place) === wanted).filter(
    ({ before, after }) =>
      !cutsPair(before, text.slice(before.length)) && !cutsPair(text.slice(0, -after.length), after),
  )
}

const cutsPair = (before: string, after: string): boolean => before.endsWith('\r') && after.startsWith('\n')

function placesThat(text: string, longest: number, isMeant: (place: string) => boolean): Around[] {
  const found: Around[] = []
  for (let start = 0; start < text.length; start++)
    for (let end = start + 1; end <= Math.min(start + longest, text.length); end++)
      if (isMeant(text.slice(start, end))) found.push({ before: text.slice(0, start), after: text.slice(end) })
  return found
}

/** Windows of lines that are like the old text, blank lines around it aside. */
function alikeWindows(text: string, old: string): Around[] {
  const lines = text.split(/(?<=\n)|(?<=\r)(?!\n)/)
  const essence = (line: string): string => foldLookAlikes(line).trim()
  const wanted = withLfEndings(old)
    .replace(/^\s*\n|\n\s*$/g, '')
    .split('\n')
    .map(essence)
  return lines.flatMap((_, i) => {
    const window = lines.slice(i, i + wanted.length)
    if (window.length < wanted.length || window.some((line, j) => essence(line) !== wanted[j])) return []
    return [{ before: lines.slice(0, i).join(''), after: lines.slice(i + wanted.length).join('') }]
  })
}
