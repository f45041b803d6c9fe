import type { Findings } from './found-command.ts'
import { candidateWords } from './loose-words.ts'
import type { ReadCommand, ShellReading } from './reading.ts'
import { readSyntax } from './syntax.ts'

/** Parses a shell line. Never throws; a line that cannot be parsed is not whole, and gives its words. */
export function readShell(text: string): ShellReading {
  const obstacles = new Set<string>()
  const commands: ReadCommand[] = []
  const unread = new Set<string>()
  let wordCount = 0
  let ends: readonly string[] = []
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
    ends = readSyntax(text, findings)
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
    ends,
    words: isWhole ? [] : candidateWords([...unread.add(text)].join('\n')),
  }
}

/** The result for a text that is not parsed. */
export function notWhole(text: string, obstacle: string): ShellReading {
  return { isWhole: false, obstacles: [obstacle], commands: [], ends: [], words: candidateWords(text) }
}

/** Wrappers with unknown flags report each of their words as a command, which would be quadratic without a bound. */
const mostCommands = 2000
const mostWords = 20_000
