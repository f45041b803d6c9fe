import { realpath } from 'node:fs/promises'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
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
import { type ItemKind, type ProjectName, type ProjectSearchOptions, projectNames } from './project-names.ts'

/** Something in a project that could run or steer, as it is now. */
export interface ProjectItem {
  /** Its path from the folder of the project, with `/`; for a server followed by `#` and its name. */
  readonly id: string
  readonly kind: ItemKind
  readonly path: string
  /** Of a skill: where it really lies, links followed. */
  readonly realPath?: string
  readonly digest: string
  /** The files it is made of: digests by real path. */
  readonly files: ReadonlyMap<string, string>
  /** For a person: nothing cut, nothing hidden. */
  readonly shown: string
  readonly server?: { readonly name: string; readonly entry: McpEntry }
  /** Why it cannot be trusted as it is. */
  readonly problem?: string
}

/**
 * All that a project brings, hashed; nothing is run, and only the lists of MCP servers are read for what they say. Opens
 * files of the project, so it is for those that somebody trusts or wants to know the digest of.
 */
export async function listItems(root: string, lookFor: ProjectSearchOptions = {}): Promise<readonly ProjectItem[]> {
  const { canonicalPath } = await identifyProject(root)
  const { names } = await projectNames(canonicalPath, lookFor)
  const budget = readingBudget()
  const items: ProjectItem[] = []
  for (const name of names) items.push(...(await itemsOf(canonicalPath, name, budget)))
  return items
}

/** One digest over all that a project brings, to trust it by where nobody can be asked. */
export async function projectDigest(root: string, lookFor: ProjectSearchOptions = {}): Promise<string> {
  return digestOfItems(await listItems(root, lookFor))
}

/** The same of items that are at hand. */
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

/** What the files of an item must not lead out of: instructions belong to the whole repository. */
export async function boundaryOf(root: string, kind: ItemKind): Promise<string> {
  return kind === 'instructions' ? repositoryOf(root) : root
}

/** What an item is made of. */
interface ItemFiles extends SourceFiles {
  /** Why it cannot be trusted as it is. */
  readonly problem?: string
}

/** The files of an item of a project, hashed; one that cannot be read whole says why. */
export async function itemFiles(root: string, path: string, budget: ReadingBudget): Promise<ItemFiles> {
  try {
    return await sourceFiles(root, path, budget)
  } catch (error) {
    if (!(error instanceof SourceProblem) && codeOf(error) === undefined) throw error
    const problem = error instanceof SourceProblem ? error.message : `it cannot be read (${codeOf(error)})`
    return { digest: '', files: new Map(), problem }
  }
}

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

/** The variables that a text asks for, as `${NAME}` or `${NAME:-default}`. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name = '']) => name))]
}

/** Those among them that a project may not read. */
export function refusedVariables(text: string): readonly string[] {
  return variablesIn(text).filter((name) => !readable.has(name) && !/^LC_[A-Z]+$/.test(name))
}

/** What a project's configuration may learn about the person: nothing that opens a door. */
const readable: ReadonlySet<string> = new Set(['HOME', 'PWD', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'])

/** By its beginning: a default may hold anything, another reference too. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?=:-[^}]*\}|\})/g
