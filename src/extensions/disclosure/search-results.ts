import { didYouMean } from '../../core/nearest.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import { escapeXml, foreignText } from './foreign-text.ts'
import { type LazyToolEntry, serversOf } from './lazy-tool.ts'
import { namesOf } from './rank.ts'

export interface Found {
  /** What is loaded now. */
  readonly tools: readonly LazyToolEntry[]
  /** How many there would have been. */
  readonly total: number
  /** Names that were asked for and are loaded anyway. */
  readonly known: readonly string[]
  /** Names that were asked for and do not exist. */
  readonly unknown: readonly string[]
  /** A server that was asked for and does not exist. */
  readonly unknownServer?: string
}

/** What the model reads: each tool with its schema. Nothing that a server wrote can end a tag. */
export function resultsText(found: Found, catalog: readonly LazyToolEntry[]): string {
  const { tools, total, known, unknown, unknownServer } = found
  const room = { left: mostSchemaBytes }
  const lines = tools.map((entry) => toolText(entry, room))
  for (const name of known) lines.push(`${foreignText(name, 100)} is loaded already: call it.`)
  const names = unknown.length > 0 ? catalog.slice(0, mostCompared).flatMap(namesOf) : []
  for (const [i, name] of unknown.entries()) {
    const near = i < mostHints ? hint(name, names) : '.'
    lines.push(`There is no tool ${foreignText(name, 100)}${near}`)
  }
  if (unknownServer !== undefined) {
    const servers = catalog.map(({ server }) => server)
    lines.push(`There is no server ${foreignText(unknownServer, 100)}${hint(unknownServer, servers)}`)
  }
  if (total > tools.length)
    lines.push(`${total - tools.length} more fit. Ask more precisely, or by name, or with a higher limit.`)
  if (tools.length > 0) lines.push('These can be called from your next turn on, until this run ends.')
  else lines.push(known.length > 0 ? 'Nothing else was found.' : nothing(catalog))
  return ['<tool_search_results>', ...lines, '</tool_search_results>'].join('\n')
}

/** Of a long list some schemas are left out here: the request shows them all. */
const mostSchemaBytes = 65_536

function toolText({ name, description, inputSchema }: LazyToolEntry, room: { left: number }): string {
  const schema = JSON.stringify(inputSchema).replaceAll('<', '\\u003c')
  const bytes = toolOutputByteLength(schema)
  const isShown = bytes <= room.left
  if (isShown) room.left -= bytes
  return [
    '<tool>',
    `<name>${foreignText(name, 200)}</name>`,
    `<description>${foreignText(description, 4000)}</description>`,
    isShown ? `<input_schema>${schema}</input_schema>` : 'Its input schema is long: read it in your list of tools.',
    '</tool>',
  ].join('\n')
}

const hint = (name: string, names: readonly string[]): string => escapeXml(didYouMean(name, new Set(names))) || '.'

/** Comparing takes its time; nobody mistypes more than that. */
const mostHints = 5
const mostCompared = 1000

function nothing(catalog: readonly LazyToolEntry[]): string {
  if (catalog.length === 0) return 'There is nothing to find: every tool of this run is loaded.'
  const count = catalog.length === 1 ? 'There is one tool' : `There are ${catalog.length} tools`
  return `Nothing was found. ${count} to find, by server: ${foreignText(serversOf(catalog), 4000)}.`
}
