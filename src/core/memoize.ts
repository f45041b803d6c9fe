/** Caches the results of a pure function of immutable objects. */
export function memoize<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const kept = new WeakMap<Key, Made>()
  return (key) => {
    let made = kept.get(key)
    if (made === undefined) kept.set(key, (made = make(key)))
    return made
  }
}

/** Maps lists that only grow, and caches the results: each call costs only the items added since the last one. */
export function memoizeList<Item extends object, Made>(
  make: (item: Item) => Made,
): (list: readonly Item[]) => readonly Made[] {
  const kept = new WeakMap<readonly Item[], Made[]>()
  const makeOnce = memoize((item: Item) => ({ made: make(item) }))
  return (list) => {
    let made = kept.get(list)
    if (!made || made.length > list.length) kept.set(list, (made = []))
    for (let i = made.length; i < list.length; i++) made.push(makeOnce(list[i]!).made)
    return made
  }
}
