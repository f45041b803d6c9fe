import type { Effect, ToolOrigin } from '../core/authority.ts'
import type { ToolDef } from '../core/tool.ts'
import type { Layer } from './discover.ts'
import type { LiveTool } from './live-tool.ts'
import type { LoadedTool } from './load-tool.ts'

/**
 * `active`: bound to its name; `shadowed`: a higher layer has the name; `off`: switched off; `pending`: its code is not
 * accepted yet; `unusable`: it could not be loaded; `disabled`: it could not be reloaded.
 */
export type ToolState = 'active' | 'shadowed' | 'off' | 'pending' | 'unusable' | 'disabled'

/** One tool of one layer, as a person is shown it. */
export interface ToolListing {
  readonly name: string
  readonly layer: Layer
  readonly path?: string
  readonly digest?: string
  readonly state: ToolState
  /** What it says it does; absent where that depends on the input, is not said, or would not be believed. */
  readonly effects?: readonly Effect[]
  /** Whose place it takes. */
  readonly shadows?: readonly ToolOrigin[]
  readonly diagnostic?: string
}

/** Something that somebody should look at. No tool stops a session. */
export interface ToolDiagnostic {
  readonly tool: string
  readonly layer: Layer
  readonly path?: string
  readonly message: string
}

/** One tool of one layer, as we keep it. */
export interface ToolItem {
  /** Its own name once it is loaded, before that the one of its file. */
  readonly name: string
  readonly origin: ToolOrigin & { readonly layer: Layer }
  state: ToolState
  diagnostic?: string
  /** A tool of the program itself. */
  readonly tool?: ToolDef
  loaded?: LoadedTool
  live?: LiveTool
}

const layers: readonly string[] = ['project', 'global', 'bundled']

/** Highest layer first. */
const byLayer = (a: ToolItem, b: ToolItem): number => layers.indexOf(a.origin.layer) - layers.indexOf(b.origin.layer)

/** All names there are, each with its items, highest layer first; the same whatever the order of the items is. */
export function byName(items: readonly ToolItem[]): [string, ToolItem[]][] {
  const names = [...new Set(items.map(({ name }) => name))].sort()
  return names.map((name) => [name, items.filter((item) => item.name === name).sort(byLayer)])
}

/** An item for people, with those it hides. */
export function listingOf(item: ToolItem, items: readonly ToolItem[]): ToolListing {
  const { name, origin, state, diagnostic, tool, loaded } = item
  const effects = origin.layer === 'project' ? undefined : (tool ?? loaded?.contract)?.effects
  const shadows = state === 'active' ? items.filter((other) => other.name === name && other.state === 'shadowed') : []
  return {
    name,
    ...origin,
    state,
    ...(Array.isArray(effects) && { effects }),
    ...(shadows.length > 0 && { shadows: shadows.map((other) => other.origin) }),
    ...(diagnostic !== undefined && { diagnostic }),
  }
}
