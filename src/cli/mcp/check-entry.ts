import type { McpServerConfig } from '../../mcp/config.ts'
import { MissingVariableError, readMcpEntry } from '../../mcp/read-entry.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { ConfigError } from '../config/config-error.ts'
import { entryProblem } from './entry-problem.ts'

/** Where an entry stands, or is about to. */
interface EntryPlace {
  /** The config file; absent where it was given on the command line. */
  readonly file?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Refuses an entry that could not be used as it is written. Gives it as it will be read, and the variables that are not set now. */
export function checkEntry(
  name: string,
  entry: unknown,
  { file, env = {} }: EntryPlace,
): { readonly config: McpServerConfig; readonly unset: readonly string[] } {
  const variables = { ...env }
  const unset: string[] = []
  for (;;) {
    try {
      const where = file === undefined ? fullyVisible(name) : `mcpServers.${fullyVisible(name)}`
      return { config: readMcpEntry(name, entry, variables, where), unset }
    } catch (error) {
      if (!(error instanceof MissingVariableError)) throw refusal(error, file)
      unset.push(error.variable)
      variables[error.variable] = standIn
    }
  }
}

/** Fits wherever a variable may stand, in an address too. */
const standIn = 'https://unset.invalid'

function refusal(error: unknown, file: string | undefined): Error {
  const message = fullyVisible(entryProblem(error))
  if (file === undefined) return new UsageError(message, { cause: error })
  return new ConfigError(`${fullyVisible(file)}: ${message}`, { cause: error })
}
