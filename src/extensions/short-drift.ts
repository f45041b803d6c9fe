import type { Run } from '../core/run.ts'
import type { ToolOutput } from '../core/turn.ts'

const mostLines = 8
const longest = 160

/** The first lines that are no longer what was read, where the old text has line numbers to tell by; else nothing. */
export async function shortDrift(
  { host: { execution, handle } }: Run,
  path: string,
  read: ToolOutput | undefined,
): Promise<string> {
  if (typeof read !== 'string' || !execution || !handle) return ''
  const now = (await execution.readFile(handle, path).catch(() => '')).split(/\r\n|\n/)
  const changes: string[] = []
  for (const line of read.split('\n')) {
    const [, number, before] = /^ *(\d+)\t(.*)$/.exec(line) ?? []
    if (number === undefined || before === undefined) continue
    const after = now[Number(number) - 1]
    if (after === before) continue
    changes.push(`-${number} ${cut(before)}`, ...(after === undefined ? [] : [`+${number} ${cut(after)}`]))
    if (changes.length >= mostLines) break
  }
  return changes.length > 0 ? ` It differs from line ${/\d+/.exec(changes[0]!)?.[0]} on:\n${changes.join('\n')}` : ''
}

const cut = (line: string): string => (line.length > longest ? `${line.slice(0, longest)}…` : line)
