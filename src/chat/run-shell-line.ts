import { userTurn } from '../core/inbox.ts'
import { headOf, tailOf } from '../core/text.ts'
import { type CallEnd, callInRun } from './call-in-run.ts'
import type { Chat } from './chat.ts'
import { requireIdle } from './commands/open-session.ts'
import type { ShellLineMeta } from './shell-line-meta.ts'

/** The command of a line that begins with `!`; undefined for another line. */
export function shellLineIn(text: string): string | undefined {
  const [, command] = /^!\s*(\S[\s\S]*)$/.exec(text) ?? []
  return command?.trimEnd()
}

/**
 * Runs a command that the person typed after `!`. It is judged as a call of the shell tool, asks as one, and runs in the same
 * sandbox. The line and its output become two turns of the person, which the model reads with the next message.
 */
export async function runShellLine(command: string, chat: Chat): Promise<CallEnd> {
  requireIdle({ chat })
  const meta: ShellLineMeta = { shellLine: headOf(command, 2000) }
  return chat.withAgent(({ agent, work }, signal) => {
    if (!work) throw new Error('This agent cannot run a command for you; ask it to run the command')
    return work.do(
      agent,
      async (run) => {
        const end = await callInRun(run, 'shell', { command })
        const text = `The user ran this command${end.isError ? ', which was refused or failed' : ''}. Its output:\n${shorten(end.output)}`
        await run.log.append({ type: 'turn', turn: userTurn(run, [{ type: 'text', text }], meta) })
        return end
      },
      { prompt: `!${command}`, meta, signal },
    )
  })
}

/** Of a longer output the model gets both ends. */
const mostShown = 20_000

function shorten(output: string): string {
  if (output.length <= mostShown) return output
  const half = mostShown / 2
  return `${headOf(output, half)}\n… ${output.length - mostShown} characters left out …\n${tailOf(output, half)}`
}
