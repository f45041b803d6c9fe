import type { Extension } from '../core/run.ts'
import { dedupTools } from '../extensions/dedup-tools.ts'
import { outputBudget } from '../extensions/output-budget.ts'
import { persistResults } from '../extensions/persist-results.ts'
import { stripImages } from '../extensions/strip-images.ts'
import { structuredOutput } from '../extensions/structured-output.ts'
import { tailCompaction } from '../extensions/tail-compaction.ts'
import { thinkingDecay } from '../extensions/thinking-decay.ts'
import { toolBudgets } from '../extensions/tool-budgets.ts'

/** Every built-in feature, in the order in which it has its say at a moment. Each sleeps until its option is set. */
export function standardExtensions(): Extension[] {
  return [
    // tool:gate, after the consumers' own: an exhausted budget beats a replayed result
    toolBudgets(),
    dedupTools(),
    // request:prepare
    tailCompaction(),
    thinkingDecay(),
    // tool:transform, after the consumers' own: first the file, then what is shown
    persistResults(),
    stripImages(),
    // turn:next: notes to the model first; the final answer only when nobody has anything to add
    outputBudget(),
    structuredOutput(),
  ]
}
