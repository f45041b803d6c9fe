import type { Extension, Run } from '../core/run.ts'

/**
 * All standard extensions, in the order in which their handlers are called. The code of each is loaded by the first run
 * that needs it.
 */
export function standardExtensions(): Extension[] {
  return [
    when(
      (run) => run.session?.store !== undefined,
      async () => (await import('../events/live-runs.ts')).publishRuns(),
    ),
    // Before all that make model calls, because it decorates the provider: model calls of the other extensions count too
    when(hasLimits, async () => (await import('../extensions/limits.ts')).limits()),
    // request:prepare: hides tools, before the others measure the request. With the first request it adds its gate, which is the last one
    when(mayHideTools, async () => (await import('../extensions/lazy-disclosure.ts')).lazyDisclosure()),
    when(
      (run) => run.settings.behavior.elideStaleReads,
      async () => (await import('../extensions/elide-stale-reads.ts')).elideStaleReads(),
    ),
    when(
      (run) => run.settings.behavior.compactStrategy === 'tail',
      async () => (await import('../extensions/tail-compaction.ts')).tailCompaction(),
    ),
    when(
      (run) => run.settings.behavior.compactStrategy === 'summary',
      async () => (await import('../extensions/summary-compaction.ts')).summaryCompaction(),
    ),
    when(
      (run) => run.settings.behavior.thinkingDecay !== undefined,
      async () => (await import('../extensions/thinking-decay.ts')).thinkingDecay(),
    ),
    when(
      (run) => run.hooks.has('cache:break'),
      async () => (await import('../extensions/cache-guard.ts')).cacheGuard(),
    ),
    // request:refused
    onRefusal(),
    // request:overflow
    onOverflow(),
    // tool:transform, after the embedder's: first repeated reads, then large results, then images
    when(
      (run) => (run.settings.behavior.dedupReads || run.settings.behavior.requireReadBeforeEdit) && hasFileTools(run),
      async () => (await import('../extensions/read-tracking.ts')).readTracking(),
    ),
    when(
      (run) => run.settings.behavior.persistThreshold !== undefined,
      async () => (await import('../extensions/persist-results.ts')).persistResults(),
    ),
    when(
      (run) => run.provider.meta.capabilities?.vision === false,
      async () => (await import('../extensions/strip-images.ts')).stripImages(),
    ),
    // tool:gate, after the embedder's: an exhausted budget takes precedence over a repeated result
    when(
      (run) => run.settings.behavior.toolBudgets !== undefined,
      async () => (await import('../extensions/tool-budgets.ts')).toolBudgets(),
    ),
    when(
      (run) => run.settings.behavior.dedupTools !== undefined,
      async () => (await import('../extensions/dedup-tools.ts')).dedupTools(),
    ),
    when(hasLimits, async () => (await import('../extensions/limits.ts')).limitedCalls()),
    // turn:next: extensions with notes for the model come first. The final answer is requested only if none was added
    when(
      (run) => run.settings.behavior.toolOutputBudget !== undefined,
      async () => (await import('../extensions/tool-budgets.ts')).outputBudget(),
    ),
    when(
      (run) => run.settings.behavior.schema !== undefined,
      async () => (await import('../extensions/structured-output.ts')).structuredOutput(),
    ),
  ]
}

/** The limits of a run apply to its children too. */
function hasLimits(run: Run): boolean {
  for (let one: Run | undefined = run; one; one = one.parent) if (one.settings.behavior.limits) return true
  return false
}

/** Whether tools may be held back: by a setting, or because a handler of `request:prepare` may add servers later. */
function mayHideTools({ settings: { behavior }, tools, hooks }: Run): boolean {
  if (behavior.toolDisclosure === 'lazy' || hooks.has('request:prepare')) return true
  for (const name of tools.names()) if (tools.get(name)?.mcp?.disclosure === 'lazy') return true
  return false
}

/** Without file tools there is nothing to track. */
function hasFileTools({ tools }: Run): boolean {
  for (const name of tools.names()) if (tools.get(name)?.touches) return true
  return false
}

/** An extension whose code is loaded by the first run that needs it. */
function when(isNeeded: (run: Run) => boolean, load: () => Promise<Extension>): Extension {
  let loading: Promise<Extension> | undefined
  return {
    name: 'lazy',
    start(run, hooks) {
      if (!isNeeded(run)) return
      loading ??= load()
      return loading.then((extension) => extension.start?.(run, hooks))
    },
    dispose: async () => (await loading)?.dispose?.(),
  }
}

/** Loaded by the first request that a service refuses. */
function onRefusal(): Extension {
  return {
    name: 'quarantine',
    start(run, hooks) {
      let quarantine: ReturnType<typeof import('../extensions/quarantine.ts').createQuarantine> | undefined
      hooks.hook('request:refused', async (refused) => {
        quarantine ??= (await import('../extensions/quarantine.ts')).createQuarantine(run)
        await quarantine(refused)
      })
    },
  }
}

/** Loaded by the first request that does not fit. */
function onOverflow(): Extension {
  return {
    name: 'overflow-recovery',
    start(run, hooks) {
      let recover: ReturnType<typeof import('../extensions/overflow-recovery.ts').createOverflowRecovery> | undefined
      hooks.hook('request:overflow', async (overflow) => {
        recover ??= (await import('../extensions/overflow-recovery.ts')).createOverflowRecovery(run)
        await recover(overflow)
      })
    },
  }
}
