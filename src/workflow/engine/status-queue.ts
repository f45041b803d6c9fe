import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'

/** States between the one who works and the one who looks on. Only the latest waits: who is slow skips. */
export class StatusQueue {
  #latest: AgentInstanceLatestStatus | undefined
  #isClosed = false
  #wake: (() => void) | undefined

  push(status: AgentInstanceLatestStatus): void {
    this.#latest = status
    this.#wake?.()
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentInstanceLatestStatus> {
    for (;;) {
      const status = this.#latest
      this.#latest = undefined
      if (status) yield status
      else if (this.#isClosed) return
      else
        await new Promise<void>((wake) => {
          this.#wake = wake
        })
    }
  }
}
