import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import type { OpenedServers } from './open-servers.ts'

/** What `--mcp` said, checked before anything begins. */
export async function parseMcpFlags(texts: readonly string[] | undefined, { env }: Pick<Io, 'env'>) {
  return texts && (await import('./server-entry.ts')).readMcpFlags(texts, env)
}

/** Where servers are looked for, and who hears of them. */
export interface ServersContext {
  readonly workspace: Workspace
  readonly io: Io
  readonly view: ServersView
  /** Neither the user's nor the project's. */
  readonly only?: 'flags'
}

/** The servers of a run; undefined, and nothing of MCP is loaded, where there are none. */
export async function openServersIfAny(
  flags: Awaited<ReturnType<typeof parseMcpFlags>>,
  place: ServersContext,
): Promise<OpenedServers | undefined> {
  const { project, loaded } = place.workspace
  if (place.only && !flags) return undefined
  const isNone = !flags && !loaded.config.mcpServers && !project.items.some(({ kind }) => kind === 'mcp')
  return isNone ? undefined : (await import('./open-servers.ts')).openServers(flags ?? [], place)
}

/** Where a person hears of what servers do to a run. */
export interface ServersView {
  /** What is waited for, for longer than a moment; nothing when it is over. */
  waiting(text: string | undefined): void
  /** Something is missing in this run. Said even to those who want to hear the answer only. */
  failed(text: string): void
  said(text: string): void
}

/** Everything in lines, where there is no screen. */
export function linesView(say: (line: string) => void): ServersView {
  return { waiting: (text) => text !== undefined && say(text), failed: say, said: say }
}
