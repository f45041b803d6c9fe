import { visibleName } from '../../platform/visible-text.ts'
import type { ListedModel } from './model-list.ts'

/** Models in columns, for a terminal; none where there are no models. */
export function modelTable(models: readonly ListedModel[]): string[] {
  if (models.length === 0) return []
  const rows = [
    ['model', 'context', 'output', 'thinks', 'in $/M', 'out $/M'],
    ...models.map(
      ({ id, provider, isDefault, isDeprecated, contextWindow, maxOutput, reasoning, inputPrice, outputPrice }) => [
        visibleName(`${provider}/${id}`) + (isDefault ? ' *' : '') + (isDeprecated ? ' (going out of use)' : ''),
        tokens(contextWindow),
        tokens(maxOutput),
        reasoning === undefined ? '' : reasoning ? 'yes' : 'no',
        dollars(inputPrice),
        dollars(outputPrice),
      ],
    ),
  ]
  // A column in which nothing is known is left out.
  const columns = rows[0]!.map((_, i) => i).filter((i) => rows.slice(1).some((row) => row[i] !== ''))
  const widths = columns.map((i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.map((row) =>
    columns
      .map((i, n) => (n === 0 ? row[i]!.padEnd(widths[n]!) : row[i]!.padStart(widths[n]!)))
      .join('  ')
      .trimEnd(),
  )
}

function tokens(count: number | undefined): string {
  if (count === undefined) return ''
  return count >= 1_000_000 ? `${Number((count / 1_000_000).toFixed(1))}M` : `${Math.round(count / 1000)}k`
}

function dollars(price: number | undefined): string {
  if (price === undefined) return ''
  return price === 0 ? 'free' : price.toFixed(price < 0.1 ? 3 : 2)
}
