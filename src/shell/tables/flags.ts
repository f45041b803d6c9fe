import type { Arguments, FlagTable, ReadArguments, Word } from './program.ts'

/** Reads the words after a program; undefined if nothing is known about them. */
export function readArguments(by: Arguments | undefined, given: readonly Word[]): ReadArguments | string | undefined {
  return typeof by === 'function' ? by(given) : by && readFlags(by, given)
}

/** Parses arguments by a table, as getopt does; a text says why they are not known to be read-only. */
export function readFlags(table: FlagTable, given: readonly Word[]): ReadArguments | string {
  const flags: { name: string; value?: string }[] = []
  const words: Word[] = []
  const reads: string[] = []
  let mayBeFlag = true
  let isEnd = false
  for (let at = 0; at < given.length; at++) {
    const word = given[at]!
    const { text } = word
    if (mayBeFlag && isLoose(word) && !table.hasOnlyReadFlags)
      return `${text} may turn into a flag: file names begin as they like`
    // If a flag before the -- took it as its value, this would be a flag after all.
    if (!mayBeFlag && !isEnd && /^-./.test(text) && !table.hasOnlyReadFlags)
      return `${text} looks like a flag behind --`
    if (!mayBeFlag || text === '-' || !text.startsWith('-')) {
      words.push(word)
      continue
    }
    if (table.flagsFirst && words.length > 0)
      return `${text} stands behind another word, where not every version takes it for a flag`
    if (text === '--') {
      mayBeFlag = false
      isEnd = table.words === 'pattern' && !given[at - 1]?.text.startsWith('-')
      continue
    }
    if (table.hasNumbers && /^-\d+$/.test(text)) continue
    const found = text.startsWith('--') ? longFlag(table, text) : shortFlags(table, text)
    if (!found) return `${text} is not among the flags that are known to be read-only`
    for (const { name, arity, attached } of found) {
      const isValued = arity !== '' && arity !== '?'
      if (attached === undefined && isValued) {
        at += arity.length
        const last = given[at]
        if (!last) return `${name} needs a value`
        // If another version of the program takes no value here, this would be a flag.
        if (!table.hasOnlyReadFlags && (last.text.startsWith('-') || isLoose(last)))
          return `${last.text} stands where ${name} takes a value`
      }
      const value = attached ?? (isValued ? given[at]!.text : undefined)
      flags.push({ name, ...(value !== undefined && { value }) })
      if (arity.endsWith('<') && value !== undefined) reads.push(value)
    }
  }
  const why = tooMuch(table, words)
  if (why) return why
  reads.push(...filesAmong(table, words, flags))
  if (reads.length === 0 && looksHere(table, flags)) reads.push('.')
  const args = { flags, words, reads }
  return table.check?.(args) ?? args
}

/** Whether expansion could turn this word into a flag: `*.ts`, but not `src/*.ts`. */
export function isLoose({ text, isGlob }: Word): boolean {
  return isGlob && !/^[\w./]/.test(text)
}

interface Flag {
  readonly name: string
  readonly arity: string
  readonly attached?: string
}

function longFlag({ long = '' }: FlagTable, text: string): Flag[] | undefined {
  const equals = text.indexOf('=')
  const name = equals < 0 ? text : text.slice(0, equals)
  if (!/^--[\w-]+$/.test(name)) return undefined
  const arity = ['', ':', '<', '?', '::', ':<'].find((mark) => ` ${long} `.includes(` ${name.slice(2)}${mark} `))
  if (arity === undefined || (equals >= 0 && !/^[:<?]$/.test(arity))) return undefined
  return [{ name, arity, ...(equals >= 0 && { attached: text.slice(equals + 1) }) }]
}

function shortFlags({ short = '', valuesApart, noBundles }: FlagTable, text: string): Flag[] | undefined {
  const flags: Flag[] = []
  for (let at = 1; at < text.length; at++) {
    const letter = text[at]!
    const index = /[\w.]/.test(letter) ? short.indexOf(letter) : -1
    if (index < 0) return undefined
    const next = short[index + 1] ?? ''
    const arity = ':<?'.includes(next) ? next : ''
    const rest = text.slice(at + 1)
    const attached = arity !== '' && rest !== '' ? { attached: rest } : undefined
    if (noBundles && (at > 1 || (rest !== '' && !attached))) return undefined
    if (attached && valuesApart && !/^\d+$/.test(rest)) return undefined
    flags.push({ name: `-${letter}`, arity, ...attached })
    if (attached) break
  }
  return flags
}

function tooMuch({ most, words: role }: FlagTable, words: readonly Word[]): string | undefined {
  const limit = role === 'none' ? 0 : most
  if (limit === undefined) return undefined
  const extra = words[limit] ?? words.find(({ isGlob }) => isGlob)
  return extra && (extra.isGlob ? `${extra.text} may be more than one word` : `${extra.text} is one word too many`)
}

function filesAmong(table: FlagTable, words: readonly Word[], flags: ReadArguments['flags']): string[] {
  if (table.words === 'text' || table.words === 'none') return []
  const givesPattern = /^(-e|-f|--regexp|--file|--files|--type-list)$/
  const isPatternFirst = table.words === 'pattern' && !flags.some(({ name }) => givesPattern.test(name))
  return words.slice(isPatternFirst ? 1 : 0).map(({ text }) => text)
}

function looksHere({ readsHere }: FlagTable, flags: ReadArguments['flags']): boolean {
  return readsHere instanceof RegExp ? flags.some(({ name }) => readsHere.test(name)) : readsHere === true
}
