import { nameForModel } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import { compareTexts, headOf } from '../../core/text.ts'
import type { JsonSchema, ToolDef } from '../../core/tool.ts'
import { withoutHidden } from '../../platform/visible-text.ts'

/** A tool that is held back until the model asks for it. */
export interface LazyToolEntry {
  /** The name for the model. */
  readonly name: string
  readonly canonicalName: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly server: string
  /** The name on its server. */
  readonly tool?: string
}

/** The default name of the search tool. */
export const toolSearchName = 'tool_search'

/** The held-back tools of a run, sorted by name. Only tools of servers are ever held back. */
export function lazyToolsOf(run: Run): LazyToolEntry[] {
  const entries: LazyToolEntry[] = []
  for (const canonicalName of run.tools.names()) {
    const tool = run.tools.get(canonicalName)
    const name = nameForModel(run.provider, canonicalName)
    // A tool with the name of the search tool is the search tool, and must not be hidden.
    if (!tool?.mcp || !isLazy(tool, run) || name === toolSearchName) continue
    const { description, inputSchema } = tool.spec
    const { server, tool: own } = tool.mcp
    entries.push({ name, canonicalName, description, inputSchema, server, tool: own })
  }
  return entries.sort(byName)
}

/** The setting of its server counts, else that of the run. */
const isLazy = ({ mcp }: ToolDef, { settings: { behavior } }: Run): boolean =>
  mcp !== undefined && (mcp.disclosure ?? behavior.toolDisclosure) === 'lazy'

export const byName = (a: LazyToolEntry, b: LazyToolEntry): number => compareTexts(a.name, b.name)

/** Servers with the number of their tools, for the model: `docs (3), github (40)`. */
export function serversOf(entries: readonly LazyToolEntry[]): string {
  const counts = new Map<string, number>()
  for (const { server } of entries) counts.set(server, (counts.get(server) ?? 0) + 1)
  const named = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([server, count]) => `${server} (${count})`)
  const rest = named.length - mostServers
  return named.slice(0, mostServers).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const mostServers = 50

/** Text of a server on one line, safe inside a tag: it cannot close the tag and hides nothing. */
export function foreignText(text: string, maxLength: number): string {
  return escapeXml(cut(oneLine(text, maxLength), maxLength))
}

/** The same for its first sentence. */
export function firstSentence(text: string, maxLength: number): string {
  const line = oneLine(text, 1000)
  const [sentence = line] = /^.*?[.!?](?=\s|$)/.exec(line) ?? []
  return escapeXml(cut(sentence.replace(/\.$/, ''), maxLength))
}

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Only as much is processed as can fill the line. */
const oneLine = (text: string, maxLength: number): string =>
  withoutHidden(text.slice(0, maxLength * 4))
    .text.replace(/\s+/g, ' ')
    .trim()

/** Cuts between two words if possible, and never within a character. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const start = headOf(text, maxLength)
  const words = start.replace(/\s+\S*$/, '')
  return `${words.length > maxLength / 2 ? words : start}…`
}
