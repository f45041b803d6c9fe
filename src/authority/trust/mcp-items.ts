import { isRecord } from '../../core/is-record.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import { digestOf } from '../../platform/digest.ts'
import { type ReadingBudget, readInside, SourceProblem } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ProjectItem } from './project-items.ts'
import type { ProjectName } from './project-names.ts'
import { refusedVariables, variablesIn } from './project-variables.ts'

/** A server as a configuration file describes it, nothing expanded. */
export type McpEntry = Readonly<Record<string, unknown>>

const mostServers = 100

/** The servers that a configuration file of the project names, each an item of its own. Starts none. */
export async function mcpItems(
  root: string,
  file: ProjectName,
  budget: ReadingBudget,
): Promise<readonly ProjectItem[]> {
  const whole = {
    id: file.id,
    kind: 'mcp',
    path: file.path,
    digest: '',
    files: new Map(),
    shown: fullyVisible(file.id),
  } as const
  try {
    const servers = Object.entries(serversIn((await readInside(root, file.path, budget)).text))
    const items = servers.slice(0, mostServers).map(([name, entry]) => mcpItem(file, name, entry))
    const problem = `it names ${servers.length} servers; only the first ${mostServers} are looked at`
    return servers.length > mostServers ? [...items, { ...whole, problem }] : items
  } catch (error) {
    if (error instanceof Error) return [{ ...whole, problem: error.message }]
    throw error
  }
}

/** One server. Its digest covers all that is written about it, values too: a changed `NODE_OPTIONS` is a changed program. */
export function mcpItem(file: Pick<ProjectName, 'id' | 'path'>, name: string, entry: McpEntry): ProjectItem {
  const text = canonicalJson(entry)
  const refused = refusedVariables(text)
  return {
    id: `${file.id}#${name}`,
    kind: 'mcp',
    path: file.path,
    digest: digestOf(text),
    files: new Map(),
    shown: describe(file, name, entry),
    server: { name, entry },
    ...(refused.length > 0 && {
      problem: `it asks for ${refused.join(', ')}, which a project may not read; put the server into your own configuration`,
    }),
  }
}

function serversIn(text: string): Readonly<Record<string, McpEntry>> {
  const config = parse(text)
  const servers = isRecord(config) ? (config.mcpServers ?? {}) : undefined
  if (!isRecord(servers) || !Object.values(servers).every(isRecord))
    throw new SourceProblem('it is not JSON of the form { "mcpServers": { "<name>": { … } } }')
  return servers as Readonly<Record<string, McpEntry>>
}

/** The parser's error quotes the file, which may hold secrets. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Everything that decides what runs and where data goes, whole; of environment and headers the names, as values are often secret. */
function describe(file: Pick<ProjectName, 'id'>, name: string, entry: McpEntry): string {
  const { command, args, env, url, headers, ...rest } = entry
  const lines = [`server ${quoted(name)} of ${fullyVisible(file.id)}`]
  if (command !== undefined) lines.push(`  command: ${quoted(command)}`)
  if (args !== undefined) lines.push(`  arguments: ${Array.isArray(args) ? args.map(quoted).join(' ') : quoted(args)}`)
  if (url !== undefined) lines.push(`  url: ${quoted(url)}`)
  if (env !== undefined) lines.push(`  environment: ${namesOf(env)}`)
  if (headers !== undefined) lines.push(`  headers: ${namesOf(headers)}`)
  for (const [field, value] of Object.entries(rest)) lines.push(`  ${quoted(field)}: ${quoted(value)}`)
  const variables = variablesIn(canonicalJson(entry))
  if (variables.length > 0) lines.push(`  reads from your environment: ${variables.join(', ')}`)
  return lines.join('\n')
}

function namesOf(value: unknown): string {
  return isRecord(value) ? Object.keys(value).map(quoted).join(' ') : quoted(value)
}

/** In quotes, so that one sees where it begins and ends. */
function quoted(value: unknown): string {
  return fullyVisible(JSON.stringify(value) ?? 'undefined')
}
