import type { ThinkingDecay } from '../core/behavior.ts'
import type { Extension } from '../core/run.ts'

/** `behavior.thinkingDecay`: less thinking in later turns. No effect without `thinkingBudget`. */
export function thinkingDecay(): Extension {
  return {
    name: 'thinking-decay',
    start(run, hooks) {
      const { thinkingDecay: decay, thinkingBudget } = run.settings.behavior
      if (!decay || thinkingBudget === undefined) return
      hooks.hook('request:prepare', (request) => {
        if (request.thinkingBudget === undefined) return
        request.thinkingBudget = applyThinkingDecay(request.thinkingBudget, decay, request.turn)
      })
    },
  }
}

/** The budget of a turn (1 is the first of the run), between 0 and `base`. */
export function applyThinkingDecay(base: number, decay: ThinkingDecay, turn: number): number {
  const wanted = typeof decay === 'function' ? decay(turn, base) : decayed(base, decay, turn)
  if (!Number.isFinite(wanted)) return base
  return Math.floor(Math.min(Math.max(wanted, 0), base))
}

function decayed(
  base: number,
  { afterTurn, factor, floor }: Exclude<ThinkingDecay, (...args: never) => unknown>,
  turn: number,
): number {
  if (turn <= afterTurn) return base
  return Math.max(base * factor ** (turn - afterTurn), floor)
}
