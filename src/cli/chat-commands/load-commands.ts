import type { ChatCommand } from '../../chat/command.ts'
import { chatCommands } from '../../chat/commands/chat-commands.ts'
import type { CustomCommands } from '../../chat/custom-commands.ts'
import { lazyCommand } from '../../chat/lazy-command.ts'
import { messageOf } from '../../core/errors.ts'

import type { Io } from '../io.ts'
import { cliCommands } from './cli-commands.ts'

/** The commands that are code: they are there at once. */
export function builtInCommands(io: Io): readonly ChatCommand[] {
  const withAudit = chatCommands.map((command) => (command.name === 'why' ? whyWithAudit(command, io) : command))
  const quit = withAudit.at(-1)!
  return [...withAudit.slice(0, -1), ...cliCommands(io), quit]
}

/**
 * All commands of a folder: those that are code, Markdown files, and skills. What cannot be used is in `problems`, in
 * sentences, and in what `/help` shows.
 */
export async function loadCommands(
  io: Io,
  folder: string,
): Promise<{ readonly commands: readonly ChatCommand[]; readonly problems: readonly string[] }> {
  const builtIn = builtInCommands(io)
  const { commands: found, problems } = await loadMessageCommands(io, folder, builtIn)
  const help = builtIn[0]!
  const withProblems = lazyCommand(help, async () =>
    (await import('../../chat/commands/views.ts')).helpCommand(problems),
  )
  return { commands: [withProblems, ...builtIn.slice(1), ...found], problems }
}

/** The commands of a folder that become messages: Markdown files, and skills. */
export async function loadMessageCommands(
  io: Io,
  folder: string,
  builtIn: readonly ChatCommand[] = builtInCommands(io),
): Promise<CustomCommands> {
  const leftOut = (what: string) => (error: unknown) => ({
    commands: [],
    problems: [`${what} are left out: ${messageOf(error)}`],
  })
  const found = await Promise.all([
    ownCommands(io, folder, builtIn).catch(leftOut('Own commands')),
    commandsOfSkills(io, folder).catch(leftOut('Skills')),
  ])
  return { commands: found.flatMap((one) => one.commands), problems: found.flatMap((one) => one.problems) }
}

/** As in a run, but without a question: a file that was not accepted is not used. */
async function ownCommands(io: Io, folder: string, builtIn: readonly ChatCommand[]): Promise<CustomCommands> {
  const [{ enterProject }, { createTrustList }, { loadCustomCommands }, { claudeSearch, userConfig }] =
    await Promise.all([
      import('../../authority/trust/enter-project.ts'),
      import('../../authority/trust/trust-list.ts'),
      import('../../chat/custom-commands.ts'),
      import('../config/config.ts'),
    ])
  const search = claudeSearch((await userConfig(io.home))?.config)
  const project = await enterProject(folder, { list: createTrustList({ folder: io.home }), ...search })
  project.dispose()
  const claude = search.claudeFiles && { claudeHome: io.userHome }
  return loadCustomCommands({ home: io.home, ...claude, project, taken: builtIn.map(({ name }) => name) })
}

async function commandsOfSkills(io: Io, folder: string): Promise<CustomCommands> {
  const [{ findSkills }, { skillCommands }] = await Promise.all([
    import('../skills/skills.ts'),
    import('../../chat/commands/skill.ts'),
  ])
  const { skills } = await findSkills({ cwd: folder }, io)
  return { commands: skillCommands(skills), problems: [] }
}

/** The audit knows the decisions of earlier processes too. */
function whyWithAudit({ name, summary, argument }: ChatCommand, io: Io): ChatCommand {
  return lazyCommand({ name, summary, ...(argument !== undefined && { argument }) }, async () => {
    const [{ whyCommand }, { findDecision }] = await Promise.all([
      import('../../chat/commands/why.ts'),
      import('../audit/find-decision.ts'),
    ])
    return whyCommand(findDecision(io))
  })
}
