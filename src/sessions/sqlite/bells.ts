/** Tells whoever watches a session that this process has changed it. */
export class Bells {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Returns how to stop listening. */
  listen(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  ring(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener()
  }
}
