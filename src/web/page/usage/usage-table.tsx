import { formatDuration, type UsageDimension, type UsageRow, visibleName } from '../libero.ts'
import { dollars, shortCount } from '../parts/numbers.ts'
import { WideTable } from '../parts/wide-table.tsx'

interface UsageTableProps {
  readonly by: UsageDimension
  readonly title: string
  readonly rows: readonly UsageRow[]
}

/** What one dimension used, the most expensive first, each with its share as a bar. */
export function UsageTable({ by, title, rows }: UsageTableProps) {
  const weight = (row: UsageRow): number => row.cost || row.tokens || row.calls || 0
  const sorted = [...rows].sort((a, b) => weight(b) - weight(a)).slice(0, 20)
  if (sorted.length === 0) return null
  const most = Math.max(...sorted.map(weight), 0)
  const columns = by === 'tool' ? toolColumns : costColumns
  return (
    <section>
      <h2>{title}</h2>
      <WideTable label={title} head={[title.replace('By ', ''), ...columns.map(([name]) => name)]}>
        {sorted.map((row) => (
          <tr key={row[by]}>
            <th scope="row" class="usage-name">
              {visibleName(row[by] || 'none')}
              <svg aria-hidden="true">
                <rect height="4" rx="2" width={`${most === 0 ? 0 : (weight(row) / most) * 100}%`} />
              </svg>
            </th>
            {columns.map(([name, show]) => (
              <td key={name} class="number">
                {show(row)}
              </td>
            ))}
          </tr>
        ))}
      </WideTable>
      {rows.length > sorted.length && <p class="facts">{`and ${rows.length - sorted.length} more`}</p>}
    </section>
  )
}

type Column = readonly [name: string, show: (row: UsageRow) => string]

const costColumns: readonly Column[] = [
  ['sessions', ({ sessions = 0 }) => String(sessions)],
  ['turns', ({ turns = 0 }) => shortCount(turns)],
  ['input', ({ input = 0 }) => shortCount(input)],
  ['from cache', ({ cacheRead = 0 }) => shortCount(cacheRead)],
  ['output', ({ output = 0 }) => shortCount(output)],
  ['cost', ({ cost = 0 }) => dollars(cost)],
]

const toolColumns: readonly Column[] = [
  ['calls', ({ calls = 0 }) => shortCount(calls)],
  ['errors', ({ errors = 0 }) => String(errors)],
  ['results', ({ resultTokens = 0 }) => `${shortCount(resultTokens)} tokens`],
  ['time', ({ ms = 0 }) => formatDuration(ms)],
]
