import type { CallOutcome, LogEntry } from '../../core/log.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import type { AgentEvent, ChildEvent, Provisional } from '../../events/events.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'

interface EventsOptions {
  /** A person is at this terminal, who has seen there what was refused. */
  readonly isAttended: boolean
}

/** Turns the messages of an agent, as they grow, into the events that a screen knows. */
export function createMessageEvents({ isAttended }: EventsOptions): (message: AgentInstanceMessage) => AgentEvent[] {
  const said = new Map<string, string>()
  const over = new Set<string>()
  const outcomes = new Map<string, string>()

  function assistant({ id, content, metadata = {} }: AgentInstanceMessage): AgentEvent[] {
    const { calls = [], isComplete } = metadata
    for (const { callId, outcome } of calls) if (outcome !== undefined) outcomes.set(callId, outcome)
    if (over.has(id)) return []
    if (!isComplete) {
      const before = said.get(id) ?? ''
      said.set(id, content)
      if (!content.startsWith(before) || content === before) return []
      return [provisional({ type: 'text', turnId: id, attempt: 1, delta: content.slice(before.length) })]
    }
    over.add(id)
    said.delete(id)
    return [turn(id, content, calls)]
  }

  function result({ id, content, metadata = {} }: AgentInstanceMessage): AgentEvent[] {
    const { callId, isError, details } = metadata
    if (callId === undefined || over.has(id)) return []
    over.add(id)
    const outcome = (outcomes.get(callId) ?? 'done') as CallOutcome
    const isRefused = isAttended && outcome === 'blocked' && content.includes('ApprovalDenied: user said no')
    return [
      ...(isRefused ? [durable({ type: 'approval_answered', callId, digest: '', decision: 'deny', by: 'user' })] : []),
      durable({
        ...{ type: 'call_result', callId, output: content, outcome },
        ...(isError && { isError: true as const }),
        ...(details !== undefined && { details }),
      }),
    ]
  }

  return (message) => {
    if (message.role === 'assistant') return assistant(message)
    return message.role === 'tool' ? result(message) : []
  }
}

/** The last word of an agent that ended by a tool, as if it had said it. */
export function spoken({ id, content }: AgentInstanceMessage): AgentEvent {
  return turn(`${id}.said`, content, [])
}

function turn(
  id: string,
  text: string,
  calls: NonNullable<NonNullable<AgentInstanceMessage['metadata']>['calls']>,
): AgentEvent {
  const content: SessionContentBlock[] = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ callId, toolId, parameters }) => ({
      type: 'tool_call' as const,
      ...{ id: callId, name: toolId, input: parameters },
    })),
  ]
  return durable({ type: 'turn', turn: { id, runId: '', role: 'assistant', content, createdAt: Date.now() } })
}

type Body = LogEntry extends infer Entry ? (Entry extends LogEntry ? Omit<Entry, 'seq' | 'id' | 'at'> : never) : never

/** Numbers are for those who replay; a screen does not look at them. */
function durable(body: Body): AgentEvent {
  return { durable: true, seq: 0, entry: { seq: 0, id: '', at: Date.now(), ...body } as LogEntry }
}

function provisional(body: Provisional): AgentEvent {
  return { durable: false, after: 0, n: 0, ...body }
}

/** What a sub-agent wrote into its log. */
export function ofChild(child: ChildEvent['child'], entry: LogEntry): ChildEvent {
  return { durable: false, type: 'child', child, event: { durable: true, seq: entry.seq, entry } }
}

/** That a sub-agent does nothing any more. */
export function childEnded(child: ChildEvent['child']): ChildEvent {
  const entry: LogEntry = {
    ...{ seq: 0, id: '', at: Date.now() },
    ...{ type: 'run_ended', runId: '', status: 'completed', stop: 'end' },
  }
  return ofChild(child, entry)
}

/** That a model is being asked. */
export const asked: AgentEvent = provisional({ type: 'turn_started', turnId: '', step: 0 })
