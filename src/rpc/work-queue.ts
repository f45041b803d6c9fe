/** Runs work one at a time, in the order of its arrival. */
export class WorkQueue {
  #waiting: Item[] = []
  #bytes = 0
  #active: WorkState | undefined
  #running: Promise<void> | undefined

  get isIdle(): boolean {
    return this.#running === undefined
  }

  /** Whether work of a client is running or waiting. */
  get isBusy(): boolean {
    return this.#active?.isInternal === false || this.#waiting.some(({ state }) => !state.isInternal)
  }

  /** Returns false if too much is waiting already: a client must not fill the memory. */
  add(work: Work): boolean {
    if (this.#waiting.length >= mostWaiting || this.#bytes + work.size > mostBytes) return false
    this.#waiting.push(itemOf(work))
    this.#start(work)
    return true
  }

  /** Adds work right behind the current work, or behind the next if none is running. */
  addNext(work: Work): boolean {
    if (this.#waiting.length >= mostWaiting) return false
    const isUnderWay = this.#active?.isInternal === false
    const at = isUnderWay ? 0 : this.#waiting.findIndex(({ state }) => !state.isInternal) + 1
    this.#waiting.splice(at, 0, itemOf(work))
    this.#start(work)
    return true
  }

  /**
   * Marks the current work, or else the next, as aborted; work behind it is not affected. Returns true if it has begun, so
   * that the caller has to stop it.
   */
  abort(): boolean {
    const active = this.#active?.isInternal === false ? this.#active : undefined
    const state = active ?? this.#waiting.find((item) => !item.state.isInternal)?.state
    if (state) state.isAborted = true
    return active !== undefined
  }

  /** Drops work that has not begun. */
  clear(): void {
    this.#waiting = []
    this.#bytes = 0
  }

  /** Resolves when the queue is empty and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  #start({ size }: Work): void {
    this.#bytes += size
    this.#running ??= this.#runAll()
  }

  async #runAll(): Promise<void> {
    await null // until `#running` is set
    for (let item = this.#waiting[0]; item; item = this.#waiting[0]) {
      const { work, state } = item
      await work.after
      if (this.#waiting[0] !== item) continue // dropped or overtaken meanwhile
      this.#waiting.shift()
      this.#bytes -= work.size
      this.#active = state
      await work.run(state)
      this.#active = undefined
    }
    this.#running = undefined
  }
}

export interface Work {
  /** Its approximate memory while it waits. */
  readonly size: number
  /** Resolves before the work may begin. */
  readonly after?: Promise<unknown>
  /** No client waits for it, and it cannot be aborted. */
  readonly isInternal?: boolean
  /** Must not reject. */
  run(state: WorkState): Promise<void>
}

export interface WorkState {
  /** May be set before the work begins. */
  isAborted: boolean
  readonly isInternal: boolean
}

interface Item {
  readonly work: Work
  readonly state: WorkState
}

const itemOf = (work: Work): Item => ({ work, state: { isAborted: false, isInternal: work.isInternal ?? false } })

/** The error for a client whose work was refused. */
export const tooManyCommands = 'too many commands wait; let some of them finish first'

const mostWaiting = 1000
const mostBytes = 64 * 1024 * 1024
