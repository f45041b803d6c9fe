import type { ToolDef } from '../../core/tool.ts'
import { createShellTool } from '../../tools/shell.ts'
import { mostBytes, mostLines } from './zot-limits.ts'

const description = `Runs a shell command; stdout and stderr come as one, and only the end if it is long.
There is no terminal and nothing to type into it: pass flags such as --yes, and no editors or pagers.
Every command starts anew in the working directory; cd and variables are not kept. What a command leaves running is stopped.`

/** Seconds. */
const mostTimeout = 600

const shell = createShellTool({ maxOutputBytes: mostBytes, maxTimeoutMs: mostTimeout * 1000, background: false })

interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
}

/** The shell as zot's clients know it. Its canonical name stays `shell`; who talks to the model calls it `bash`. */
export const bash: ToolDef<BashInput> = {
  ...shell,
  spec: {
    name: 'shell',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string' },
        timeout: { type: 'number', description: `Seconds. Default 120, at most ${mostTimeout}.` },
      },
      required: ['command'],
    },
  },
  async execute({ command, timeout }, ctx) {
    const limit = timeout !== undefined && timeout > 0 && { timeout: Math.max(Math.round(timeout * 1000), 1) }
    const ended = (await shell.execute({ command, ...limit }, ctx)) as EndedCommand
    return { ...ended, output: textOf(command, ended) }
  },
}

/** What the shell tool gives back. */
interface EndedCommand {
  readonly output: string
  readonly isError: boolean
  readonly details: {
    readonly exitCode: number | null
    readonly durationMs: number
    readonly signal?: string
    readonly timedOut?: boolean
  }
}

function textOf(command: string, { output, details }: EndedCommand): string {
  const { exitCode, durationMs, signal, timedOut } = details
  // Its last lines say how it ended; they are found by the time it took, from behind.
  const at = output.lastIndexOf('\n(', output.lastIndexOf(`, ${durationMs}ms)`))
  const body = at < 0 ? output : output.slice(0, at)
  const notes =
    at < 0
      ? []
      : output
          .slice(at + 1)
          .split('\n')
          .slice(1)
  const end = exitCode ?? -1
  const why = timedOut ? ' timed out' : signal === undefined ? '' : ` killed by ${signal}`
  return [
    `$ ${command}`,
    lastLines(body === '(no output)' ? '' : body),
    ...notes.filter((note) => !note.startsWith('(it was stopped;')),
    timedOut
      ? `(it was stopped; the output is what came until then; ask for more with timeout, up to ${mostTimeout})`
      : '',
    `[exit ${end}]${why} ${(durationMs / 1000).toFixed(2)}s`,
  ]
    .filter((part, i) => i === 0 || part !== '')
    .join('\n')
}

function lastLines(text: string): string {
  const lines = text.split('\n')
  if (lines.length <= mostLines) return text
  return [`…(${lines.length - mostLines} lines truncated from head)…`, ...lines.slice(-mostLines)].join('\n')
}
