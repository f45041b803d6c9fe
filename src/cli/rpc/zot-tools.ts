import { nearest } from '../../core/nearest.ts'
import type { ToolDef } from '../../core/tool.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { codingTools } from '../../presets/coding.ts'
import { createReadFileTool } from '../../tools/read-file.ts'
import { UsageError } from '../cli-error.ts'
import { bash } from './zot-bash.ts'
import { zotEdit } from './zot-edit.ts'
import { mostBytes, mostLines } from './zot-limits.ts'

/** Our names, and those that zot's clients show. The log keeps ours. */
export const zotAliases: Readonly<Record<string, string>> = { shell: 'bash', read_file: 'read', write_file: 'write' }

/** The tools of an agent that is driven over zot's protocol: what zot has in its shape, and the rest of ours. */
export function zotTools(wish: ToolWish = {}): Readonly<Record<string, ToolDef>> {
  if (wish.none) return {}
  const { shell: _, shellOutput: __, shellStop: ___, multiEdit: ____, ...others } = codingTools
  const all = Object.values({ ...others, shell: bash, readFile: read(), edit: zotEdit } as Record<string, ToolDef>)
  return byName(wish.only === undefined ? all : chosen(all, wish.only))
}

/** What flags say about tools. */
interface ToolWish {
  readonly none?: boolean
  /** Names with commas between them, zot's or ours. */
  readonly only?: string
}

function read(): ToolDef {
  const tool = createReadFileTool({ limit: mostLines, maxBytes: mostBytes })
  const { maxBytes: _, ...properties } = tool.spec.inputSchema.properties as Record<string, unknown>
  return { ...tool, spec: { ...tool.spec, inputSchema: { ...tool.spec.inputSchema, properties } } }
}

function chosen(tools: readonly ToolDef[], only: string): ToolDef[] {
  const names = only.split(',').flatMap((name) => name.trim() || [])
  const known = tools.flatMap(({ spec: { name } }) => [shownAs(name), name])
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const [meant] = nearest(unknown, known, 1)
    const all = tools.map(({ spec }) => shownAs(spec.name)).join(', ')
    throw new UsageError(
      `--tools: there is no tool "${visibleName(unknown)}"${meant === undefined ? '' : `; did you mean ${meant}?`} There are ${all}`,
    )
  }
  return tools.filter(({ spec: { name } }) => names.includes(name) || names.includes(shownAs(name)))
}

const shownAs = (name: string): string => zotAliases[name] ?? name

const byName = (tools: readonly ToolDef[]): Record<string, ToolDef> =>
  Object.fromEntries(tools.map((tool) => [tool.spec.name, tool]))
