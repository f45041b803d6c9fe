import { exitCodes } from '../cli-error.ts'

export interface Conversation {
  /** The next task; `undefined` where there is none (Ctrl-D). */
  ask(): Promise<string | undefined>
  /** Without a task: goes on where the session stands. */
  run(task: string | undefined): Promise<unknown>
  say(text: string): void
  /** What it has to end with, now that something happened that no next task mends: a signal, a crash, nobody who reads. */
  endsWith(): number | undefined
  /** It begins with what the session left open. */
  readonly isGoingOn?: boolean
}

/** One task after another, until the person has no more. What fails is said, and the conversation goes on. */
export async function converse({ ask, run, say, endsWith, isGoingOn = false }: Conversation): Promise<number> {
  let task = isGoingOn ? undefined : await ask()
  if (task === undefined && !isGoingOn) return exitCodes.done
  for (;;) {
    if (task !== undefined && isGoodbye.test(task)) return exitCodes.done
    try {
      if (task?.trim() !== '') await run(task)
    } catch (error) {
      say(error instanceof Error ? error.message : String(error))
    }
    const ending = endsWith()
    if (ending !== undefined) return ending
    task = await ask()
    if (task === undefined) return exitCodes.done
  }
}

/** What people type to leave, here as elsewhere. No model has to be asked about it. */
const isGoodbye = /^\s*[/:]?(?:exit|quit|q)\s*$/
