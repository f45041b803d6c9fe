/** What one decision may still spend on comparing, so that no line and no number of rules can hold up the event loop. */
export interface MatchBudget {
  /** Takes some; false once there is none left. One is about what a short comparison costs. */
  spend(amount: number): boolean
}

/** Some tens of milliseconds. Whoever runs out of it must not allow, and has to take what forbids for a hit. */
export function createMatchBudget(left = 300_000): MatchBudget {
  let rest = left
  return {
    spend(amount) {
      rest -= amount
      return rest >= 0
    },
  }
}

/** What it costs to look for something short in a text. */
export const searchCost = (text: string): number => 1 + text.length / 400
