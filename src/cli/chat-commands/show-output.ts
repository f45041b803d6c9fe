import { Readable, Writable } from 'node:stream'
import type { CommandContext } from '../../chat/command.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'

interface Showing {
  readonly context: Pick<CommandContext, 'chat' | 'screen'>
  readonly title: string
  /** Each line is printed as it comes, because the person must act on it. */
  readonly isLive?: true
  /** What the work reads from stdin. */
  readonly input?: string
}

/** More lines are shown on a page of their own. */
const mostPrinted = 15

/**
 * Does the work of a command of the command line inside a chat, in the folder of the chat, and shows what it prints. There is no
 * terminal for it to ask on. Resolves with its text.
 */
export async function showOutput(io: Io, showing: Showing, work: (io: Io) => Promise<number>): Promise<string> {
  const { context, title, isLive, input } = showing
  const { chat, screen } = context
  const lines: string[] = []
  const take = (line: string): void => {
    if (isLive) screen.print(line)
    lines.push(...line.split('\n'))
  }
  const exitCode = await work(captured(io, { take, input, cwd: chat.state.settings.folder ?? io.cwd }))
  const text = lines.join('\n').trim()
  if (exitCode !== exitCodes.done && lines.length === 0) throw new Error(`${title} failed (${exitCode})`)
  if (isLive || text === '') return text
  if (lines.length > mostPrinted) await screen.view({ title, text })
  else screen.print(text)
  return text
}

interface Capture {
  readonly take: (line: string) => void
  readonly input: string | undefined
  readonly cwd: string
}

/** The same world, with output that goes to `take`. */
function captured(io: Io, { take, input, cwd }: Capture): Io {
  const output = (): Writable =>
    new Writable({
      write(chunk, _, done) {
        take(String(chunk).replace(/\n$/, ''))
        done()
      },
    })
  const { FORCE_COLOR: _, ...env } = io.env
  const values = {
    ...{ stdin: Readable.from(input === undefined ? [] : [input]), stdout: output(), stderr: output(), cwd },
    ...{ isStdinEmpty: input === undefined, env: { ...env, NO_COLOR: '1' }, out: take, err: take },
    onSignal: () => () => {},
  }
  // The streams of the process are opened when they are read, so they are not copied.
  return Object.create(io, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }])))
}
