import type { ToolBudget } from '../core/behavior.ts'
import type { Extension } from '../core/run.ts'

/** `behavior.toolBudgets`: caps how often each tool may be called in one run: refuse further calls, or nudge once. */
export function toolBudgets(): Extension {
  return {
    name: 'tool-budgets',
    start(run, hooks) {
      const budgets = run.settings.behavior.toolBudgets
      if (!budgets) return
      const nudged = new Set<string>()
      const nudges: string[] = []
      hooks.hook('tool:gate', async (gate) => {
        const { name: tool, turnId } = gate
        const budget = Object.hasOwn(budgets, tool) ? budgets[tool] : undefined
        const count = run.tools.counts.of(tool)
        if (!budget || gate.block || gate.result !== undefined || count < budget.max) return
        const { mode, message } = verdictOf(budget, tool, count, gate.displayName)
        if (mode === 'block') {
          gate.block = true
          gate.reason = message
        } else {
          if (nudged.has(tool)) return
          nudged.add(tool)
          nudges.push(message)
        }
        await run.hooks.tell('tool-budget:exceeded', { tool, count, max: budget.max, turnId, mode })
      })
      hooks.hook('turn:next', (next) => void next.add.push(...nudges.splice(0)))
    },
  }
}

function verdictOf(
  { max, onExceed }: ToolBudget,
  tool: string,
  count: number,
  shown: string,
): { mode: 'block' | 'steer'; message: string } {
  if (typeof onExceed === 'function') {
    const { mode, message } = onExceed({ tool, count, max })
    return {
      mode: mode === 'steer' ? 'steer' : 'block',
      message: String(message ?? `${shown} was called ${count} times`),
    }
  }
  const limit = `${shown} may be called ${max} ${max === 1 ? 'time' : 'times'} per run`
  if (onExceed === 'block') return { mode: onExceed, message: `${limit}, and that is used up` }
  return { mode: onExceed, message: `[${limit}, and that is used up. Finish with what you know now.]` }
}
