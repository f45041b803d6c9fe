import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Effect, ToolOrigin } from '../core/authority.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { JsonSchema, ToolDef } from '../core/tool.ts'
import { wholeTool } from '../core/tool.ts'
import { parseTool } from '../core/toolbox.ts'
import type { SourceFiles } from '../platform/source-files.ts'
import { coreVersion } from './contract.ts'
import { discover, type Found, type FoundTool, type Layer } from './discover.ts'
import type { LayeredToolsOptions } from './layered-tools.ts'
import type { LiveTool } from './live-tool.ts'
import { checkContract, configOf, type LoadedTool, type LoadOptions, loadTool } from './load-tool.ts'
import { problemOf } from './problem-of.ts'

/** A tool about to be loaded. The name is from its manifest or file, because its code has not run. */
export interface ToolCandidate extends SourceFiles {
  readonly name: string
  readonly layer: Layer
  readonly path: string
}

/** Finds and loads the tools of all layers. Errors are noted on each tool. */
export class ToolCollector {
  readonly options: LayeredToolsOptions
  readonly clock: Clock
  readonly #load: LoadOptions
  /** The digests of the project's tools that may be loaded; undefined for all. */
  #trusted: readonly string[] | undefined

  constructor(options: LayeredToolsOptions) {
    this.options = options
    this.clock = options.clock ?? systemClock
    this.#load = { config: options.config ?? {}, coreVersion: options.coreVersion ?? coreVersion, clock: this.clock }
  }

  async discover(): Promise<Found[]> {
    const { home = join(homedir(), '.libero'), projectRoot = process.cwd() } = this.options
    const access = await this.#projectAccess()
    const found = await discover('global', join(home, 'tools'), '')
    if (!access) return found
    this.#trusted = access === true ? undefined : access.digests
    return [...found, ...(await discover('project', projectRoot, '.libero/tools'))]
  }

  /** Loads a tool. Its code runs only if it is enabled and accepted. */
  async item(found: Found): Promise<ToolItem> {
    const { layer, path, id } = found
    if ('problem' in found) return unusable(id, { layer, path }, found.problem)
    const { digest } = found
    const origin = { layer, path, digest }
    if (!configOf(id, this.#load).enabled) return { name: id, origin, state: 'off' }
    try {
      if (!(await this.#isAccepted(found))) return { name: id, origin, state: 'pending', diagnostic: notAccepted }
      // Its own setting, which also disables the tools it shadows, counts only once it is accepted.
      if (!configOf(id, this.#load, found.manifest?.config).enabled) return { name: id, origin, state: 'off' }
      const loaded = await loadTool(found, this.#load)
      return { name: loaded.contract.name, origin, loaded, state: loaded.config.enabled ? 'shadowed' : 'off' }
    } catch (error) {
      return unusable(id, origin, problemOf(error))
    }
  }

  async bundled(): Promise<ToolItem[]> {
    const origin = { layer: 'bundled' } as const
    const entries = Object.entries(this.options.bundled ?? {})
    return Promise.all(
      entries.map(async ([key, given]): Promise<ToolItem> => {
        try {
          if (!('spec' in given)) {
            const loaded = await checkContract(given, origin, this.#load)
            return { name: loaded.contract.name, origin, loaded, state: loaded.config.enabled ? 'shadowed' : 'off' }
          }
          const read = parseTool(await wholeTool(given), key)
          const { enabled, timeoutMs } = configOf(read.spec.name, this.#load)
          const tool: ToolDef = { ...read, origin, ...(timeoutMs !== undefined && { timeoutMs }) }
          return { name: read.spec.name, origin, tool, state: enabled ? 'shadowed' : 'off' }
        } catch (error) {
          return unusable(key, origin, problemOf(error))
        }
      }),
    )
  }

  async #isAccepted({ id: name, layer, path, digest, files }: FoundTool): Promise<boolean> {
    if (layer === 'project' && this.#trusted && !this.#trusted.includes(digest)) return false
    return (await this.options.isAccepted?.({ name, layer, path, digest, files })) ?? true
  }

  async #projectAccess(): Promise<boolean | { readonly digests?: readonly string[] }> {
    if (this.options.revoked?.aborted) return false
    try {
      return (await this.options.mayReadProject?.()) ?? false
    } catch {
      return false // a failing check is not a yes
    }
  }
}

const notAccepted = 'its code is new or has changed and is not accepted yet; look at it, accept it, and reload it'

const unusable = (name: string, origin: ToolItem['origin'], diagnostic: string): ToolItem => ({
  ...{ name, origin, state: 'unusable', diagnostic },
})

/**
 * `active`: bound to its name; `shadowed`: a higher layer has the name; `off`: switched off; `pending`: its code is not
 * accepted yet; `unusable`: it could not be loaded; `disabled`: it could not be reloaded.
 */
export type ToolState = 'active' | 'shadowed' | 'off' | 'pending' | 'unusable' | 'disabled'

/** One tool of one layer, for display. */
export interface ToolListing {
  readonly name: string
  readonly layer: Layer
  readonly path?: string
  readonly digest?: string
  readonly state: ToolState
  /** What the model reads of it; absent if it could not be loaded. */
  readonly description?: string
  readonly inputSchema?: JsonSchema
  /** Its declared effects; absent if they depend on the input, are not declared, or are not trusted. */
  readonly effects?: readonly Effect[]
  readonly shadows?: readonly ToolOrigin[]
  readonly diagnostic?: string
}

/** A problem with a tool. No tool stops a session. */
export interface ToolDiagnostic {
  readonly tool: string
  readonly layer: Layer
  readonly path?: string
  readonly message: string
}

/** One tool of one layer, with its state. */
export interface ToolItem {
  /** Its own name once loaded, before that the name of its file. */
  readonly name: string
  readonly origin: ToolOrigin & { readonly layer: Layer }
  state: ToolState
  diagnostic?: string
  readonly tool?: ToolDef
  loaded?: LoadedTool
  live?: LiveTool
}

const layers: readonly string[] = ['project', 'global', 'bundled']

const byLayer = (a: ToolItem, b: ToolItem): number => layers.indexOf(a.origin.layer) - layers.indexOf(b.origin.layer)

/** The items by name, highest layer first; independent of the order of the items. */
export function byName(items: readonly ToolItem[]): [string, ToolItem[]][] {
  const names = [...new Set(items.map(({ name }) => name))].sort()
  return names.map((name) => [name, items.filter((item) => item.name === name).sort(byLayer)])
}

/** An item for display, with the tools it replaces. */
export function listingOf(item: ToolItem, items: readonly ToolItem[]): ToolListing {
  const { name, origin, state, diagnostic, tool, loaded } = item
  const effects = origin.layer === 'project' ? undefined : (tool ?? loaded?.contract)?.effects
  const { description, inputSchema } = tool?.spec ?? loaded?.contract ?? {}
  const shadows = state === 'active' ? items.filter((other) => other.name === name && other.state === 'shadowed') : []
  return {
    name,
    ...origin,
    state,
    ...(description !== undefined && { description }),
    ...(inputSchema && { inputSchema }),
    ...(Array.isArray(effects) && { effects }),
    ...(shadows.length > 0 && { shadows: shadows.map((other) => other.origin) }),
    ...(diagnostic !== undefined && { diagnostic }),
  }
}
