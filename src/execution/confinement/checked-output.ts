import type { ExecOptions } from '../../core/execution.ts'

type OnOutput = NonNullable<ExecOptions['onOutput']>

interface CheckedOutput {
  readonly onOutput: OnOutput
  /** Resolves when all output so far was passed on, or withheld. */
  settled(): Promise<void>
}

/** Passes output on to a listener after a check that begins when the output is there. */
export function checkedOutput(listener: OnOutput, isAllowed: () => Promise<boolean>): CheckedOutput {
  let waiting: [text: string, from: 'stdout' | 'stderr'][] = []
  let passing: Promise<void> | undefined

  async function pass(): Promise<void> {
    while (waiting.length > 0) {
      const pieces = waiting
      waiting = []
      if (await isAllowed()) for (const piece of pieces) tell(listener, ...piece)
    }
    passing = undefined
  }

  return {
    onOutput(...piece) {
      waiting.push(piece)
      passing ??= pass()
    },
    settled: async () => passing,
  }
}

/** A failing listener does not affect the command. */
function tell(listener: OnOutput, ...piece: Parameters<OnOutput>): void {
  try {
    const told: unknown = listener(...piece)
    if (told instanceof Promise) told.catch(() => {})
  } catch {
    // as above
  }
}
