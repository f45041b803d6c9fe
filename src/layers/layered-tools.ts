import type { AuditSink, ToolOrigin } from '../core/authority.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Interact } from '../core/interaction.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { ToolContract } from './contract.ts'
import type { ProjectAccess, ToolCandidate, ToolDiagnostic, ToolListing } from './tool-collector.ts'
import { ToolSet } from './tool-set.ts'

export interface LayeredToolsOptions {
  /** The user's own folder. Its tools lie in `tools` there. Default: `~/.libero`. */
  readonly home?: string
  /** The folder of the project. Its tools lie in `.libero/tools` there. Default: where the process was started. */
  readonly projectRoot?: string
  /** What comes with the program; the layers above may take the place of each by its name. */
  readonly bundled?: Readonly<Record<string, ToolDef | ToolContract>>
  /**
   * Whether the project is trusted. Until this says so, its folder is not even listed. `digests` names the tools that the
   * trust is for. Default: never.
   */
  readonly mayReadProject?: () => Promise<ProjectAccess>
  /** When this aborts, the project's tools stop: calls under way are given up on, and none begins any more. */
  readonly revoked?: AbortSignal
  /** Whether code with this digest may be loaded; asked before any of it runs. Default: yes. */
  readonly isAccepted?: (item: ToolCandidate) => boolean | Promise<boolean>
  /** By tool name. `enabled: false` also switches off what a lower layer or the program itself offers under that name. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Where variables come from; a tool gets those that it declares. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Whom `init` may ask. */
  readonly interact?: Interact
  readonly audit?: AuditSink
  readonly coreVersion?: string
  /** Default: the agent's. */
  readonly clock?: Clock
}

/**
 * What became of a request to reload: held until the turn is over, done before the answer came, or not to be done,
 * because a tool does not allow it or its new code is not accepted.
 */
export type ReloadOutcome = 'deferred-between-turns' | 'reloaded-in-turn' | 'refused'

/** Tools in files, as a feature of an agent. */
export interface LayeredTools extends Extension {
  /** What was found, by name and layer; there after `warmup`, or the first run. */
  list(): readonly ToolListing[]
  readonly diagnostics: readonly ToolDiagnostic[]
  /** One tool, or everything, new files included. Rejects with `Validation/ExtensionNotFound` for a name nobody has. */
  reload(name?: string): Promise<ReloadOutcome>
}

/** Tools from the package, the user's folder and the project's folder. On equal names the last of these is bound. */
export function layeredTools(options: LayeredToolsOptions = {}): LayeredTools {
  const betweenTurns = new BetweenTurns()
  const runs = new Set<ReturnType<typeof bindTools>>()
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
      for (const binding of runs) binding.refresh()
      return isDone ? 'reloaded-in-turn' : 'refused'
    })
  }

  /** No call gets through from now on; the names are given back when no turn is under way. */
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
      if (run.cancellation.isCancelled) return // nobody waited, and nobody would say when its turn is over
      const binding = bindTools(loaded, run)
      runs.add(binding)
      betweenTurns.turnStarted(run)
      hooks.hook('turn:next', async () => {
        await betweenTurns.turnEnded(run)
        betweenTurns.turnStarted(run)
      })
      hooks.hook('session:end', async () => {
        runs.delete(binding)
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
      // A module that never loads must not hold up the end.
      if (!tools) void loading?.then((late) => late.end())
      await tools?.end()
    },
  }
}

/** Holds work back while any run, or any run of a child, is in the middle of a turn. */
export class BetweenTurns {
  readonly #inTurn = new Set<Run>()
  #held: (() => Promise<unknown>)[] = []
  #working: Promise<unknown> = Promise.resolve()

  turnStarted(run: Run): void {
    this.#inTurn.add(run)
  }

  /** Does what was held if this was the last one in a turn. */
  async turnEnded(run: Run): Promise<void> {
    this.#inTurn.delete(run)
    if (this.#inTurn.size > 0) return
    const held = this.#held
    this.#held = []
    for (const work of held) await this.#inOrder(work).catch(() => {}) // whoever asked is not there any more
  }

  /** Does it now, or says that it will be done when all turns are over. */
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

/** Puts the tools of all layers into the toolbox of a run; `refresh` does so again where something has changed. */
export function bindTools(tools: ToolSet, run: Run): { refresh(): void } {
  const bound = new Map<string, unknown>()

  function refresh(): void {
    const active = tools.active()
    for (const name of [...tools.disabledNames(), ...bound.keys()]) {
      if (active.has(name)) continue
      run.tools.remove(name)
      bound.delete(name)
    }
    for (const [name, { key, shadows, bind }] of active) {
      // What stays the same keeps its place: models are shown a list whose beginning they may have cached.
      if (bound.get(name) === key) continue
      const below = bound.has(name) ? [] : [run.tools.get(name)].flatMap((tool) => (tool ? [layerOf(tool)] : []))
      run.tools.replace(shadowing(bind(run), [...shadows, ...below]))
      bound.set(name, key)
    }
  }

  refresh()
  return { refresh }
}

const layerOf = ({ origin }: ToolDef): ToolOrigin['layer'] => origin?.layer ?? 'host'

/** Whoever is asked about it hears whose name it took. */
function shadowing(tool: ToolDef, shadows: ToolOrigin['layer'][]): ToolDef {
  const { origin } = tool
  return origin && shadows.length > 0 ? { ...tool, origin: { ...origin, replaces: [...new Set(shadows)] } } : tool
}
