import type { Findings } from './findings.ts'
import { candidateWords } from './loose-words.ts'
import type { ReadCommand, ShellReading } from './reading.ts'
import { readSyntax } from './syntax.ts'
import { unreadable } from './unreadable.ts'

/** Parses a shell line. Never throws; a line that cannot be parsed is not whole, and gives its words. */
export function readShell(text: string): ShellReading {
  const problem = unreadable(text)
  if (problem !== undefined) return notWhole(text, problem)
  const obstacles = new Set<string>()
  const commands: ReadCommand[] = []
  const unread = new Set<string>()
  let wordCount = 0
  const findings: Findings = {
    obstacle: (name) => obstacles.add(name),
    command(command) {
      commands.push(command)
      wordCount += command.words.length
      if (commands.length > mostCommands || wordCount > mostWords) throw new Error('too many commands')
    },
    unread: (part) => unread.add(part),
  }
  try {
    readSyntax(text, findings)
  } catch {
    // Too many commands, too deep, or a construct unknown to the parser.
    obstacles.add('more than can be read')
    unread.add(text)
  }
  const isWhole = unread.size === 0
  return {
    isWhole,
    obstacles: [...obstacles],
    commands,
    words: isWhole ? [] : candidateWords([...unread.add(text)].join('\n')),
  }
}

/** The result for a text that is not parsed. */
export function notWhole(text: string, obstacle: string): ShellReading {
  return { isWhole: false, obstacles: [obstacle], commands: [], words: candidateWords(text) }
}

/** Wrappers with unknown flags report each of their words as a command, which would be quadratic without a bound. */
const mostCommands = 2000
const mostWords = 20_000
