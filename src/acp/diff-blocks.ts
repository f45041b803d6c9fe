/** A part of a file before and after a change. `line` is the first line that changed, from 1. */
export interface DiffBlock {
  /** `null` if there was no file. */
  readonly oldText: string | null
  readonly newText: string
  readonly line: number
}

/** The hunks of a unified diff of one file. */
export function diffBlocks(diff: string): readonly DiffBlock[] {
  const blocks: DiffBlock[] = []
  let hunk: Hunk | undefined
  const flush = (): void => {
    if (hunk) blocks.push(blockOf(hunk))
    hunk = undefined
  }
  for (const line of diff.split('\n')) {
    const [, before, beforeCount = '1', after, afterCount = '1'] = header.exec(line) ?? []
    if (before !== undefined) {
      flush()
      const left = { before: Number(beforeCount), after: Number(afterCount) }
      hunk = { left, isNew: before === '0' && beforeCount === '0', at: Number(after), before: [], after: [] }
    } else if (hunk && line.startsWith('\\')) endWithoutNewline(hunk)
    else if (hunk && (hunk.left.before > 0 || hunk.left.after > 0)) take(hunk, line)
  }
  flush()
  return blocks
}

interface Hunk {
  /** How many lines of each side are to come: `---` within a hunk is a removed line. */
  readonly left: { before: number; after: number }
  readonly isNew: boolean
  at: number
  readonly before: string[]
  readonly after: string[]
  hasChanged?: true
  last?: 'before' | 'after' | 'both'
}

const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

function take(hunk: Hunk, line: string): void {
  const sign = line[0]
  const isBefore = sign === '-' || sign === ' '
  const isAfter = sign === '+' || sign === ' '
  if (!isBefore && !isAfter) return // a note that lines were cut
  const text = `${line.slice(1)}\n`
  if (isBefore) hunk.before.push(text)
  if (isAfter) hunk.after.push(text)
  hunk.left.before -= isBefore ? 1 : 0
  hunk.left.after -= isAfter ? 1 : 0
  hunk.last = isBefore && isAfter ? 'both' : isBefore ? 'before' : 'after'
  if (hunk.last !== 'both') hunk.hasChanged = true
  else if (!hunk.hasChanged) hunk.at++
}

/** The line before says that its text does not end with a newline. */
function endWithoutNewline({ last, before, after }: Hunk): void {
  for (const lines of [last !== 'after' && before, last !== 'before' && after])
    if (lines && lines.length > 0) lines.push(lines.pop()!.replace(/\n$/, ''))
}

const blockOf = ({ isNew, before, after, at }: Hunk): DiffBlock => ({
  oldText: isNew ? null : before.join(''),
  newText: after.join(''),
  line: Math.max(1, at),
})
