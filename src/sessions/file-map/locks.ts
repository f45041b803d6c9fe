/** Creates named locks for this process: work that shares a name runs serially. */
export function createLocks(): <T>(names: readonly string[], work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()

  function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (last.get(name) ?? Promise.resolve()).then(work)
    const ended = turn.then(
      () => {},
      () => {},
    )
    last.set(name, ended)
    ended.then(() => {
      if (last.get(name) === ended) last.delete(name)
    })
    return turn
  }

  return (names, work) => {
    // Locks are taken in the given order, parents before their children, so that there is no deadlock.
    const ordered = [...new Set(names)].reverse()
    return ordered.reduce<typeof work>((inner, name) => () => withLock(name, inner), work)()
  }
}
