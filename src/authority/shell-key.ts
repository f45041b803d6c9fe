import { shellQuote } from '../core/execution.ts'
import { boundedKey, digestOf } from '../platform/digest.ts'
import type { ReadCommand, ReadRedirect, ShellReading } from '../shell/reading.ts'
import { locate, type ShellLocation } from '../shell/shell-location.ts'

/**
 * The key of a grant for a line: its words as they run, with directory, environment and redirections. However it is
 * spelled, one plain command has one key; if its effect depends on more than its words, so does the key.
 */
export function shellKey(reading: ShellReading, location: ShellLocation, text: string): string {
  if (!isTold(reading)) return `sha256:${digestOf(text)}`
  // Spelling out each would be too long: a thousand `cd` lead to a thousand long paths.
  if (reading.commands.length > mostShown)
    return `sha256:${digestOf(`${locate('.', '.', location).target ?? ''}\n${text}`)}`
  const key = reading.commands.map((command) => shown(command, location)).join('; ')
  const { commands } = reading
  // The words do not include how commands are joined, nor the flags of wrappers.
  const isAll = commands.length === 1 && commands[0]!.via.length === 0
  return boundedKey(isAll ? key : `${key} #${digestOf(text.trim().replace(/[ \t]+/g, ' ')).slice(0, 32)}`)
}

const mostShown = 100

/** Whether the commands fully describe the line. */
function isTold({ isWhole, obstacles, commands }: ShellReading): boolean {
  if (!isWhole || obstacles.length > 0 || commands.length === 0) return false
  return commands.every(
    ({ cwd, isNested, globs, redirects }) =>
      cwd !== undefined && !isNested && !globs.includes(0) && redirects.every(({ target }) => target !== undefined),
  )
}

function shown({ words, globs, env, redirects, cwd }: ReadCommand, location: ShellLocation): string {
  const directory = locate('.', cwd, location).target ?? cwd!
  const matched = new Set(globs)
  return [
    ...(directory === '.' ? [] : [`(${quoted(directory)})`]),
    ...Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`),
    ...words.map((word, at) => (matched.has(at) ? escaped(word) : quoted(word, at === 0 ? /^[\w@%+:,./-]+$/ : plain))),
    ...redirects.map(redirected),
  ].join(' ')
}

const plain = /^[\w@%+=:,./-]+$/

function quoted(word: string, safe = plain): string {
  return safe.test(word) ? word : shellQuote(word)
}

/** A glob keeps its stars. */
function escaped(word: string): string {
  return word.replace(/[^\w@%+=:,./*?[\]-]/g, '\\$&')
}

function redirected({ operator, descriptor, target }: ReadRedirect): string {
  return `${descriptor ?? ''}${operator}${quoted(target!)}`
}
