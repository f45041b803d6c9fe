import type { ChatCommand } from '../../chat/command.ts'
import { type CommandWork, lazyCommand } from '../../chat/lazy-command.ts'
import type { Io } from '../io.ts'

/** The commands of a chat that need parts of the command line, in the order of the help. */
export function cliCommands(io: Io): readonly ChatCommand[] {
  const entry = (
    name: string,
    summary: string,
    argument: string | undefined,
    load: () => Promise<(io: Io) => CommandWork>,
  ): ChatCommand =>
    lazyCommand({ name, summary, ...(argument !== undefined && { argument }) }, async () => (await load())(io))
  return [
    entry(
      'export',
      'Write this session to a file: md, html or jsonl',
      '[file or format]',
      async () => (await import('./export.ts')).exportSession,
    ),
    entry(
      'tools',
      'Show the tools of this folder, and where each comes from',
      undefined,
      async () => (await import('./lists.ts')).tools,
    ),
    entry('mcp', 'Show MCP servers, test them, log in and out', '[server]', async () => (await import('./mcp.ts')).mcp),
    entry('skills', 'Show the skills of this folder', undefined, async () => (await import('./lists.ts')).skills),
    entry(
      'agents',
      'Show your agents, or the conversation of one',
      '[agent]',
      async () => (await import('./lists.ts')).agents,
    ),
    entry('schedules', 'Show the schedules', undefined, async () => (await import('./lists.ts')).schedules),
    entry(
      'trust',
      'Show what this project brings, and decide whether to trust it',
      undefined,
      async () => (await import('./trust.ts')).trustProject,
    ),
    entry(
      'sandbox',
      'Show what commands can read, write and reach here',
      '[command]',
      async () => (await import('./lists.ts')).sandbox,
    ),
    entry(
      'policy',
      'Explain how a shell command would be decided',
      '[command]',
      async () => (await import('./lists.ts')).policy,
    ),
    entry(
      'login',
      'Store a key of a provider, or log in',
      '[provider]',
      async () => (await import('./login.ts')).login,
    ),
    entry('logout', 'Delete a stored key or login', '[provider]', async () => (await import('./login.ts')).logout),
    entry('doctor', 'Check what works on this machine', undefined, async () => (await import('./lists.ts')).doctor),
  ]
}
