import { endAtOnce } from '../events/end-at-once.ts'
import { type EventFilter, eventFrames } from '../events/events-response.ts'
import type { ReadEventsOptions } from '../events/read-events.ts'
import type { SseFrame } from '../events/sse-response.ts'
import { descendantsOf } from '../sessions/family.ts'
import type { ServerContext } from './server-context.ts'
import type { SessionNames } from './session-names.ts'

interface ChildrenOptions {
  readonly server: ServerContext
  readonly id: string
  readonly names: SessionNames
  readonly reading: ReadEventsOptions & EventFilter
}

/** How often new sub-agents are looked for. */
const lookMs = 500

/** The frames of a session, and those of its sub-agents as `child`, from their beginning. They have no id: a client that comes back gets them anew. */
export function withChildren(
  own: AsyncGenerator<SseFrame, void, undefined>,
  { server: { store, clock }, id, names, reading }: ChildrenOptions,
): AsyncGenerator<SseFrame, void, undefined> {
  const ready: SseFrame[] = []
  const stop = new AbortController()
  const { signal } = stop
  /** By id: how many levels below the session. Parents come before their children. */
  const followed = new Map<string, number>()
  let wake = (): void => {}
  let isOver = false
  let failure: { readonly error: unknown } | undefined
  /** Resolves when the reader has taken what is ready. */
  let taken: Promise<void> = Promise.resolve()
  let setTaken = (): void => {}
  let cancelTimer: (() => void) | undefined

  async function pump(frames: AsyncIterable<SseFrame>, wrap: (frame: SseFrame) => SseFrame): Promise<void> {
    for await (const frame of frames) {
      if (ready.length >= 100) await taken
      if (ready.length === 0) taken = new Promise((resolve) => void (setTaken = resolve))
      ready.push(wrap(frame))
      wake()
    }
  }

  async function look(): Promise<void> {
    for (const child of await descendantsOf(store, id).catch(() => [])) {
      if (followed.has(child.id) || signal.aborted) continue
      const depth = (followed.get(child.parent ?? '') ?? 0) + 1
      followed.set(child.id, depth)
      const { types, deltas, join } = reading
      const filter = { ...(types && { types }), ...(deltas !== undefined && { deltas }), ...(join && { join }) }
      const session = names.shown(child.id)
      const wrap = ({ id: seq, event, data }: SseFrame): SseFrame => ({
        event: 'child',
        data: { session, depth, event, ...(seq !== undefined && { seq }), data },
      })
      void pump(eventFrames(store, child.id, { ...filter, signal }), wrap).catch(() => {}) // a deleted one ends
    }
    if (!signal.aborted) cancelTimer = clock.timer(lookMs, () => void look())
  }

  const end = (): void => {
    isOver = true
    wake()
  }

  async function* merged(): AsyncGenerator<SseFrame, void, undefined> {
    void pump(own, (frame) => frame).then(end, (error: unknown) => {
      failure = { error }
      end()
    })
    void look()
    try {
      while (!signal.aborted) {
        const frame = ready.shift()
        if (ready.length === 0) setTaken()
        if (frame) yield frame
        else if (failure) throw failure.error
        else if (isOver) return
        else await new Promise<void>((resolve) => void (wake = resolve))
      }
    } finally {
      stop.abort()
      cancelTimer?.()
      setTaken()
      await own.return()
    }
  }

  return endAtOnce(merged(), () => {
    stop.abort()
    wake()
  })
}
