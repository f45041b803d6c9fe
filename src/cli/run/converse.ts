import { exitCodes } from '../exit-codes.ts'

/** One task after another, until the person has no more (Ctrl-D). What fails is said, and the conversation goes on. */
export async function converse(
  ask: () => Promise<string | undefined>,
  run: (task: string) => Promise<number>,
  say: (text: string) => void,
): Promise<number> {
  for (;;) {
    const task = await ask()
    if (task === undefined) return exitCodes.done
    if (task.trim() === '') continue
    try {
      const exitCode = await run(task)
      if (exitCode === exitCodes.terminated || exitCode === exitCodes.hungUp) return exitCode
    } catch (error) {
      say(error instanceof Error ? error.message : String(error))
    }
  }
}
