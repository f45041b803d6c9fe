import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { change } from '../config/change.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { listOf } from './named-server.ts'

/** `libero mcp remove`. */
export async function remove(
  name: string | undefined,
  { forget }: { readonly forget?: boolean },
  io: Io,
): Promise<number> {
  const shown = fullyVisible(name ?? '')
  await change(io, async (settings) => {
    const servers = isRecord(settings.mcpServers) ? settings.mcpServers : {}
    const names = Object.keys(servers)
    if (name === undefined) throw new UsageError(`which MCP server? ${listOf(names)}`)
    if (!Object.hasOwn(servers, name))
      throw new UsageError(
        `there is no MCP server "${shown}" in your config.json${didYouMean(name, names) || `; ${listOf(names)}`} (one of a project is removed from its .mcp.json)`,
      )
    const { [name]: _, ...left } = servers
    if (Object.keys(left).length > 0) settings.mcpServers = left
    else delete settings.mcpServers
    return true
  })
  io.err(`"${shown}" is removed`)
  return forget ? (await import('./log-out.ts')).forgetLogin(name!, io) : exitCodes.done
}
