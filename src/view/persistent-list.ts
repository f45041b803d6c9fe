/**
 * An immutable list. A change copies a few short arrays, however long the list is, and shares the rest with the list
 * before: so a copy of the past costs nothing to keep. The last items are in an array of their own, because most changes
 * are there.
 */
export class PersistentList<T> implements Iterable<T> {
  readonly length: number
  readonly #tree: Node<T>
  /** The levels of nodes below the root of the tree. */
  readonly #depth: number
  readonly #tail: readonly T[]

  private constructor(tree: Node<T>, depth: number, treeLength: number, tail: readonly T[]) {
    this.#tree = tree
    this.#depth = depth
    this.#tail = tail
    this.length = treeLength + tail.length
  }

  static of<T>(items: Iterable<T> = []): PersistentList<T> {
    let list = new PersistentList<T>([], 0, 0, [])
    for (const item of items) list = list.push(item)
    return list
  }

  get #treeLength(): number {
    return this.length - this.#tail.length
  }

  /** A negative index counts from the end. */
  at(index: number): T | undefined {
    const i = index < 0 ? this.length + index : index
    if (i < 0 || i >= this.length) return undefined
    if (i >= this.#treeLength) return this.#tail[i - this.#treeLength]
    return leafOf(this.#tree, this.#depth, i)[digit(i, 0)] as T
  }

  push(item: T): PersistentList<T> {
    if (this.#tail.length < width)
      return new PersistentList(this.#tree, this.#depth, this.#treeLength, [...this.#tail, item])
    const before = this.#treeLength
    const isFull = before === width ** (this.#depth + 1)
    const depth = isFull ? this.#depth + 1 : this.#depth
    const tree = changed<T>(isFull ? [this.#tree] : this.#tree, depth, before, () => this.#tail)
    return new PersistentList(tree, depth, before + width, [item])
  }

  /** The list with another item at an index that it has. */
  with(index: number, item: T): PersistentList<T> {
    if (!(index >= 0 && index < this.length))
      throw new RangeError(`The list has ${this.length} items, so there is none at ${index} to replace`)
    const before = this.#treeLength
    if (index >= before)
      return new PersistentList(this.#tree, this.#depth, before, this.#tail.with(index - before, item))
    const tree = changed<T>(this.#tree, this.#depth, index, (leaf) => leaf.with(digit(index, 0), item))
    return new PersistentList(tree, this.#depth, before, this.#tail)
  }

  /** The first items. */
  take(length: number): PersistentList<T> {
    if (length >= this.length) return this
    if (length <= 0) return PersistentList.of()
    const before = Math.min(this.#treeLength, (Math.ceil(length / width) - 1) * width)
    const tail = before === this.#treeLength ? this.#tail : (leafOf(this.#tree, this.#depth, before) as readonly T[])
    return new PersistentList(this.#tree, this.#depth, before, tail.slice(0, length - before))
  }

  /** As that of an array: a negative number counts from the end. */
  slice(from = 0, to = this.length): T[] {
    const items: T[] = []
    for (let i = Math.max(0, from < 0 ? this.length + from : from); i < Math.min(to, this.length); i++)
      items.push(this.at(i) as T)
    return items
  }

  map<U>(change: (item: T, index: number) => U): U[] {
    return Array.from(this, change)
  }

  /** The indexes, ascending, at which this list has another item than `before`. Parts that both share are not looked at. */
  changesSince(before: PersistentList<T>): number[] {
    const found: number[] = []
    const depth = Math.max(this.#depth, before.#depth)
    const inTree = Math.min(this.#treeLength, before.#treeLength)
    const [now, old] = [deepened(this.#tree, this.#depth, depth), deepened(before.#tree, before.#depth, depth)]
    addChanges({ now, old, level: depth, from: 0, end: inTree }, found)
    for (let i = inTree; i < this.length; i++) if (i >= before.length || this.at(i) !== before.at(i)) found.push(i)
    return found
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.length; i++) yield this.at(i) as T
  }
}

/** Leaves have items, the nodes above them have nodes. All leaves are full. */
type Node<T> = readonly (T | Node<T>)[]

const bits = 5
const width = 2 ** bits

const digit = (index: number, level: number): number => (index >>> (level * bits)) & (width - 1)

function leafOf<T>(tree: Node<T>, depth: number, index: number): Node<T> {
  let node = tree
  for (let level = depth; level > 0; level--) node = node[digit(index, level)] as Node<T>
  return node
}

/** The tree with another leaf for an index. */
function changed<T>(node: Node<T>, level: number, index: number, leaf: (old: Node<T>) => Node<T>): Node<T> {
  if (level === 0) return leaf(node)
  const copy = node.slice()
  const at = digit(index, level)
  copy[at] = changed((node[at] ?? []) as Node<T>, level - 1, index, leaf)
  return copy
}

/** The same tree below as many more roots as `depth` asks for. */
function deepened<T>(tree: Node<T>, own: number, depth: number): Node<T> {
  return own === depth ? tree : deepened([tree], own + 1, depth)
}

interface ComparedNodes<T> {
  readonly now: Node<T>
  readonly old: Node<T>
  readonly level: number
  /** The index of the first item below them. */
  readonly from: number
  /** A tree may have items beyond the end of its list. */
  readonly end: number
}

function addChanges<T>({ now, old, level, from, end }: ComparedNodes<T>, found: number[]): void {
  if (now === old) return
  const step = width ** level
  for (let i = 0; i < now.length && from + i * step < end; i++) {
    if (now[i] === old[i]) continue
    if (level === 0) found.push(from + i)
    else {
      const below = { now: now[i] as Node<T>, old: (old[i] ?? []) as Node<T> }
      addChanges({ ...below, level: level - 1, from: from + i * step, end }, found)
    }
  }
}
