import type { Extension, Run } from '../core/run.ts'

/**
 * Every built-in feature, in the order in which it has its say at a moment. Each sleeps until its option is set: its
 * code is not even loaded before.
 */
export function standardExtensions(): Extension[] {
  return [
    // Around the provider: whatever the others ask a model is counted
    when(hasLimits, async () => (await import('../extensions/limits.ts')).limits()),
    // request:prepare: what is not shown is not measured by the others. Its gate comes with the first request, as the last
    when(mayHoldBack, async () => (await import('../extensions/lazy-disclosure.ts')).lazyDisclosure()),
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
    // tool:transform, after the consumers' own: what is known is not said again; then the file, then what is shown
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
    // tool:gate, after the consumers' own: an exhausted budget beats a replayed result
    when(
      (run) => run.settings.behavior.toolBudgets !== undefined,
      async () => (await import('../extensions/tool-budgets.ts')).toolBudgets(),
    ),
    when(
      (run) => run.settings.behavior.dedupTools !== undefined,
      async () => (await import('../extensions/dedup-tools.ts')).dedupTools(),
    ),
    when(hasLimits, async () => (await import('../extensions/limits.ts')).limitedCalls()),
    // turn:next: notes to the model first; the final answer only when nobody has anything to add
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

/** What holds for a run holds for its children. */
function hasLimits(run: Run): boolean {
  for (let one: Run | undefined = run; one; one = one.parent) if (one.settings.behavior.limits) return true
  return false
}

/** Tools of servers may be held back until they are asked for; and where requests are prepared, servers may come later. */
function mayHoldBack({ settings: { behavior }, tools, hooks }: Run): boolean {
  if (behavior.toolDisclosure === 'lazy' || hooks.has('request:prepare')) return true
  for (const name of tools.names()) if (tools.get(name)?.mcp?.disclosure === 'lazy') return true
  return false
}

/** Runs without file tools pay nothing for following files. */
function hasFileTools({ tools }: Run): boolean {
  for (const name of tools.names()) if (tools.get(name)?.touches) return true
  return false
}

/** An extension that is loaded by the first run that wants it. */
function when(isWanted: (run: Run) => boolean, load: () => Promise<Extension>): Extension {
  let loading: Promise<Extension> | undefined
  return {
    name: 'sleeping',
    start(run, hooks) {
      if (!isWanted(run)) return
      loading ??= load()
      return loading.then((extension) => extension.start?.(run, hooks))
    },
    dispose: async () => (await loading)?.dispose?.(),
  }
}

/** Loaded by the first request that a service will not read. */
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
