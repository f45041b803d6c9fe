import type { ToolOrigin } from '../core/authority.ts'
import { CodedError } from '../core/errors.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { Found } from './discover.ts'
import type { HostServices } from './host.ts'
import type { LayeredToolsOptions } from './layered-tools.ts'
import { boundTool, LiveTool } from './live-tool.ts'
import { problemOf } from './problem-of.ts'
import {
  byName,
  listingOf,
  ToolCollector,
  type ToolDiagnostic,
  type ToolItem,
  type ToolListing,
} from './tool-collector.ts'

/** A tool that is bound to a name. `key` changes with each reload. */
interface ActiveTool {
  readonly key: unknown
  readonly shadows: ToolOrigin['layer'][]
  bind(run: Run): ToolDef
}

/** The tools of all layers, the bindings of names, and their lifecycles. */
export class ToolSet {
  readonly #collector: ToolCollector
  readonly #services: HostServices
  #items: ToolItem[] = []

  private constructor(options: LayeredToolsOptions) {
    const { projectRoot = process.cwd(), env = process.env, interact, audit, revoked } = options
    this.#collector = new ToolCollector(options)
    this.#services = {
      projectRoot,
      env,
      ...(interact && { interact }),
      ...(audit && { audit }),
      ...(revoked && { revoked }),
    }
  }

  static async load(options: LayeredToolsOptions): Promise<ToolSet> {
    const tools = new ToolSet(options)
    const found = await tools.#collector.discover()
    const items = await Promise.all(found.map((one) => tools.#collector.item(one)))
    tools.#items = [...(await tools.#collector.bundled()), ...items]
    await tools.#bind()
    return tools
  }

  list(): ToolListing[] {
    return byName(this.#items).flatMap(([, items]) => items.map((item) => listingOf(item, items)))
  }

  get diagnostics(): ToolDiagnostic[] {
    return this.list().flatMap(({ name, layer, path, diagnostic: message }) =>
      message === undefined ? [] : [{ tool: name, layer, ...(path !== undefined && { path }), message }],
    )
  }

  active(): Map<string, ActiveTool> {
    const bound = new Map<string, ActiveTool>()
    for (const [name, items] of byName(this.#items)) {
      const { tool, live, loaded } = items.find(({ state }) => state === 'active') ?? {}
      const shadows = items.filter(({ state }) => state === 'shadowed').map(({ origin }) => origin.layer)
      if (tool) bound.set(name, { key: tool, shadows, bind: () => tool })
      else if (live && loaded)
        bound.set(name, { key: live, shadows, bind: (run) => boundTool(live, loaded.inputCheck, run) })
    }
    return bound
  }

  /** Names that must not be callable, from any source. */
  disabledNames(): string[] {
    const { config = {} } = this.#collector.options
    const switchedOff = Object.keys(config).filter((name) => config[name]?.enabled === false)
    const ours = this.#items.filter(({ state }) => state === 'off' || state === 'disabled')
    return [...switchedOff, ...ours.map(({ name }) => name)]
  }

  /** Whether a tool refuses to be reloaded; the request is recorded. */
  async refusesReload(name: string): Promise<boolean> {
    const items = this.#items.filter((item) => item.name === name)
    if (items.length === 0)
      throw new CodedError('Validation/ExtensionNotFound', `there is no tool "${name}" to reload; list() has all names`)
    const refusing = items.find((item) => item.live && !mayReload(item))
    if (refusing) await this.#record('ExtensionReloadRefused', refusing, 'its reloadBehavior is "never"')
    return refusing !== undefined
  }

  /** Reloads one name or all. False if a running tool may not be replaced by the current file. */
  async reload(name?: string): Promise<boolean> {
    const found = await this.#collector.discover()
    let isDone = true
    for (const item of [...this.#items]) {
      if (name !== undefined && item.name !== name) continue
      if (!mayReload(item)) continue
      const one = found.find(({ layer, path }) => layer === item.origin.layer && path === item.origin.path)
      isDone = (await this.#reloadItem(item, one)) && isDone
    }
    if (name === undefined) {
      const known = new Set(this.#items.map(({ origin }) => origin.path))
      for (const one of found) if (!known.has(one.path)) this.#items.push(await this.#collector.item(one))
    }
    await this.#bind()
    return isDone
  }

  async end(): Promise<void> {
    await Promise.all(this.#items.map((item) => this.#end(item)))
  }

  async #reloadItem(item: ToolItem, found: Found | undefined): Promise<boolean> {
    const fresh = item.origin.layer === 'bundled' ? resetBundled(item) : found && (await this.#collector.item(found))
    if (item.live && fresh?.state === 'pending') {
      item.diagnostic = fresh.diagnostic ?? ''
      await this.#record('ExtensionReloadRefused', item, item.diagnostic)
      return false
    }
    const wasBound = item.live !== undefined || item.state === 'disabled'
    await this.#end(item)
    const next = fresh && wasBound ? await this.#restart(item, fresh) : fresh
    this.#items = this.#items.flatMap((one) => (one === item ? (next ?? []) : one))
    if (!fresh) await this.#record('ExtensionReloaded', item, 'it is not there any more')
    return true
  }

  /** Starts the new version. If it fails, the name stays bound to a disabled tool and passes to no other layer. */
  async #restart({ name }: ToolItem, fresh: ToolItem): Promise<ToolItem> {
    if (fresh.state === 'off' || (fresh.loaded && fresh.name !== name)) return fresh
    try {
      if (!fresh.loaded) throw new Error(fresh.diagnostic)
      await this.#begin(fresh)
      await this.#record('ExtensionReloaded', fresh)
      return fresh
    } catch (error) {
      await this.#end(fresh)
      const disabled: ToolItem = { ...fresh, name, state: 'disabled', diagnostic: problemOf(error) }
      await this.#recordFailure(disabled)
      return disabled
    }
  }

  /** Binds each name to the highest layer whose tool starts. */
  async #bind(): Promise<void> {
    // In parallel: a slow start must not delay the others.
    await Promise.all(byName(this.#items).map(([, items]) => this.#bindName(items)))
  }

  async #bindName(items: readonly ToolItem[]): Promise<void> {
    for (const item of duplicates(items)) {
      await this.#end(item)
      item.state = 'unusable'
      item.diagnostic = `two tools of the ${item.origin.layer} layer are named "${item.name}"; rename one of them`
    }
    let isTaken = false
    for (const item of items) {
      if (!isTaken) isTaken = item.state === 'off' || item.state === 'disabled' || (await this.#start(item))
      else if (item.state === 'active') {
        await this.#end(item)
        item.state = 'shadowed'
      }
    }
  }

  /** Starts an item; returns whether it is bound to its name. */
  async #start(item: ToolItem): Promise<boolean> {
    if (item.state !== 'shadowed') return item.state === 'active'
    try {
      await this.#begin(item)
      return true
    } catch (error) {
      await this.#end(item)
      item.state = 'unusable'
      item.diagnostic = problemOf(error)
      await this.#recordFailure(item)
      return false
    }
  }

  async #begin(item: ToolItem): Promise<void> {
    if (item.loaded) {
      item.live = new LiveTool(item.loaded, this.#services, this.#collector.clock)
      await item.live.start()
    }
    item.state = 'active'
  }

  async #end(item: ToolItem): Promise<void> {
    const problems = (await item.live?.stop()) ?? []
    delete item.live
    for (const problem of problems) await this.#recordFailure({ ...item, diagnostic: problem })
  }

  /** Records a failure. A failing audit is ignored here. */
  async #recordFailure(item: ToolItem): Promise<void> {
    await this.#record('ExtensionLifecycleFailed', item, item.diagnostic).catch(() => {})
  }

  async #record(event: string, { name, origin }: ToolItem, why?: string): Promise<void> {
    const details = why === undefined ? {} : { details: { why } }
    await this.#services.audit?.write({ class: 'ExtensionsReloaded', event, tool: name, origin, ...details })
  }
}

const mayReload = ({ loaded }: ToolItem): boolean => loaded?.contract.reloadBehavior !== 'never'

function resetBundled({ live: _, ...item }: ToolItem): ToolItem {
  return item.state === 'active' || item.state === 'disabled' ? { ...item, state: 'shadowed' } : item
}

/** Tools of one layer with the same name: none of them can be preferred. */
function duplicates(items: readonly ToolItem[]): ToolItem[] {
  const usable = items.filter(({ state }) => state === 'active' || state === 'shadowed')
  return usable.filter(({ origin }) => usable.filter((other) => other.origin.layer === origin.layer).length > 1)
}
