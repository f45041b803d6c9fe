/** Long work, strictly one after the other in the order in which it came. */
export class WorkQueue {
  #waiting: Item[] = []
  #bytes = 0
  #active: WorkState | undefined
  #running: Promise<void> | undefined

  get isIdle(): boolean {
    return this.#running === undefined
  }

  /** Whether there is something to do that a client has to wait for. */
  get isBusy(): boolean {
    return this.#active?.isQuiet === false || this.#waiting.some(({ state }) => !state.isQuiet)
  }

  /** False, and nothing done, where too much waits already: a client that never stops asking must not fill the memory. */
  add(work: Work): boolean {
    if (this.#waiting.length >= mostWaiting || this.#bytes + work.size > mostBytes) return false
    this.#waiting.push(itemOf(work))
    this.#start(work)
    return true
  }

  /** The same, but next: right behind what is under way or about to begin. */
  addNext(work: Work): boolean {
    if (this.#waiting.length >= mostWaiting) return false
    const isUnderWay = this.#active?.isQuiet === false
    const at = isUnderWay ? 0 : this.#waiting.findIndex(({ state }) => !state.isQuiet) + 1
    this.#waiting.splice(at, 0, itemOf(work))
    this.#start(work)
    return true
  }

  /**
   * Marks what is under way, or else what is about to begin, as aborted; whatever waits behind it is not meant. True where
   * it has begun, and somebody has to stop it.
   */
  abort(): boolean {
    const active = this.#active?.isQuiet === false ? this.#active : undefined
    const state = active ?? this.#waiting.find((item) => !item.state.isQuiet)?.state
    if (state) state.isAborted = true
    return active !== undefined
  }

  /** Forgets what has not begun. */
  drop(): void {
    this.#waiting = []
    this.#bytes = 0
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  #start({ size }: Work): void {
    this.#bytes += size
    this.#running ??= this.#runAll()
  }

  async #runAll(): Promise<void> {
    await null // so that `#running` is set before it can be taken back
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

/** Something that takes its time. */
export interface Work {
  /** About how much memory it holds while it waits. */
  readonly size: number
  /** What has to be done before it may begin. */
  readonly after?: Promise<unknown>
  /** Nobody waits for it, and it cannot be aborted. */
  readonly isQuiet?: boolean
  /** Must not reject. */
  run(state: WorkState): Promise<void>
}

/** How a piece of work stands. */
export interface WorkState {
  /** Perhaps before it has begun. */
  isAborted: boolean
  readonly isQuiet: boolean
}

interface Item {
  readonly work: Work
  readonly state: WorkState
}

const itemOf = (work: Work): Item => ({ work, state: { isAborted: false, isQuiet: work.isQuiet ?? false } })

/** What a client is told whose work was not taken. */
export const tooMany = 'too many commands wait; let some of them finish first'

const mostWaiting = 1000
const mostBytes = 64 * 1024 * 1024
