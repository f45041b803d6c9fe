import type { Extension } from '../core/run.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'

/** `behavior.toolOutputBudget`: asks the model to sum up when the results of one turn were too much. Cuts nothing. */
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
        await run.hooks.tell('budget:exceeded', { turn: run.progress.turn, turnId, bytes, budget })
      })
      hooks.hook('turn:next', (next) => void next.add.push(...notes.splice(0)))
    },
  }
}
