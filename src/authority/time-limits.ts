import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { ToolRule } from './rules/settings.ts'

/** The time limits of rules, for tools that have none of their own; they follow the rules while runs are under way. */
export interface TimeLimits {
  of(tool: string): number | undefined
  /** Of all tools that a rule limits. */
  names(): Iterable<string>
  /** Limits the tools of a run until it is over. */
  hold(run: Run): void
  letGo(run: Run): void
  /** To be called when rules have changed. */
  renew(): void
  /** One map for an authority and all that were narrowed from it. */
  readonly held: Map<Run, TimeLimits>
  /** Tools that ask the rules already; what these say of them now may be nothing. */
  readonly limited: WeakSet<ToolDef>
}

/** `rules` are read anew at each call; what they leave open is for those above to say. */
export function createTimeLimits(
  rules: () => Readonly<Record<string, ToolRule>>,
  { above }: { above?: TimeLimits } = {},
): TimeLimits {
  const held = above?.held ?? new Map<Run, TimeLimits>()
  const limits: TimeLimits = {
    held,
    limited: above?.limited ?? new WeakSet(),
    of(tool) {
      const own = Object.hasOwn(rules(), tool) ? rules()[tool]?.timeoutMs : undefined
      return own ?? above?.of(tool)
    },
    names() {
      const own = Object.entries(rules()).flatMap(([name, { timeoutMs }]) => (timeoutMs === undefined ? [] : [name]))
      return new Set([...own, ...(above?.names() ?? [])])
    },
    hold(run) {
      if (run.progress.isOver) return // it was stopped while it started
      held.set(run, limits)
      limitTools(run, limits)
    },
    letGo: (run) => void held.delete(run),
    renew() {
      for (const [run, own] of held) limitTools(run, own)
    },
  }
  return limits
}

function limitTools({ tools }: Run, limits: TimeLimits): void {
  const changed = new Map<string, ToolDef>()
  for (const name of limits.names()) {
    const tool = tools.get(name)
    if (tool && tool.timeoutMs === undefined && !limits.limited.has(tool)) changed.set(name, withLimit(tool, limits))
  }
  if (changed.size === 0) return
  // All of them, one after another: what the model is offered keeps its order, and so its place in the cache.
  for (const name of [...tools.names()]) tools.replace(changed.get(name) ?? tools.get(name)!)
}

/** A getter, so that calls which were looked up before the rules changed have the new limit too. */
function withLimit(tool: ToolDef, limits: TimeLimits): ToolDef {
  const timeoutMs = { get: () => limits.of(tool.spec.name), enumerable: true, configurable: true }
  const limited = Object.create(Object.getPrototypeOf(tool), { ...Object.getOwnPropertyDescriptors(tool), timeoutMs })
  limits.limited.add(limited)
  return limited
}
