/** Money with its currency: `$0.04`, `$12.30`, `$0.0012` for very little. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.01) return `$${amount.toPrecision(2)}`
  return `$${amount.toFixed(2)}`
}

/** A count in at most four characters: `950`, `1.2k`, `34k`, `5.1M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_500) return count < 9950 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}
