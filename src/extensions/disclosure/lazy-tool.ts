import { shownName } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import { compareTexts } from '../../core/text.ts'
import type { JsonSchema, ToolDef } from '../../core/tool.ts'
import { withoutHidden } from '../../platform/visible-text.ts'

/** A tool that a run has, but does not show to the model before it asks. */
export interface LazyToolEntry {
  /** As the model knows it. */
  readonly name: string
  readonly canonicalName: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly server: string
  /** As its server calls it. */
  readonly tool?: string
}

/** What the tool that finds the others is called, unless somebody gives it another name. */
export const toolSearchName = 'tool_search'

/** The tools of servers that are to be found first, in the order of their names; of no other tool anything is held back. */
export function lazyToolsOf(run: Run): LazyToolEntry[] {
  const entries: LazyToolEntry[] = []
  for (const canonicalName of run.tools.names()) {
    const tool = run.tools.get(canonicalName)
    const name = shownName(run.provider, canonicalName)
    // What is shown as the search tool is the search tool: hidden, nothing would ever be found.
    if (!tool?.mcp || !isLazy(tool, run) || name === toolSearchName) continue
    const { description, inputSchema } = tool.spec
    const { server, tool: own } = tool.mcp
    entries.push({ name, canonicalName, description, inputSchema, server, tool: own })
  }
  return entries.sort(byName)
}

/** What its server was told counts, else what the run was told. */
export const isLazy = ({ mcp }: ToolDef, { settings: { behavior } }: Run): boolean =>
  mcp !== undefined && (mcp.disclosure ?? behavior.toolDisclosure) === 'lazy'

export const byName = (a: LazyToolEntry, b: LazyToolEntry): number => compareTexts(a.name, b.name)

/** Servers with the number of their tools, as a model reads it: `docs (3), github (40)`. */
export function serversOf(entries: readonly LazyToolEntry[]): string {
  const counts = new Map<string, number>()
  for (const { server } of entries) counts.set(server, (counts.get(server) ?? 0) + 1)
  const named = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([server, count]) => `${server} (${count})`)
  const rest = named.length - mostServers
  return named.slice(0, mostServers).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const mostServers = 50

/** A server's words on one line, as text inside of a tag: they end no tag, and hide nothing. */
export function foreignText(text: string, maxLength: number): string {
  return escapeXml(cut(oneLine(text, maxLength), maxLength))
}

/** The same of the first sentence alone. */
export function firstSentence(text: string, maxLength: number): string {
  const line = oneLine(text, 1000)
  const [sentence = line] = /^.*?[.!?](?=\s|$)/.exec(line) ?? []
  return escapeXml(cut(sentence.replace(/\.$/, ''), maxLength))
}

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Enough is looked at to fill a line, however much there is. */
const oneLine = (text: string, maxLength: number): string =>
  withoutHidden(text.slice(0, maxLength * 4))
    .text.replace(/\s+/g, ' ')
    .trim()

/** Between two words where there are some, and never within a character. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const start = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
  const words = start.replace(/\s+\S*$/, '')
  return `${words.length > maxLength / 2 ? words : start}…`
}
