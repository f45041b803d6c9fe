import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { ToolRule } from './rules/settings.ts'

/** Time limits from rules, for tools that declare none. They follow rule changes during runs. */
export interface TimeLimits {
  of(tool: string): number | undefined
  names(): Iterable<string>
  /** Applies the limits to the tools of a run until it ends. */
  apply(run: Run): void
  release(run: Run): void
  /** Applies changed rules to the running agents. */
  renew(): void
  /** The running agents. Shared by an authority and all that were narrowed from it. */
  readonly runs: Map<Run, TimeLimits>
  /** Tools that already take their limit from the rules. */
  readonly limited: WeakSet<ToolDef>
}

/** Reads `rules` at each use. Tools without a limit there get that of `above`. */
export function createTimeLimits(
  rules: () => Readonly<Record<string, ToolRule>>,
  { above }: { above?: TimeLimits } = {},
): TimeLimits {
  const runs = above?.runs ?? new Map<Run, TimeLimits>()
  const limits: TimeLimits = {
    runs,
    limited: above?.limited ?? new WeakSet(),
    of(tool) {
      const own = Object.hasOwn(rules(), tool) ? rules()[tool]?.timeoutMs : undefined
      return own ?? above?.of(tool)
    },
    names() {
      const own = Object.entries(rules()).flatMap(([name, { timeoutMs }]) => (timeoutMs === undefined ? [] : [name]))
      return new Set([...own, ...(above?.names() ?? [])])
    },
    apply(run) {
      if (run.progress.isOver) return // stopped while starting
      runs.set(run, limits)
      limitTools(run, limits)
    },
    release: (run) => void runs.delete(run),
    renew() {
      for (const [run, own] of runs) limitTools(run, own)
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
  // Replaces all tools in order, so that the list sent to the model keeps its order and stays cached.
  for (const name of [...tools.names()]) tools.replace(changed.get(name) ?? tools.get(name)!)
}

/** A getter, so that calls which already hold the tool get the new limit too. */
function withLimit(tool: ToolDef, limits: TimeLimits): ToolDef {
  const timeoutMs = { get: () => limits.of(tool.spec.name), enumerable: true, configurable: true }
  const limited = Object.create(Object.getPrototypeOf(tool), { ...Object.getOwnPropertyDescriptors(tool), timeoutMs })
  limits.limited.add(limited)
  return limited
}
