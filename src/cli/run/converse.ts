import { exitCodes } from '../cli-error.ts'

export interface Conversation {
  /** The next task; `undefined` ends the conversation (Ctrl-D). */
  ask(): Promise<string | undefined>
  /** Without a task it continues the session. */
  run(task: string | undefined): Promise<unknown>
  showError(text: string): void
  /** The exit code when the process must end: after a signal, a crash, or when stdout is closed. */
  exitCode(): number | undefined
  /** The first run continues a session and has no task. */
  readonly continuesSession?: boolean
}

/** Runs one task after another until the person enters no more. An error is shown and the conversation goes on. */
export async function converse({
  ask,
  run,
  showError,
  exitCode,
  continuesSession = false,
}: Conversation): Promise<number> {
  let isContinuing = continuesSession
  for (;;) {
    const task = isContinuing ? undefined : await ask()
    if (!isContinuing && (task === undefined || isExitWord.test(task))) return exitCodes.done
    isContinuing = false
    try {
      if (task?.trim() !== '') await run(task)
    } catch (error) {
      showError(error instanceof Error ? error.message : String(error))
    }
    const code = exitCode()
    if (code !== undefined) return code
  }
}

/** `exit`, `/quit`, `:q`: what people type to leave other programs. */
const isExitWord = /^\s*[/:]?(?:exit|quit|q)\s*$/
