/** Does something with each of many, a few at a time; what comes of them is in their order. */
export async function eachBounded<T, R>(all: readonly T[], width: number, work: (one: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(all.length)
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < all.length) {
      const i = next++
      results[i] = await work(all[i]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, all.length) }, worker))
  return results
}
