/** Lets those who want the same thing have it one after the other. */
export function createTurnTaking(): <T>(names: readonly string[], work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()

  function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
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
    // The first name is asked for first. Parents come before their children, so no two wait for each other.
    const ordered = [...new Set(names)].reverse()
    return ordered.reduce<typeof work>((inner, name) => () => alone(name, inner), work)()
  }
}
