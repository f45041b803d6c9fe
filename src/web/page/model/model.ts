import { useEffect, useRef, useState } from 'preact/hooks'

/** What a screen shows: an immutable state, and a way to hear of its changes. */
export interface Model<State> {
  readonly state: State
  subscribe(listener: () => void): () => void
}

/** A model whose owner changes it. */
export class Cell<State> implements Model<State> {
  #state: State
  readonly #listeners = new Set<() => void>()

  constructor(state: State) {
    this.#state = state
  }

  get state(): State {
    return this.#state
  }

  /** Replaces some fields. */
  change(changes: Partial<State>): void {
    this.set({ ...this.#state, ...changes })
  }

  set(state: State): void {
    if (state === this.#state) return
    this.#state = state
    for (const listener of this.#listeners) listener()
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** The part of a model's state that a component shows. The component is drawn again when that part is another value. */
export function useModel<State, Part = State>(
  model: Model<State>,
  select: (state: State) => Part = (state) => state as unknown as Part,
): Part {
  const part = select(model.state)
  const shown = useRef({ select, part })
  shown.current = { select, part }
  const [, redraw] = useState({})
  useEffect(() => {
    const look = (): void => {
      if (!Object.is(shown.current.select(model.state), shown.current.part)) redraw({})
    }
    look() // it may have changed between drawing and subscribing
    return model.subscribe(look)
  }, [model])
  return part
}
