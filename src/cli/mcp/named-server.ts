import { messageOf } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { ServerEntry } from './gather-servers.ts'
import type { ServersAround } from './servers-around.ts'

/** The server that is meant by a name, as it can be used; else a sentence with why not, or which one was probably meant. */
export function namedServer(name: string | undefined, { entries, pending }: ServersAround): McpServerConfig {
  const entry = entries.find((one) => one.name === name && !one.shadowedBy)
  if (entry?.config) return entry.config
  if (entry) throw unusable(entry)
  const shown = fullyVisible(needed(name, entries))
  const waiting = pending.find((one) => one.name === name)
  if (waiting) throw new CliError(`the MCP server "${shown}" is not used: ${waiting.why}`)
  const names = entries.map((one) => one.name)
  const which = didYouMean(name!, names) || `; ${listOf(names)}`
  throw new UsageError(`there is no MCP server "${shown}"${which}${unopened(pending)}`)
}

/** Every server that can be used. */
export function allServers({ entries }: Pick<ServersAround, 'entries'>): readonly McpServerConfig[] {
  return entries.flatMap(({ config, shadowedBy }) => (config && !shadowedBy ? [config] : []))
}

/** That there may be more, for the end of a sentence: what a project has is not known before it is trusted. */
export const unopened = (pending: ServersAround['pending']): string =>
  pending
    .filter((one) => one.name === undefined)
    .map(({ where, why }) => `; of ${fullyVisible(where)} nothing is known: ${why}`)
    .join('')

function needed(name: string | undefined, entries: readonly ServerEntry[]): string {
  if (name !== undefined) return name
  throw new UsageError(`which MCP server? ${listOf(entries.map((one) => one.name))}`)
}

/** Which there are, for the end of a sentence. */
export const listOf = (names: readonly string[]): string =>
  names.length > 0
    ? `there are ${[...new Set(names)].map((one) => fullyVisible(one)).join(', ')}`
    : 'there are none yet; see: libero mcp add --help'

function unusable({ name, where, error, isDisabled }: ServerEntry): CliError {
  const shown = `the MCP server "${fullyVisible(name)}" of ${fullyVisible(where)}`
  if (isDisabled) return new CliError(`${shown} is turned off; take "disabled" out of its entry`)
  return new CliError(`${shown} cannot be used: ${fullyVisible(messageOf(error))}`)
}
