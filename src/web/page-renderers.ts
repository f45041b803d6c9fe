import type { messageKinds, RendererRegistry } from '../chat/view-models.ts'
import type { RemoteAnswer, RemotePendingCall } from '../client/remote-types.ts'

/**
 * What the default export of a module of renderers gets. Its elements are those of Preact, made by `h`; a renderer returns one.
 * The module is one file without imports, since the page loads only what it serves itself.
 */
export interface RendererKit {
  h(type: string | ((props: never) => unknown), props?: object | null, ...children: unknown[]): unknown
  /** Adds a renderer, in the order of priorities of `libero/chat`. Returns a function that removes it. */
  readonly register: RendererRegistry<unknown>['register']
  readonly messageKinds: typeof messageKinds
  useState<T>(first: T): [T, (next: T) => void]
  useEffect(effect: () => void, inputs?: readonly unknown[]): void
  useRef<T>(first: T): { current: T }
  /** In a component that draws a call that waits: the call, and what answers it. `ref` is on the element with its buttons. */
  useWaiting(ref: { current: unknown }): WaitingForPerson
}

/** A call that waits, for what draws it. */
export interface WaitingForPerson {
  readonly call: RemotePendingCall
  /** Its buttons have been in sight for half a second, and no answer is on its way. */
  readonly isActive: boolean
  /** Does nothing unless `isActive`. The card goes when the log has the answer. */
  answer(answer: RemoteAnswer): void
  /** What became of the answer, or why it did not count. */
  readonly words: string | undefined
}
