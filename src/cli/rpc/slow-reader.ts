import type { Agent } from '../../core/agent.ts'
import { type AgentEvent, followEvents } from '../../events/events.ts'
import { Tail } from '../../tools/text/tail.ts'

/**
 * Follows an agent for a reader that may be slow. `holdBack` delays what the model streams, but not the progress of
 * tools: while the reader is busy, the newest part of it is buffered, and delivered in one piece before the tool's
 * result or as soon as the reader is ready.
 */
export function followPaced(
  agent: Agent,
  isReady: () => Promise<void> | undefined,
  listener: (event: AgentEvent) => void,
): () => void {
  const buffered = new Map<string, Buffered>()
  let isWaiting = false

  function flush(callId: string): void {
    const one = buffered.get(callId)
    if (!one) return
    buffered.delete(callId)
    listener({ ...one.last, text: one.tail.take().text })
  }

  function buffer(event: Progress): void {
    const one = buffered.get(event.callId) ?? { last: event, tail: new Tail(maxBytes) }
    one.last = event
    one.tail.push(event.text)
    buffered.set(event.callId, one)
  }

  function waitFor(ready: Promise<void>): void {
    if (isWaiting) return
    isWaiting = true
    const goOn = (): void => {
      isWaiting = false
      for (const callId of [...buffered.keys()]) flush(callId)
    }
    ready.then(goOn, goOn)
  }

  return followEvents(agent, (event) => {
    if (isProgress(event)) {
      const ready = isReady()
      if (ready || buffered.has(event.callId)) {
        buffer(event)
        if (ready) waitFor(ready)
        return
      }
    } else if (event.durable && event.entry.type === 'call_result') flush(event.entry.callId)
    listener(event)
  })
}

/** As much as zot sends at a time. */
const maxBytes = 4096

type Progress = Extract<AgentEvent, { type: 'tool_progress' }>

interface Buffered {
  last: Progress
  readonly tail: Tail
}

const isProgress = (event: AgentEvent): event is Progress => !event.durable && event.type === 'tool_progress'

/** Makes an agent and its children wait for a slow reader before they emit more events. Returns a function that ends this. */
export function holdBack({ hooks }: Pick<Agent, 'hooks'>, isReady: () => Promise<void> | undefined): () => void {
  const unhooks = [
    ...heldMoments.map((moment) => hooks.hook(moment, isReady)),
    hooks.hook('spawn:before', (child) => void holdBack(child, isReady)), // a child's hooks end with the child
  ]
  return () => {
    for (const unhook of unhooks) unhook()
  }
}

/** The loop awaits each of these hooks until the run is aborted. */
const heldMoments = [
  'turn:before',
  'stream:text',
  'stream:thinking',
  'stream:tool:start',
  'stream:tool:args',
  'turn:after',
  'tool:after',
] as const
