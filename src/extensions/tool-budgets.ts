import type { ToolBudget } from '../core/behavior.ts'
import type { Extension } from '../core/run.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'

/** `behavior.toolBudgets`: limits how often each tool may be called in a run. Refuses further calls, or tells the model once. */
export function toolBudgets(): Extension {
  return {
    name: 'tool-budgets',
    start(run, hooks) {
      const budgets = run.settings.behavior.toolBudgets
      if (!budgets) return
      const warned = new Set<string>()
      const notes: string[] = []
      hooks.hook('tool:gate', async (gate) => {
        const { name: tool, turnId } = gate
        const budget = Object.hasOwn(budgets, tool) ? budgets[tool] : undefined
        const count = run.tools.counts.of(tool)
        if (!budget || gate.block || gate.result !== undefined || count < budget.max) return
        const { mode, message } = outcomeOf(budget, tool, count, gate.displayName)
        if (mode === 'block') {
          gate.block = true
          gate.reason = message
        } else {
          if (warned.has(tool)) return
          warned.add(tool)
          notes.push(message)
        }
        await run.hooks.tell('tool-budget:exceeded', { tool, count, max: budget.max, turnId, mode })
      })
      hooks.hook('turn:next', (next) => void next.add.push(...notes.splice(0)))
    },
  }
}

function outcomeOf(
  { max, onExceed }: ToolBudget,
  tool: string,
  count: number,
  displayName: string,
): { mode: 'block' | 'steer'; message: string } {
  if (typeof onExceed === 'function') {
    const { mode, message } = onExceed({ tool, count, max })
    return {
      mode: mode === 'steer' ? 'steer' : 'block',
      message: String(message ?? `${displayName} was called ${count} times`),
    }
  }
  const limit = `${displayName} may be called ${max} ${max === 1 ? 'time' : 'times'} per run`
  if (onExceed === 'block') return { mode: onExceed, message: `${limit}, and that is used up` }
  return { mode: onExceed, message: `[${limit}, and that is used up. Finish with what you know now.]` }
}

/** `behavior.toolOutputBudget`: asks the model to summarise if the results of a turn are too large. Cuts nothing. */
export function outputBudget(): Extension {
  return {
    name: 'output-budget',
    start(run, hooks) {
      const budget = run.settings.behavior.toolOutputBudget
      if (budget === undefined) return
      const notes: string[] = []
      hooks.hook('tool-results:after', async ({ turnId, resultTurn }) => {
        let bytes = 0
        for (const block of resultTurn.content)
          if (block.type === 'tool_result') bytes += toolOutputByteLength(block.output)
        if (bytes <= budget) return
        notes.push(
          `[Tool output budget exceeded: ${bytes} bytes came back in this turn, the cap is ${budget}. Summarise what matters before calling more tools.]`,
        )
        await run.hooks.tell('budget:exceeded', { turn: run.progress.turnNumber, turnId, bytes, budget })
      })
      hooks.hook('turn:next', (next) => void next.add.push(...notes.splice(0)))
    },
  }
}
