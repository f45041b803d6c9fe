import { parseArgs } from 'node:util'
import { nearest } from '../core/nearest.ts'
import { cutText } from '../core/text.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { UsageError } from './cli-error.ts'
import type { Command, Flag, Flags, ParsedArgs } from './command.ts'

/** The flag that every command has. */
export const helpFlag = { type: 'boolean', short: 'h', says: 'Show this help' } as const satisfies Flag

/**
 * Parses the words after a command. The value of a flag is never read as a flag itself, and nothing after `--` is a
 * flag.
 */
export function parse(
  args: readonly string[],
  { name, flags = {}, words, maxWords }: Command,
): ParsedArgs & { help: boolean } {
  const all: Flags = { ...flags, help: helpFlag }
  const tokens = tokensOf(args, all)
  const values: Record<string, boolean | string | string[]> = {}
  const found: string[] = []
  let skip = -1
  let isOver = false
  for (const token of tokens) {
    if (token.index === skip) continue
    if (token.kind === 'option-terminator') isOver = true
    if (token.kind === 'positional') found.push(isOver ? token.value : withoutTypographicDash(token.value))
    if (token.kind !== 'option') continue
    const flag = Object.hasOwn(all, token.name) ? all[token.name] : undefined
    if (!flag)
      throw /\s/.test(args[token.index] ?? '') ? dashError(args[token.index]!) : unknownFlag(name, token.rawName, all)
    const inline = token.inlineValue ? token.value : undefined
    const next = flag.type === 'boolean' ? undefined : (inline ?? args[token.index + 1])
    if (flag.type === 'boolean' && inline !== undefined)
      // The value is not shown: it may be a key, as in --key-stdin=…
      throw new UsageError(`${token.rawName} takes no value; leave out the = and what follows it`)
    if (flag.type === 'boolean') values[token.name] = true
    else if (flag.type === 'optional' && inline === undefined && !canBeValue(next)) values[token.name] = true
    else {
      if (next === undefined || (inline === undefined && isFlag(next)))
        throw new UsageError(
          `${token.rawName} needs ${flag.choices ? `one of ${flag.choices.join(', ')}` : `a ${flag.value ?? 'value'}`}${next === undefined ? '' : `; for one that begins with a dash write ${token.rawName}=${fullyVisible(next)}`}`,
        )
      if (inline === undefined && skip === token.index + 1)
        throw new UsageError(`two flags of ${shown(args[token.index]!)} need a value; write them separately`)
      if (inline === undefined) skip = token.index + 1
      setValue(values, token.name, checked(flag, token.rawName, next), flag)
    }
  }
  const most = maxWords ?? (words === undefined ? 0 : Number.POSITIVE_INFINITY)
  if (found.length > most && values.help !== true)
    throw new UsageError(
      most === 0
        ? `${name} takes no arguments, got ${shown(found[0]!)}`
        : `${name} takes ${words}, got ${found.length} arguments`,
    )
  const { help = false, ...rest } = values
  return { values: rest as ParsedArgs['values'], words: found, help: help === true }
}

function tokensOf(args: readonly string[], flags: Flags) {
  try {
    return parseArgs({ args: [...args], options: optionsOf(flags), strict: false, tokens: true }).tokens
  } catch (error) {
    // parseArgs splits `-abc` letter by letter and overflows its stack on a long text that begins with a dash.
    throw error instanceof RangeError ? dashError(args.find(isFlag) ?? '') : error
  }
}

/** For a text that begins with a dash, such as a list. */
const dashError = (word: string): UsageError =>
  new UsageError(`${shown(word)} begins with a dash but is not a flag; put -- before such arguments`)

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>

/** All flags are parsed as switches, so that `parse` itself decides which word is a value. */
function optionsOf(flags: Flags): Options {
  return Object.fromEntries(
    Object.entries(flags).map(([name, { short }]) => [name, { type: 'boolean' as const, ...(short && { short }) }]),
  )
}

/** Rejects a flag whose hyphens a text editor replaced by a typographic dash: it would become part of the task. */
function withoutTypographicDash(word: string): string {
  const [, flag] = /^[\u2010-\u2015\u2212]-?([a-z][\w-]*(?:=.*)?)$/s.exec(word) ?? []
  if (flag === undefined) return word
  const meant = fullyVisible(flag.length === 1 ? `-${flag}` : `--${flag}`)
  throw new UsageError(
    `${shown(word)} begins with a dash that is not a hyphen; write ${meant}, or put -- before it if it is not a flag`,
  )
}

const isFlag = (word: string): boolean => word.startsWith('-') && word !== '-'
const canBeValue = (word: string | undefined): word is string => word !== undefined && !isFlag(word) && !/\s/.test(word)
const shown = (word: string): string => `"${fullyVisible(cutText(word, maxShown))}"`
const maxShown = 200

function checked({ choices, min }: Flag, rawName: string, value: string): string {
  if (min !== undefined && (!/^\d{1,15}$/.test(value) || Number(value) < min))
    throw new UsageError(`${rawName} must be a whole number of at least ${min}, got ${shown(value)}`)
  if (!choices || choices.includes(value)) return value
  const [meant] = nearest(value, choices)
  throw new UsageError(
    `${rawName} cannot be ${shown(value)}; it is one of ${choices.join(', ')}${meant ? ` (did you mean ${meant}?)` : ''}`,
  )
}

function setValue(values: Record<string, boolean | string | string[]>, name: string, value: string, flag: Flag): void {
  const before = values[name]
  if (flag.multiple) values[name] = [...(Array.isArray(before) ? before : []), value]
  else if (before === undefined || before === value) values[name] = value
  else
    throw new UsageError(`--${name} was given twice, as ${shown(String(before))} and as ${shown(value)}; give it once`)
}

function unknownFlag(command: string, rawName: string, flags: Flags): UsageError {
  const names = Object.keys(flags).map((name) => `--${name}`)
  const meant = nearest(rawName, names, 2).join(' or ')
  return new UsageError(`${command} has no flag ${shown(rawName)}${meant && `; did you mean ${meant}?`}`)
}
