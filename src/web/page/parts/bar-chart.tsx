import { WideTable } from './wide-table.tsx'
import './bar-chart.css'

export interface BarSeries {
  readonly name: string
  /** One for each column. */
  readonly values: readonly number[]
}

interface BarChartProps {
  readonly label: string
  readonly columns: readonly string[]
  readonly series: readonly BarSeries[]
  readonly format: (value: number) => string
}

/** Stacked bars. The same numbers follow as a table, for those who cannot see them, or want them exactly. */
export function BarChart({ label, columns, series, format }: BarChartProps) {
  const sums = columns.map((_, i) => series.reduce((sum, { values }) => sum + values[i]!, 0))
  const most = Math.max(...sums, 0)
  const width = 100 / columns.length
  return (
    <figure class="bar-chart">
      <div class="bar-chart-plot">
        <span class="facts bar-chart-most" aria-hidden="true">
          {format(most)}
        </span>
        <svg role="img" aria-label={`${label}; the numbers are in the table below`}>
          {columns.map((column, i) => (
            <g key={column}>
              <title>{`${column}: ${format(sums[i]!)}`}</title>
              <rect class="bar-chart-hover" x={`${i * width}%`} y="0" width={`${width}%`} height="100%" />
              {stacked(series, i, most).map(({ name, from, share }, kind) => (
                <rect
                  key={name}
                  data-series={kind % 6}
                  x={`${(i + 0.12) * width}%`}
                  width={`${width * 0.76}%`}
                  y={`${100 - from - share}%`}
                  height={`${share}%`}
                />
              ))}
            </g>
          ))}
        </svg>
      </div>
      <figcaption class="facts">
        <span>{columns[0]}</span>
        <span class="bar-chart-names">
          {series.length > 1 &&
            series.map(({ name }, i) => (
              <span key={name}>
                <i data-series={i % 6} aria-hidden="true" />
                {name}
              </span>
            ))}
        </span>
        <span>{columns.at(-1)}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <WideTable label={label} head={['Day', ...series.map(({ name }) => name)]}>
          {columns.flatMap((column, i) =>
            sums[i] === 0
              ? []
              : [
                  <tr key={column}>
                    <th scope="row">{column}</th>
                    {series.map(({ name, values }) => (
                      <td key={name} class="number">
                        {format(values[i]!)}
                      </td>
                    ))}
                  </tr>,
                ],
          )}
        </WideTable>
      </details>
    </figure>
  )
}

/** The parts of one column from the ground up, in percent of the highest column. */
function stacked(series: readonly BarSeries[], column: number, most: number) {
  let from = 0
  return series.map(({ name, values }) => {
    const share = most === 0 ? 0 : (values[column]! / most) * 100
    const part = { name, from, share }
    from += share
    return part
  })
}
