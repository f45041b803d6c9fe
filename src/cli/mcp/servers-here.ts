import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import type { OpenedServers } from './open-servers.ts'
import type { ServersView } from './servers-view.ts'

/** What `--mcp` said, checked before anything begins. */
export async function checkedFlags(texts: readonly string[] | undefined, { env }: Pick<Io, 'env'>) {
  return texts && (await import('./read-flags.ts')).readFlags(texts, env)
}

/** Where servers are looked for, and who hears of them. */
export interface ServersPlace {
  readonly workspace: Workspace
  readonly io: Io
  readonly view: ServersView
  /** Neither the user's nor the project's. */
  readonly only?: 'flags'
}

/** The servers of a run; undefined, and nothing of MCP is loaded, where there are none. */
export async function serversHere(
  flags: Awaited<ReturnType<typeof checkedFlags>>,
  place: ServersPlace,
): Promise<OpenedServers | undefined> {
  const { project, loaded } = place.workspace
  if (place.only && !flags) return undefined
  const isNone = !flags && !loaded.config.mcpServers && !project.items.some(({ kind }) => kind === 'mcp')
  return isNone ? undefined : (await import('./open-servers.ts')).openServers(flags ?? [], place)
}
