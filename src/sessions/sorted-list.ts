/** The most items in a chunk; a full one is divided. */
const maxChunk = 512

/** Items in order, for lists that change often. No two items compare as equal. */
export class SortedList<Item> {
  size = 0
  readonly #compare: (a: Item, b: Item) => number
  readonly #chunks: Item[][] = []

  constructor(compare: (a: Item, b: Item) => number) {
    this.#compare = compare
  }

  add(item: Item): void {
    this.size++
    const at = this.#chunkFor(item)
    const chunk = this.#chunks[at]
    if (!chunk) {
      const last = this.#chunks.at(-1)
      if (last && last.length < maxChunk) last.push(item)
      else this.#chunks.push([item])
      return
    }
    chunk.splice(this.#placeIn(chunk, item), 0, item)
    if (chunk.length > maxChunk) this.#chunks.splice(at + 1, 0, chunk.splice(maxChunk / 2))
  }

  /** Removes the item that compares as equal, if there is one. */
  remove(item: Item): void {
    const at = this.#chunkFor(item)
    const chunk = this.#chunks[at]
    if (!chunk) return
    const place = this.#placeIn(chunk, item)
    const found = chunk[place]
    if (found === undefined || this.#compare(found, item) !== 0) return
    chunk.splice(place, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
    this.size--
  }

  /** The items that follow `item`, which need not be in the list; without it, all. The list must not change meanwhile. */
  *after(item?: Item): Generator<Item, void> {
    if (item === undefined) yield* this.#from(0, 0)
    else for (const other of this.from(item)) if (this.#compare(other, item) !== 0) yield other
  }

  /** The item and those that follow it. */
  *from(item: Item): Generator<Item, void> {
    const at = this.#chunkFor(item)
    yield* this.#from(at, this.#placeIn(this.#chunks[at] ?? [], item))
  }

  *#from(at: number, place: number): Generator<Item, void> {
    for (const [i, chunk] of this.#chunks.slice(at).entries())
      for (let n = i === 0 ? place : 0; n < chunk.length; n++) yield chunk[n]!
  }

  /** How many items are before `item`, which need not be in the list. */
  countBefore(item: Item): number {
    const at = this.#chunkFor(item)
    const before = this.#chunks.slice(0, at).reduce((sum, chunk) => sum + chunk.length, 0)
    return before + this.#placeIn(this.#chunks[at] ?? [], item)
  }

  /** The first chunk whose last item is not before `item`. */
  #chunkFor(item: Item): number {
    return firstWhere(this.#chunks, (chunk) => this.#compare(chunk.at(-1)!, item) >= 0)
  }

  #placeIn(chunk: readonly Item[], item: Item): number {
    return firstWhere(chunk, (other) => this.#compare(other, item) >= 0)
  }
}

/** The first place of a list for which the condition is true, if it is true for all that follow; else its length. */
function firstWhere<Item>(list: readonly Item[], isTrue: (item: Item) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isTrue(list[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}
