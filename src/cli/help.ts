import type { Command, Flag, Flags } from './command.ts'
import type { CommandEntry } from './commands.ts'
import { helpFlag } from './parse.ts'

/** `libero --help`. */
export function overview(commands: readonly CommandEntry[]): string {
  return [
    'libero: an agent that works on your files, asks before risky actions, and keeps every session',
    '',
    'usage:',
    '  libero "task"             work on a task in this folder',
    '  libero <command> --help   what a command does, with examples',
    '  libero                    a conversation; the demo if no model is set up',
    '',
    'commands:',
    ...table(commands.map(({ name, summary }) => [name, summary])),
    '',
    'exit codes: 0 success, 1 failure (reason on stderr), 2 usage error, 3 a call needs an approval, 4 limit reached, 130 interrupted',
  ].join('\n')
}

/** `libero <command> --help`. */
export function helpOf(command: Command, path: string): string {
  const { summary, details = [], flags = {}, examples = [], commands = [] } = command
  return [
    `${path}: ${summary}`,
    '',
    'usage:',
    ...usageOf(command, path).map((line) => `  ${line}`),
    ...details.flatMap((paragraph) => ['', paragraph]),
    ...(commands.length > 0
      ? ['', 'commands:', ...table(commands.map(({ name, summary: says }) => [name, says]))]
      : []),
    '',
    'flags:',
    ...table(
      Object.entries({ ...flags, help: helpFlag } as Flags).map(([name, flag]) => [
        signature(name, flag),
        sentence(flag),
      ]),
    ),
    ...(examples.length > 0
      ? ['', 'examples:', ...examples.flatMap(({ line, says }) => [`  ${line}`, `      ${says}`])]
      : []),
  ].join('\n')
}

export function usageOf({ words, flags, commands = [], run, defaultCommand }: Command, path: string): string[] {
  const own = run ? [[path, ...(flags ? ['[flags]'] : []), ...(words ? [words] : [])].join(' ')] : []
  return [
    ...own,
    ...commands.map(({ name, words: its, flags: have }) => {
      const shown = name === defaultCommand ? `[${name}]` : name
      return [path, shown, ...(have ? ['[flags]'] : []), ...(its ? [its] : [])].join(' ')
    }),
  ]
}

export function signature(name: string, { type, short, value, choices, multiple }: Flag): string {
  const what = choices ? choices.join('|') : (value ?? 'value')
  const taken = type === 'boolean' ? '' : type === 'optional' ? ` [${what}]` : ` <${what}>`
  return `${short ? `-${short}, ` : ''}--${name}${taken}${multiple ? ' …' : ''}`
}

const sentence = ({ says, multiple }: Flag): string => `${says}${multiple ? ' (repeatable)' : ''}`

/** Two columns. If the left cell is too long, the right one goes to the next line. */
function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(28, Math.max(...rows.map(([left]) => left.length)))
  return rows.flatMap(([left, right]) =>
    left.length > width ? [`  ${left}`, `  ${' '.repeat(width)}  ${right}`] : [`  ${left.padEnd(width)}  ${right}`],
  )
}
