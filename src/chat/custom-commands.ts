import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MarkdownFile, markdownIn, markdownOfProject, readMarkdown } from '../authority/trust/markdown-files.ts'
import type { ProjectEntry } from '../authority/trust/project-entry.ts'
import { messageOf } from '../core/errors.ts'
import type { ChatCommand } from './command.ts'
import { type CustomCommand, customCommand, parseCustomCommand } from './custom-command.ts'

/**
 * Loads the commands of the user, the project and this package. Of two with the same name the user's is used, then the
 * project's. A file that cannot be used is reported and left out.
 */
export async function loadCustomCommands({
  home,
  claudeHome,
  project,
  taken,
}: {
  /** The user's own Libero folder, which may have `commands`. */
  readonly home?: string
  /** The user's home folder, if commands of Claude Code count too: those in `.claude/commands`, of the project as well. */
  readonly claudeHome?: string
  /** Only what a person accepted of `.libero/commands` is read, as it was accepted. */
  readonly project?: ProjectEntry
  /** Names that no file may have: those of the commands in code. */
  readonly taken: Iterable<string>
}): Promise<{
  readonly commands: readonly ChatCommand[]
  /** Each in a sentence that begins with the path. */
  readonly problems: readonly string[]
}> {
  const ofClaude = '.claude/commands'
  const files: readonly CommandFile[] = [
    ...of('user', home === undefined ? [] : await markdownIn(join(home, 'commands'))),
    ...of('project', project ? await markdownOfProject(project, '.libero/commands', 'command') : []),
    ...(claudeHome === undefined
      ? []
      : [
          ...of('user', await markdownIn(join(claudeHome, ofClaude)), 'claude'),
          ...of('project', project ? await markdownOfProject(project, ofClaude, 'command') : [], 'claude'),
        ]),
    ...of('libero', await markdownIn(shippedFolder())),
  ]
  const names = new Set(taken)
  const commands: ChatCommand[] = []
  const problems: string[] = []
  for (const file of files) {
    const read = await readCommand(file, names)
    if (typeof read === 'string') problems.push(`${file.path} is left out: ${read}`)
    else if (read) {
      names.add(read.name)
      commands.push(customCommand(read))
    }
  }
  return { commands, problems }
}

export type CustomCommands = Awaited<ReturnType<typeof loadCustomCommands>>

interface CommandFile extends MarkdownFile {
  readonly from: CustomCommand['from']
  /** Written for Claude Code: fields that we do not have are ignored. */
  readonly dialect?: 'claude'
}

const of = (from: CustomCommand['from'], files: readonly MarkdownFile[], dialect?: 'claude'): CommandFile[] =>
  files.map((file) => ({ ...file, from, ...(dialect && { dialect }) }))

/** The command of a file, why it cannot be used, or undefined if an earlier file or a command in code has its name. */
async function readCommand(file: CommandFile, taken: ReadonlySet<string>): Promise<CustomCommand | string | undefined> {
  const name = file.name.replace(/\.md$/i, '').split('/').join(':').toLowerCase()
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_.-]*(?::[\p{L}\p{N}_.-]+)*$/u.test(name))
    return 'its name must consist of letters, digits, "-", "_" and "."'
  if (taken.has(name))
    return file.from === 'libero' || file.dialect ? undefined : `there is another command /${name}; rename the file`
  try {
    return await parseCustomCommand(await readMarkdown(file), { ...file, name })
  } catch (error) {
    return messageOf(error)
  }
}

/** Beside the `package.json` of this package, in its source as in what is published. */
function shippedFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  return join(folder, 'commands')
}
