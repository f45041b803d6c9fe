import type { Command } from './command.ts'

/** Every command, by name and in the order of the help. Only the one that is called is loaded. */
export const commands: readonly CommandEntry[] = [
  entry('run', 'Work on a task (what `libero "task"` does)', () => import('./commands/run.ts')),
  entry(
    'sessions',
    'List, show, resume, fork, export, import and delete sessions',
    () => import('./commands/sessions.ts'),
  ),
  entry(
    'agents',
    'Make agents that stay, speak to them, answer them, watch them',
    () => import('./commands/agents.ts'),
  ),
  entry('schedules', 'Have agents woken at times, and wake them', () => import('./commands/schedules.ts')),
  entry('tools', 'Show the tools an agent has here, and where each comes from', () => import('./commands/tools.ts')),
  entry('mcp', 'List, add, remove, test and log in to MCP servers', () => import('./commands/mcp.ts')),
  entry('skills', 'List, show and check skills', () => import('./commands/skills.ts')),
  entry(
    'trust',
    'Say what a project may bring: tools, skills, servers, settings, instructions',
    () => import('./commands/trust.ts'),
  ),
  entry('policy', 'Explain what would be decided about a command, or test rules', () => import('./commands/policy.ts')),
  entry(
    'audit',
    'Show what agents asked for, who decided about it, and where each tool came from',
    () => import('./commands/audit.ts'),
  ),
  entry('models', 'List models and what they cost', () => import('./commands/models.ts')),
  entry('login', 'Store a key, or log in through the browser', () => import('./commands/login.ts')),
  entry('logout', 'Forget a stored key or login', () => import('./commands/logout.ts')),
  entry('config', 'Show or change settings', () => import('./commands/config.ts')),
  entry('doctor', 'Say what works on this machine, and how to mend the rest', () => import('./commands/doctor.ts')),
  entry('completion', 'Print completions for a shell', async () => {
    const { completion } = await import('./commands/completion.ts')
    return { command: completion(() => Promise.all(commands.map((listed) => listed.load()))) }
  }),
  entry('demo', 'Watch it fix a failing test, without a key or a network', () => import('./commands/demo.ts')),
  entry('rpc', 'Be driven by another program, over zot’s protocol', () => import('./commands/rpc.ts')),
  entry(
    'mcp-serve',
    'Be an MCP server: lend its tools, and itself, to other programs',
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
