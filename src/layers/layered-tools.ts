import type { AuditSink, ToolOrigin } from '../core/authority.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Interact } from '../core/interaction.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { ToolContract } from './contract.ts'
import type { ToolCandidate, ToolDiagnostic, ToolListing } from './tool-collector.ts'
import { ToolSet } from './tool-set.ts'

export interface LayeredToolsOptions {
  /** The user's own folder, with tools in `tools`. Default: `~/.libero`. */
  readonly home?: string
  /** The project folder, with tools in `.libero/tools`. Default: the working directory of the process. */
  readonly projectRoot?: string
  /** Tools of the program. Higher layers may replace each by name. */
  readonly bundled?: Readonly<Record<string, ToolDef | ToolContract>>
  /**
   * Whether the project is trusted. Otherwise its folder is not even listed. `digests` restricts the trust to some tools.
   * Default: never.
   */
  readonly mayReadProject?: () => Promise<boolean | { readonly digests?: readonly string[] }>
  /** When this aborts, the project's tools stop: running calls are abandoned, and no new one starts. */
  readonly revoked?: AbortSignal
  /** Whether code with this digest may be loaded. Called before any of it runs. Default: yes. */
  readonly isAccepted?: (item: ToolCandidate) => boolean | Promise<boolean>
  /** By tool name. `enabled: false` also disables the tool of that name in lower layers and in the program. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** The environment; a tool gets the variables it declares. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Answers questions of `init`. */
  readonly interact?: Interact
  readonly audit?: AuditSink
  readonly coreVersion?: string
  /** Default: the agent's. */
  readonly clock?: Clock
}

/**
 * The outcome of a reload: deferred until the turn ends, done, or refused because a tool does not allow it or its new
 * code is not accepted.
 */
export type ReloadOutcome = 'deferred-between-turns' | 'reloaded-in-turn' | 'refused'

/** Tools in files, as an extension. */
export interface LayeredTools extends Extension {
  /** All tools by name and layer; available after `warmup` or the first run. */
  list(): readonly ToolListing[]
  readonly diagnostics: readonly ToolDiagnostic[]
  /** Reloads one tool, or all, including new files. Rejects with `Validation/ExtensionNotFound` for an unknown name. */
  reload(name?: string): Promise<ReloadOutcome>
}

/** Tools from the program, the user's folder and the project's folder. Of equal names the last one wins. */
export function layeredTools(options: LayeredToolsOptions = {}): LayeredTools {
  const betweenTurns = new BetweenTurns()
  const refreshers = new Set<() => void>()
  let loading: Promise<ToolSet> | undefined
  let tools: ToolSet | undefined

  function load(clock: Clock): Promise<ToolSet> {
    loading ??= ToolSet.load({ clock, ...options }).then((loaded) => (tools = loaded))
    return loading
  }

  async function reload(name?: string): Promise<ReloadOutcome> {
    const loaded = await load(systemClock)
    if (name !== undefined && (await loaded.refusesReload(name))) return 'refused'
    return betweenTurns.run(async () => {
      const isDone = await loaded.reload(name)
      for (const refresh of refreshers) refresh()
      return isDone ? 'reloaded-in-turn' : 'refused'
    })
  }

  /** New calls are refused at once; the names are released when no turn is running. */
  function revoke(): void {
    if (loading) void reload().catch(() => {})
  }
  options.revoked?.addEventListener('abort', revoke, { once: true })

  return {
    name: 'layered-tools',
    async warmup(host) {
      await load(host.clock)
    },
    async start(run, hooks) {
      if (run.tools.isFixed) return
      const loaded = await load(run.clock)
      if (run.cancellation.isCancelled) return // its end would not be reported
      const refresh = bindTools(loaded, run)
      refreshers.add(refresh)
      betweenTurns.turnStarted(run)
      hooks.hook('turn:next', async () => {
        await betweenTurns.turnEnded(run)
        betweenTurns.turnStarted(run)
      })
      hooks.hook('session:end', async () => {
        refreshers.delete(refresh)
        await betweenTurns.turnEnded(run)
      })
    },
    list: () => tools?.list() ?? [],
    get diagnostics() {
      return tools?.diagnostics ?? []
    },
    reload,
    async dispose() {
      options.revoked?.removeEventListener('abort', revoke)
      // A module that never loads must not block disposal.
      if (!tools) void loading?.then((late) => late.end())
      await tools?.end()
    },
  }
}

/** Defers work while any run, or run of a child, is inside a turn. */
export class BetweenTurns {
  readonly #inTurn = new Set<Run>()
  #held: (() => Promise<unknown>)[] = []
  #working: Promise<unknown> = Promise.resolve()

  turnStarted(run: Run): void {
    this.#inTurn.add(run)
  }

  /** Runs the deferred work if no other run is inside a turn. */
  async turnEnded(run: Run): Promise<void> {
    this.#inTurn.delete(run)
    if (this.#inTurn.size > 0) return
    const held = this.#held
    this.#held = []
    for (const work of held) await this.#inOrder(work).catch(() => {}) // its caller no longer waits
  }

  /** Runs the work now, or defers it until all turns have ended. */
  async run<T>(work: () => Promise<T>): Promise<T | 'deferred-between-turns'> {
    if (this.#inTurn.size === 0) return this.#inOrder(work)
    this.#held.push(work)
    return 'deferred-between-turns'
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const doing = this.#working.then(work)
    this.#working = doing.catch(() => {})
    return doing
  }
}

/** Adds the tools of all layers to a run. Returns a function that applies changes. */
function bindTools(tools: ToolSet, run: Run): () => void {
  const bound = new Map<string, unknown>()

  function refresh(): void {
    const active = tools.active()
    for (const name of [...tools.disabledNames(), ...bound.keys()]) {
      if (active.has(name)) continue
      run.tools.remove(name)
      bound.delete(name)
    }
    for (const [name, { key, shadows, bind }] of active) {
      // Unchanged tools keep their position: the list sent to the model may be cached.
      if (bound.get(name) === key) continue
      const below = bound.has(name) ? [] : [run.tools.get(name)].flatMap((tool) => (tool ? [layerOf(tool)] : []))
      run.tools.replace(shadowing(bind(run), [...shadows, ...below]))
      bound.set(name, key)
    }
  }

  refresh()
  return refresh
}

const layerOf = ({ origin }: ToolDef): ToolOrigin['layer'] => origin?.layer ?? 'host'

/** Records the replaced layers, so that prompts can show them. */
function shadowing(tool: ToolDef, shadows: ToolOrigin['layer'][]): ToolDef {
  const { origin } = tool
  return origin && shadows.length > 0 ? { ...tool, origin: { ...origin, replaces: [...new Set(shadows)] } } : tool
}
