import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { usageOf } from '../src/chat/commands/views.ts'
import { loadCustomCommands } from '../src/chat/custom-commands.ts'
import { createWebOfChat } from '../src/cli/chat/web-command.ts'
import { builtInCommands } from '../src/cli/chat-commands/load-commands.ts'
import { processIo } from '../src/cli/process-io.ts'

export const terminalDocsPath: string = fileURLToPath(new URL('../docs/terminal.md', import.meta.url))

const marks = ['<!-- commands -->', '<!-- end of commands -->'] as const

/** docs/terminal.md with the table of slash commands as they are. */
export async function terminalDocs(page = readFileSync(terminalDocsPath, 'utf8')): Promise<string> {
  const builtIn = createWebOfChat({}, processIo()).withWeb(builtInCommands(processIo()))
  const { commands: shipped } = await loadCustomCommands({ taken: builtIn.map(({ name }) => name) })
  const rows = [...builtIn, ...shipped].map((command) => `| \`${usageOf(command)}\` | ${command.summary} |`)
  const table = [
    '| command | |',
    '|---|---|',
    ...rows,
    '| `/skill:<name> [message]` | Use a [skill](skills.md) |',
  ].join('\n')
  const [from, to] = [page.indexOf(marks[0]), page.indexOf(marks[1])]
  if (from < 0 || to < from) throw new Error(`docs/terminal.md needs the lines ${marks.join(' and ')}`)
  return `${page.slice(0, from)}${marks[0]}\n\n${table}\n\n${page.slice(to)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(terminalDocsPath, await terminalDocs())
