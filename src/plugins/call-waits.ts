import type { EntryOf } from '../core/log.ts'

export type WaitsFor = 'permission' | 'answer'

/** What changed for a call; `undefined` where it waits for nobody any more. */
export type WaitChange = readonly [callId: string, waitsFor: WaitsFor | undefined]

/** Which calls wait for a person, by what a log tells of them. Each step says what changed. */
export class CallWaits {
  readonly #waiting = new Map<string, WaitsFor>()
  /** Those that have begun since they were last asked about, and have no result. */
  readonly #begun = new Set<string>()

  /** Permissions are asked for with a request; a question is put by the tool itself. */
  ask({ callId, request }: EntryOf<'approval_requested'>): readonly WaitChange[] {
    this.#begun.delete(callId)
    return this.#set(callId, request === undefined ? 'answer' : 'permission')
  }

  begin(callId: string): void {
    this.#begun.add(callId)
  }

  /** It has its result, which says that it waits no more. */
  settle(callId: string): void {
    this.#begun.delete(callId)
    this.#waiting.delete(callId)
  }

  /** A call that has begun and was suspended waits for an answer, or for what is asked by what it began itself. */
  end({ status, stop }: Pick<EntryOf<'run_ended'>, 'status' | 'stop'>): readonly WaitChange[] {
    const asked: WaitsFor = stop === 'permission-required' ? 'permission' : 'answer'
    return [...this.#begun].flatMap((callId) => this.#set(callId, status === 'suspended' ? asked : undefined))
  }

  /** Nobody is asked any more. */
  cancel(): readonly WaitChange[] {
    return [...this.#waiting.keys()].flatMap((callId) => this.#set(callId, undefined))
  }

  clear(): void {
    this.#waiting.clear()
    this.#begun.clear()
  }

  #set(callId: string, waitsFor: WaitsFor | undefined): readonly WaitChange[] {
    if (this.#waiting.get(callId) === waitsFor) return []
    if (waitsFor) this.#waiting.set(callId, waitsFor)
    else this.#waiting.delete(callId)
    return [[callId, waitsFor]]
  }
}
