import { fullyVisible } from '../../platform/visible-text.ts'
import { broken, type Check, missing, ok } from './check.ts'

/** The MCP servers that are written down, whether they can be understood. None is started. */
export const mcpServers: Check = {
  name: 'mcp',
  isEssential: true, // a run does not begin with a server of the user's that nobody can read
  async look({ io, workspace }) {
    const here = await workspace.catch(() => undefined) // said by the check for settings
    if (!here) return ok('not looked at, as the settings cannot be used')
    const { gatherServers } = await import('../mcp/gather-servers.ts')
    const { MissingVariableError } = await import('../../mcp/read-entry.ts')
    const servers = gatherServers({ workspace: here, io }).filter(({ shadowedBy }) => shadowedBy === undefined)
    const wrong = servers.find(({ error }) => error !== undefined && !(error instanceof MissingVariableError))
    if (wrong) {
      const say = wrong.from === 'user' ? broken : missing
      return say(fullyVisible(`${wrong.where}: ${wrong.error?.message}`), 'correct it, then: libero mcp')
    }
    const unset = servers.find(({ error }) => error !== undefined)
    if (unset) return missing(fullyVisible(`${unset.error?.message}`), 'set it, then: libero mcp test all')
    const used = servers.filter(({ config }) => config !== undefined).map(({ name }) => fullyVisible(name))
    return ok(used.length === 0 ? 'no servers' : `${used.join(', ')}, not tried (libero mcp test all)`)
  },
}
