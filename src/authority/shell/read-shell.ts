import type { Findings } from './findings.ts'
import { looseWords } from './loose-words.ts'
import type { ReadCommand, ShellReading } from './reading.ts'
import { readSyntax } from './syntax.ts'
import { unreadable } from './unreadable.ts'

/** What a shell line says. Takes anything and never throws; what it cannot read is not whole and gives its words. */
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
    // Too many commands, too deep, or a construct the parser does not know itself.
    obstacles.add('more than can be read')
    unread.add(text)
  }
  const isWhole = unread.size === 0
  return {
    isWhole,
    obstacles: [...obstacles],
    commands,
    words: isWhole ? [] : looseWords([...unread.add(text)].join('\n')),
  }
}

/** The answer for a text that nobody may take the time to read. */
export function notWhole(text: string, obstacle: string): ShellReading {
  return { isWhole: false, obstacles: [obstacle], commands: [], words: looseWords(text) }
}

/** Wrappers with unknown flags offer each of their words as a command: the square of them, unless somebody stops it. */
const mostCommands = 2000
const mostWords = 20_000
