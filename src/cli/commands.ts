import type { Command } from './command.ts'

/** All commands, in the order of the help. Only the one that is called is loaded. */
export const commands: readonly CommandEntry[] = [
  entry('run', 'Work on a task (what `libero "task"` does)', () => import('./commands/run.ts')),
  entry(
    'sessions',
    'List, show, resume, rewind, name, fork, compare, export, import and delete sessions',
    () => import('./commands/sessions.ts'),
  ),
  entry('attach', 'Join a session that another process on this machine runs', () => import('./commands/attach.ts')),
  entry('undo', 'Undo the last message of a session and the file changes for it', () => import('./commands/undo.ts')),
  entry(
    'agents',
    'Create persistent agents, send them messages, answer and watch them',
    () => import('./commands/agents.ts'),
  ),
  entry('schedules', 'Manage and run schedules', () => import('./commands/schedules.ts')),
  entry(
    'tools',
    'Show the tools an agent has in this folder, and where each comes from',
    () => import('./commands/tools.ts'),
  ),
  entry('mcp', 'List, add, remove, test and log in to MCP servers', () => import('./commands/mcp.ts')),
  entry('skills', 'List, show and check skills', () => import('./commands/skills.ts')),
  entry(
    'trust',
    'Decide whether to trust a project’s tools, skills, servers, settings and instructions',
    () => import('./commands/trust.ts'),
  ),
  entry('grants', 'List and revoke the approvals that are kept', () => import('./commands/grants.ts')),
  entry(
    'sandbox',
    'Show what commands can read, write and reach in this folder',
    () => import('./commands/sandbox.ts'),
  ),
  entry('policy', 'Explain the decision about a command, or test rules', () => import('./commands/policy.ts')),
  entry(
    'audit',
    'Show which calls agents asked for, who decided, and where each tool came from',
    () => import('./commands/audit.ts'),
  ),
  entry('models', 'List models and what they cost', () => import('./commands/models.ts')),
  entry('login', 'Store a key, or log in through the browser', () => import('./commands/login.ts')),
  entry('logout', 'Delete a stored key or login', () => import('./commands/logout.ts')),
  entry('config', 'Show or change settings', () => import('./commands/config.ts')),
  entry('doctor', 'Check what works on this machine, and how to fix the rest', () => import('./commands/doctor.ts')),
  entry('completion', 'Print completions for a shell', async () => {
    const { completion } = await import('./commands/completion.ts')
    return { command: completion(() => Promise.all(commands.map((listed) => listed.load()))) }
  }),
  entry('demo', 'Watch Libero fix a failing test, without a key or a network', () => import('./commands/demo.ts')),
  entry('rpc', 'Serve zot’s protocol to another program over stdin and stdout', () => import('./commands/rpc.ts')),
  entry('web', 'Open the page for all sessions in a browser', () => import('./commands/web.ts')),
  entry('acp', 'Serve an editor over the Agent Client Protocol', () => import('./commands/acp.ts')),
  entry('serve', 'Serve sessions and agents to other programs over HTTP', () => import('./commands/serve.ts')),
  entry(
    'worker',
    'Work on the sessions of a fleet, one of any number of such processes',
    () => import('./commands/worker.ts'),
  ),
  entry('fleet', 'Show what the workers of a fleet do', () => import('./commands/fleet.ts')),
  entry(
    'mcp-serve',
    'Run as an MCP server that offers the tools and the agent to other programs',
    () => import('./commands/mcp-serve.ts'),
  ),
]

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

function entry(name: string, summary: string, load: () => Promise<{ readonly command: Command }>): CommandEntry {
  return { name, summary, load: async () => (await load()).command }
}
