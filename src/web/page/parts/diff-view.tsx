import { useMemo, useState } from 'preact/hooks'
import { type DiffRow, pluralize, readDiff } from '../libero.ts'
import { memo } from './react.ts'
import '../styles/diff.css'

export interface DiffViewProps {
  /** A unified diff, or several as `git diff` prints them. */
  readonly diff: string
  /** Lines shown at first. */
  readonly most?: number
  /** Called with the line that the person chose to write about. */
  readonly onLine?: (row: DiffRow) => void
}

const signs: Readonly<Record<DiffRow['kind'], string>> = {
  ...{ file: '', hunk: '', same: ' ', note: '' },
  ...{ added: '+', removed: '-' },
}

/** A diff line by line, with the numbers of the lines and the words that changed. */
export const DiffView = memo(function DiffView({ diff, most = 200, onLine }: DiffViewProps) {
  const rows = useMemo(() => linesOf(diff), [diff])
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole || rows.length <= most + 20 ? rows : rows.slice(0, most)
  return (
    <div class="diff">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <section class="diff-lines" aria-label="Changes" tabIndex={0}>
        {shown.map((row, i) => (
          <DiffLine key={i} row={row} onLine={onLine} />
        ))}
      </section>
      {shown.length < rows.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {`Show ${pluralize(rows.length - shown.length, 'more line')}`}
        </button>
      )}
    </div>
  )
})

/** The names of files are shown only if there are several: else the caller has named it. */
function linesOf(diff: string): readonly DiffRow[] {
  const rows = readDiff(diff)
  const text = ({ parts }: DiffRow): string => parts[0]?.text ?? ''
  const files = rows.filter((row) => row.kind === 'file' && text(row).startsWith('+++')).length
  return files > 1
    ? rows
    : rows.filter((row) => row.kind !== 'file' || !/^(?:\+\+\+|new file|deleted file)/.test(text(row)))
}

interface DiffLineProps {
  readonly row: DiffRow
  readonly onLine: ((row: DiffRow) => void) | undefined
}

function DiffLine({ row, onLine }: DiffLineProps) {
  const { kind, parts, before, after } = row
  const number = after ?? before
  return (
    <div class={`diff-line ${kind}`}>
      <span class="diff-number" aria-hidden="true">
        {number}
      </span>
      <span class="diff-sign">{signs[kind]}</span>
      <span class="diff-text">
        {parts.map(({ text, isChanged }, i) => (isChanged ? <mark key={i}>{text}</mark> : text))}
      </span>
      {onLine && number !== undefined && (
        <button
          type="button"
          class="diff-comment"
          aria-label={`Write about line ${number}`}
          onClick={() => onLine(row)}
        >
          +
        </button>
      )}
    </div>
  )
}
