import type { Clock } from '../../core/clock.ts'
import { byteLength } from './values.ts'

/** The minimum time between two notices of a process. */
const noticeMs = 100
/** Postgres takes less than 8000 bytes. */
const maxPayload = 7900

interface NoticesOptions {
  readonly clock: Clock
  /** Sends the payloads, in a statement of its own. */
  readonly send: (payloads: readonly string[]) => Promise<unknown>
}

/**
 * Tells the watchers in other processes which sessions this process has changed. Appends do not notify, because transactions that
 * notify commit one after the other in the whole server. The changes are collected, and sent in a statement of their own.
 */
export class Notices {
  readonly #options: NoticesOptions
  readonly #changed = new Set<string>()
  #cancelTimer: (() => void) | undefined

  constructor(options: NoticesOptions) {
    this.#options = options
  }

  add(id: string): void {
    this.#changed.add(id)
    this.#cancelTimer ??= this.#options.clock.timer(noticeMs, () => void this.#send())
  }

  /** Sends what was not sent yet, so that watchers need not wait for their next poll. */
  async close(): Promise<void> {
    if (!this.#cancelTimer) return
    this.#cancelTimer()
    await this.#send()
  }

  async #send(): Promise<void> {
    this.#cancelTimer = undefined
    const payloads = payloadsOf([...this.#changed])
    this.#changed.clear()
    await this.#options.send(payloads).catch(() => {}) // watchers also poll
  }
}

/** The ids as JSON, in as many payloads as needed: Postgres limits the size of each. */
export function payloadsOf(ids: readonly string[]): readonly string[] {
  const payloads: string[][] = [[]]
  let size = 2
  for (const id of ids) {
    const added = byteLength(JSON.stringify(id)) + 1
    if (size + added > maxPayload) {
      payloads.push([])
      size = 2
    }
    payloads.at(-1)!.push(id)
    size += added
  }
  return payloads.map((some) => JSON.stringify(some))
}

/** The ids in a payload. */
export function idsIn(payload: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(payload)
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}
