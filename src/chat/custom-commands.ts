import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProjectEntry } from '../authority/trust/project-entry.ts'
import { messageOf } from '../core/errors.ts'
import { compareTexts } from '../core/text.ts'
import { readSmallText } from '../platform/read-small-text.ts'
import { readInside, readingBudget } from '../platform/source-files.ts'
import type { ChatCommand } from './command.ts'
import { type CustomCommand, customCommand, parseCustomCommand } from './custom-command.ts'

/** The commands of Markdown files, and the files that cannot be used. */
export interface CustomCommands {
  readonly commands: readonly ChatCommand[]
  /** Each in a sentence that begins with the path. */
  readonly problems: readonly string[]
}

/**
 * Loads the commands of the user, the project and this package. Of two with the same name the user's is used, then the
 * project's. A file that cannot be used is reported and left out.
 */
export async function loadCustomCommands({
  home,
  project,
  taken,
}: {
  /** The user's own Libero folder, which may have `commands`. */
  readonly home?: string
  /** Only what a person accepted of `.libero/commands` is read, as it was accepted. */
  readonly project?: ProjectEntry
  /** Names that no file may have: those of the commands in code. */
  readonly taken: Iterable<string>
}): Promise<CustomCommands> {
  const files = [
    ...(home === undefined ? [] : await filesIn(join(home, 'commands'), 'user')),
    ...(project ? await filesOfProject(project) : []),
    ...(await filesIn(shippedFolder(), 'libero')),
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

interface CommandFile {
  readonly path: string
  /** From the folder of commands, with `/`: `git/commit.md`. */
  readonly name: string
  readonly from: CustomCommand['from']
  /** Its project, and whether a person accepted these bytes. */
  readonly project?: { readonly root: string; readonly isAccepted: (digest: string) => boolean }
}

const mostDepth = 3
const mostFiles = 500

/** The command of a file, why it cannot be used, or undefined if an earlier file or a command in code has its name. */
async function readCommand(file: CommandFile, taken: ReadonlySet<string>): Promise<CustomCommand | string | undefined> {
  const name = file.name.replace(/\.md$/i, '').split('/').join(':').toLowerCase()
  if (!/^[\p{L}\p{N}][\p{L}\p{N}_.-]*(?::[\p{L}\p{N}_.-]+)*$/u.test(name))
    return 'its name must consist of letters, digits, "-", "_" and "."'
  if (taken.has(name)) return file.from === 'libero' ? undefined : `there is another command /${name}; rename the file`
  try {
    return await parseCustomCommand(await textOf(file), { name, from: file.from })
  } catch (error) {
    return messageOf(error)
  }
}

const mostBytes = 64 * 1024

/** A file of a project must lie in it, and is used only as it was accepted. */
async function textOf({ path, project }: CommandFile): Promise<string> {
  const refuse = (code: string): Error =>
    new Error(code === 'EFBIG' ? `it has more than ${mostBytes / 1024} KiB` : `it cannot be read as text (${code})`)
  if (!project) return (await readSmallText(path, { mostBytes, links: 'followed', refuse })) ?? ''
  const { text, digest } = await readInside(project.root, path, readingBudget())
  if (!project.isAccepted(digest)) throw new Error('it has changed since it was accepted; libero trust shows it')
  if (text.length > mostBytes) throw refuse('EFBIG')
  return text
}

async function filesOfProject({ root, items, isTrusted, isAccepted }: ProjectEntry): Promise<CommandFile[]> {
  if (!isTrusted()) return []
  const folder = join(root, '.libero', 'commands')
  const accepted = items.filter(({ kind }) => kind === 'command').flatMap(({ files }) => [...files.keys()])
  const known = new Set(accepted)
  const found = (await filesIn(folder, 'project')).filter(({ path }) => known.has(path))
  return found.map((file) => ({
    ...file,
    project: { root, isAccepted: (digest: string) => isTrusted() && isAccepted({ path: file.path, digest }) },
  }))
}

/** The Markdown files in a folder, sorted by name; none if there is no such folder. */
async function filesIn(root: string, from: CustomCommand['from']): Promise<CommandFile[]> {
  const found: CommandFile[] = []
  const visit = async (folder: string, prefix: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => compareTexts(a.name, b.name))) {
      if (entry.name.startsWith('.') || found.length >= mostFiles) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < mostDepth) await visit(path, `${prefix}${entry.name}/`, depth + 1)
      else if (/\.md$/i.test(entry.name)) found.push({ path, name: prefix + entry.name, from })
    }
  }
  await visit(root, '', 1)
  return found
}

/** Beside the `package.json` of this package, in its source as in what is published. */
function shippedFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  return join(folder, 'commands')
}
