import type { Agent } from '../../core/agent.ts'
import { type AgentEvent, followEvents } from '../../events/events.ts'
import { Tail } from '../../tools/text/tail.ts'

/**
 * Follows an agent for a reader that may be slow. Whatever streams is held up elsewhere; only a tool that tells of its
 * progress waits for nobody, so what it says meanwhile is kept, its newest part, and told in one piece: before the
 * tool's result, or as soon as the reader is back.
 */
export function followPaced(
  agent: Agent,
  isReady: () => Promise<void> | undefined,
  listener: (event: AgentEvent) => void,
): () => void {
  const kept = new Map<string, Kept>()
  let isWaiting = false

  function tellKept(callId: string): void {
    const one = kept.get(callId)
    if (!one) return
    kept.delete(callId)
    listener({ ...one.last, text: one.tail.take().text })
  }

  function keep(event: Progress): void {
    const one = kept.get(event.callId) ?? { last: event, tail: new Tail(maxKept) }
    one.last = event
    one.tail.push(event.text)
    kept.set(event.callId, one)
  }

  function waitFor(ready: Promise<void>): void {
    if (isWaiting) return
    isWaiting = true
    const goOn = (): void => {
      isWaiting = false
      for (const callId of [...kept.keys()]) tellKept(callId)
    }
    ready.then(goOn, goOn)
  }

  return followEvents(agent, (event) => {
    if (isProgress(event)) {
      const ready = isReady()
      if (ready || kept.has(event.callId)) {
        keep(event)
        if (ready) waitFor(ready)
        return
      }
    } else if (event.durable && event.entry.type === 'call_result') tellKept(event.entry.callId)
    listener(event)
  })
}

/** Bytes; what zot gives at a time. */
const maxKept = 4096

type Progress = Extract<AgentEvent, { type: 'tool_progress' }>

interface Kept {
  last: Progress
  readonly tail: Tail
}

const isProgress = (event: AgentEvent): event is Progress => !event.durable && event.type === 'tool_progress'

/** Holds an agent and its children up wherever it would say more than a slow reader can take. Returns how to stop that. */
export function holdBack({ hooks }: Pick<Agent, 'hooks'>, isReady: () => Promise<void> | undefined): () => void {
  const unhooks = [
    ...heldMoments.map((moment) => hooks.hook(moment, isReady)),
    hooks.hook('spawn:before', (child) => void holdBack(child, isReady)), // its hooks go when it goes
  ]
  return () => {
    for (const unhook of unhooks) unhook()
  }
}

/** Each of these is awaited by the loop, and given up on when the run is aborted. */
const heldMoments = [
  'turn:before',
  'stream:text',
  'stream:thinking',
  'stream:tool:start',
  'stream:tool:args',
  'turn:after',
  'tool:after',
] as const
