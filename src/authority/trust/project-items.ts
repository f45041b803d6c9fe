import { realpath } from 'node:fs/promises'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { parsedJson } from '../../core/plain-json.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import { digestOf } from '../../platform/digest.ts'
import {
  type ReadingBudget,
  readInside,
  readingBudget,
  type SourceFiles,
  SourceProblem,
  sourceFiles,
} from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { instructionsBudget, repositoryOf } from './instructions.ts'
import { identifyProject } from './project-identity.ts'
import { type ClaudeSearch, type ItemKind, type ProjectName, projectNames } from './project-names.ts'

/** A part of a project that can run code or steer the model, in its current state. */
export interface ProjectItem {
  /** The path from the project folder, with `/`; for a server followed by `#` and its name. */
  readonly id: string
  readonly kind: ItemKind
  readonly path: string
  /** The real path of a skill, links resolved. */
  readonly realPath?: string
  readonly digest: string
  /** Digests of its files, by real path. */
  readonly files: ReadonlyMap<string, string>
  /** Text for a prompt, in full. */
  readonly shown: string
  readonly server?: { readonly name: string; readonly entry: McpEntry }
  readonly problem?: string
}

/**
 * All items of a project, hashed. Runs nothing, and parses only the lists of MCP servers. Opens files of the project, so
 * call it only for a trusted project or to compute a digest.
 */
export async function listItems(root: string, search: ClaudeSearch = {}): Promise<readonly ProjectItem[]> {
  const { canonicalPath } = await identifyProject(root)
  const { names } = await projectNames(canonicalPath, search)
  const budget = readingBudget()
  const items: ProjectItem[] = []
  for (const name of names) items.push(...(await itemsOf(canonicalPath, name, budget)))
  return items
}

/** One digest over all items of a project, to trust it where no person can be asked. */
export async function projectDigest(root: string, search: ClaudeSearch = {}): Promise<string> {
  return digestOfItems(await listItems(root, search))
}

/** The digest over given items. */
export function digestOfItems(items: readonly ProjectItem[]): string {
  return digestOf(JSON.stringify(items.map(({ id, digest, problem }) => [id, problem === undefined ? digest : null])))
}

async function itemsOf(root: string, name: ProjectName, budget: ReadingBudget): Promise<readonly ProjectItem[]> {
  if (name.kind === 'mcp') return mcpItems(root, name, budget)
  const isText = name.kind === 'instructions'
  const found = await itemFiles(await boundaryOf(root, name.kind), name.path, isText ? instructionsBudget() : budget)
  const realPath = name.kind === 'skill' ? await realpath(name.path).catch(() => undefined) : undefined
  const count = found.files.size > 1 ? ` (${found.files.size} files)` : ''
  const shown = `${name.kind} ${fullyVisible(name.id)}${count}`
  return [{ ...name, ...found, shown, ...(realPath !== undefined && { realPath }) }]
}

/** The folder that the files of an item must stay inside: for instructions the whole repository. */
export async function boundaryOf(root: string, kind: ItemKind): Promise<string> {
  return kind === 'instructions' ? repositoryOf(root) : root
}

/** Hashes the files of an item. If one cannot be read, says why. */
export async function itemFiles(
  root: string,
  path: string,
  budget: ReadingBudget,
): Promise<SourceFiles & { readonly problem?: string }> {
  try {
    return await sourceFiles(root, path, budget)
  } catch (error) {
    if (!(error instanceof SourceProblem) && codeOf(error) === undefined) throw error
    const problem = error instanceof SourceProblem ? error.message : `it cannot be read (${codeOf(error)})`
    return { digest: '', files: new Map(), problem }
  }
}

/** A server as written in a configuration file, with variables unexpanded. */
export type McpEntry = Readonly<Record<string, unknown>>

const mostServers = 100

/** The servers in a configuration file, each as an item. Starts none. */
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
    const problem = `it names ${servers.length} servers; only the first ${mostServers} are used`
    return servers.length > mostServers ? [...items, { ...whole, problem }] : items
  } catch (error) {
    if (error instanceof Error) return [{ ...whole, problem: error.message }]
    throw error
  }
}

/** One server as an item. Its digest covers the whole entry, values too: a changed `NODE_OPTIONS` is a changed program. */
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
  const config = parsedJson(text)
  const servers = isRecord(config) ? (config.mcpServers ?? {}) : undefined
  if (!isRecord(servers) || !Object.values(servers).every(isRecord))
    throw new SourceProblem('it is not JSON of the form { "mcpServers": { "<name>": { … } } }')
  return servers as Readonly<Record<string, McpEntry>>
}

/** Everything that decides what runs and where data goes, in full; of environment and headers only the names, as values are often secret. */
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

/** Quotes a value, to show where it begins and ends. */
function quoted(value: unknown): string {
  return fullyVisible(JSON.stringify(value) ?? 'undefined')
}

/** The variables a text refers to, as `${NAME}` or `${NAME:-default}`. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name = '']) => name))]
}

/** The variables in a text that a project may not read. */
export function refusedVariables(text: string): readonly string[] {
  return variablesIn(text).filter((name) => !readable.has(name) && !/^LC_[A-Z]+$/.test(name))
}

/** Variables that a project may read: none is a credential. */
const readable: ReadonlySet<string> = new Set(['HOME', 'PWD', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'])

/** Matches the beginning only: a default may contain anything, also another reference. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?=:-[^}]*\}|\})/g
