import type { RemoteUsage, UsageRow } from '../libero.ts'
import type { BarSeries } from '../parts/bar-chart.tsx'

export type UsageMetric = 'cost' | 'tokens'

/** Usage by day and model as bars: every day since the first one has a column, the largest models have their own colour. */
export function usageDays(
  { since, rows }: Pick<RemoteUsage, 'since' | 'rows'>,
  { metric, until }: { readonly metric: UsageMetric; readonly until: string },
): { readonly days: readonly string[]; readonly series: readonly BarSeries[] } {
  const days = daysBetween(since, until)
  const place = new Map(days.map((day, i) => [day, i]))
  const sums = new Map<string, number>()
  for (const { model = 'unknown', ...row } of rows) sums.set(model, (sums.get(model) ?? 0) + amountOf(row, metric))
  const largest = [...sums].sort(([, a], [, b]) => b - a).map(([model]) => model)
  const own = new Set(largest.slice(0, 5))
  const names = [...own, ...(largest.length > 5 ? ['others'] : [])]
  const series = new Map(names.map((name) => [name, days.map(() => 0)]))
  for (const row of rows) {
    const { model = 'unknown', day = '' } = row
    const values = series.get(own.has(model) ? model : 'others')!
    const at = place.get(day)
    if (at !== undefined) values[at]! += amountOf(row, metric)
  }
  return { days, series: [...series].map(([name, values]) => ({ name, values })) }
}

const amountOf = (row: UsageRow, metric: UsageMetric): number => row[metric] ?? 0

function daysBetween(since: string, until: string): string[] {
  const days: string[] = []
  for (let at = Date.parse(since); at <= Date.parse(until) && days.length < 400; at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days.length > 0 ? days : [until]
}
