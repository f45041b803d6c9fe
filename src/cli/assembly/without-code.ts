import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorityOptions } from '../../authority/authority.ts'
import type { Extension } from '../../core/run.ts'
import type { Io } from '../io.ts'
import type { ServersView } from '../mcp/servers.ts'
import type { FoundSubAgents } from '../sub-agents/load-sub-agents.ts'
import type { Workspace } from './workspace.ts'

/** The hooks of the settings, as an extension. Loads nothing if there are none. */
export async function hookExtensions(
  { cwd, project, loaded: { hooks } }: Workspace,
  { io, authority, view }: { readonly io: Io; readonly authority: AuthorityOptions; readonly view: ServersView },
): Promise<Extension[]> {
  if (!hooks.user && !hooks.project) return []
  const { commandHooks } = await import('../hooks/command-hooks.ts')
  const report = (problem: string): void => view.failed(problem)
  return [commandHooks({ hooks, isTrusted: project.isTrusted, cwd, home: io.home, authority, report })]
}

/** The sub-agents in files. Loads nothing if there is no folder for them. */
export async function foundSubAgents(
  { cwd, project, loaded: { config } }: Workspace,
  { home, userHome }: Pick<Io, 'home' | 'userHome'>,
): Promise<FoundSubAgents> {
  const claude = config.claudeFiles === true
  const folders = [
    join(home, 'agents'),
    join(cwd, '.libero/agents'),
    ...(claude ? [cwd, userHome].map((folder) => join(folder, '.claude/agents')) : []),
  ]
  if (!folders.some((folder) => existsSync(folder))) return { agents: [], problems: [] }
  const { loadSubAgents } = await import('../sub-agents/load-sub-agents.ts')
  return loadSubAgents({ home, project, ...(claude && { claudeHome: userHome }) })
}
