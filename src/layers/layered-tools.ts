import type { AuditSink } from '../core/authority.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Interact } from '../core/interaction.ts'
import type { Extension } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { bindTools } from './bind-tools.ts'
import type { ToolContract } from './contract.ts'
import { BetweenTurns } from './quiet-moments.ts'
import type { ProjectAccess, ToolCandidate } from './tool-collector.ts'
import type { ToolDiagnostic, ToolListing } from './tool-item.ts'
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
