import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import { cutText } from '../../core/text.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { builtInPlugins } from '../../plugins/built-in-plugins.ts'
import { setUpPlugins } from '../../plugins/plugin-set.ts'
import { builtInDefinitions } from '../../workflow/definitions/built-in-definitions.ts'
import { checkDefinition } from '../../workflow/definitions/check-definition.ts'
import type { AgentDefinition } from '../../workflow/definitions/definition.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import { readJson } from '../config/read-config.ts'
import type { Io } from '../io.ts'
import { jsonText, shortLine } from '../text.ts'

/** `libero agents definitions`. */
export async function definitions({ values }: Args<{ readonly json?: boolean }>, io: Io): Promise<number> {
  const { found, problems } = await readDefinitions(io)
  if (values.json) {
    io.out(jsonText({ definitions: found.map(({ definition, from }) => ({ ...definition, from })), problems }))
    return exitCodes.done
  }
  const width = Math.max(...found.map(({ definition }) => definition.id.length))
  for (const { definition, from } of found) {
    const { id, name = '', description = name } = definition
    io.out(`${visibleName(id).padEnd(width)}  ${shortLine(description)}`.trimEnd())
    io.out(`${' '.repeat(width)}  ${visibleName(from)}`)
  }
  for (const problem of problems) io.err(problem)
  return exitCodes.done
}

/** A definition and where it comes from. */
interface FoundDefinition {
  readonly definition: AgentDefinition
  /** Its file, or `built in`. */
  readonly from: string
}

export interface FoundDefinitions {
  readonly found: readonly FoundDefinition[]
  /** The folder of the user's own ones. */
  readonly folder: string
  /** Messages for people: which files are left out, and why. */
  readonly problems: readonly string[]
}

/** The built-in definitions, and the user's own in `<home>/agents/*.json`, which replace built-in ones of the same id. */
export async function readDefinitions({ home }: { readonly home: string }): Promise<FoundDefinitions> {
  const folder = join(home, 'agents')
  const own = new Map<string, FoundDefinition>()
  const problems: string[] = []
  for (const name of await filesIn(folder, problems)) {
    const from = join(folder, name)
    try {
      const definition = await readDefinition(from)
      const other = own.get(definition.id)
      if (other) throw new Error(`"${definition.id}" is defined in ${other.from} already; give it another id`)
      own.set(definition.id, { definition, from })
    } catch (error) {
      problems.push(`${fullyVisible(from)} is left out: ${problemText(error, from)}`)
    }
  }
  const builtIn = builtInDefinitions
    .filter(({ id }) => !own.has(id))
    .map((definition) => ({ definition, from: 'built in' }))
  return { found: [...builtIn, ...own.values()], folder, problems }
}

async function filesIn(folder: string, problems: string[]): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'ENOENT')
      problems.push(
        `${fullyVisible(folder)} cannot be read (${code ?? messageOf(error)}); make it a folder that you own`,
      )
    return []
  }
}

async function readDefinition(path: string): Promise<AgentDefinition> {
  const value = await readJson(path, { links: 'followed' })
  const { $schema: _, ...fields } = (value ?? {}) as Record<string, unknown>
  const definition: unknown = Array.isArray(value) || typeof value !== 'object' ? value : fields
  checkDefinition(definition)
  // Report a missing plugin now, not at the first message to the agent.
  const plugins = new Map(builtInPlugins.map((plugin) => [plugin.toolId, plugin]))
  setUpPlugins(definition.config?.plugins ?? [], plugins, { agentId: 'agent-', clock: systemClock })
  return definition
}

/** The message on one line, without the path that precedes it. */
function problemText(error: unknown, path: string): string {
  const shown = fullyVisible(path)
  const text = messageOf(error).replace(`Cannot read ${shown}: `, '').replace(`${shown} is`, 'it is')
  return cutText(fullyVisible(text.replace(/\s+/g, ' ')), 400)
}
