import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import type { OpenedServers } from './open-servers.ts'

/** The servers of `--mcp`, checked before anything starts. */
export async function parseMcpFlags(texts: readonly string[] | undefined, { env }: Pick<Io, 'env'>) {
  return texts && (await import('./server-entry.ts')).readMcpFlags(texts, env)
}

export interface ServersContext {
  readonly workspace: Workspace
  readonly io: Io
  readonly view: ServersView
  /** Use neither the user's nor the project's servers. */
  readonly only?: 'flags'
}

/** The servers of a run. If there are none, returns undefined without loading the MCP code. */
export async function openServersIfAny(
  flags: Awaited<ReturnType<typeof parseMcpFlags>>,
  context: ServersContext,
): Promise<OpenedServers | undefined> {
  const { project, loaded } = context.workspace
  if (context.only && !flags) return undefined
  const isNone = !flags && !loaded.config.mcpServers && !project.items.some(({ kind }) => kind === 'mcp')
  return isNone ? undefined : (await import('./open-servers.ts')).openServers(flags ?? [], context)
}

/** Shows a person what happens to servers during a run. */
export interface ServersView {
  /** Shows what the run waits for; undefined when the wait is over. */
  waiting(text: string | undefined): void
  /** Reports that something is missing in this run, even with `--quiet`. */
  failed(text: string): void
  notice(text: string): void
}

/** A view that prints lines, for commands without a screen. */
export function linesView(say: (line: string) => void): ServersView {
  return { waiting: (text) => text !== undefined && say(text), failed: say, notice: say }
}
