import type { LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { toolCallsOf } from '../../core/turn.ts'
import type { AgentStats } from '../../core/usage.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { spawnAgentPlugin } from '../../plugins/tools/spawn-agent.ts'
import { costLines } from '../../tui/rows/cost-lines.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import type { AgentSummary } from '../../workflow/definitions/definition.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { untilUnread } from '../until-stopped.ts'
import { findAgent, requireAgent } from './find-agent.ts'
import { callLine, messageLines } from './message-lines.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'
import { waitingLines } from './pending-calls.ts'
import { usageSince } from './usage-since.ts'

interface WatchValues {
  readonly full?: boolean
  readonly json?: boolean
}

/** `libero agents watch`: shows the messages of an agent and follows it until Ctrl-C, in whichever process it runs. */
export async function watchAgent({ values, words }: Args<WatchValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents watch')
  return withWorkflow(io, async (opened) => {
    const agent = await findAgent(opened, asked)
    const show = printer(values, io)
    const exitCode = await untilUnread(io, (signal) => {
      const isJson = values.json === true
      const children = followChildren({
        ...{ store: opened.store, agentId: agent.id, signal },
        onEntry: childPrinter(values, io),
      })
      const print = (message: AgentInstanceMessage): void => {
        show(message)
        if (!isJson) children(message)
      }
      return follow(opened, agent, { print, io, signal, isJson })
    })
    return exitCode === exitCodes.interrupted ? exitCodes.done : exitCode
  })
}

interface FollowOptions {
  readonly print: (message: AgentInstanceMessage) => void
  readonly io: Io
  readonly signal: AbortSignal
  readonly isJson: boolean
}

async function follow(
  { workflow, store }: OpenedWorkflow,
  { id: agentId, isSubAgent }: AgentSummary,
  { print, io, signal, isJson }: FollowOptions,
): Promise<void> {
  const reported = new Set<string>()
  const update = async (): Promise<void> => {
    for (const message of await workflow.getMessages(agentId)) print(message)
    // The parent asks for what a sub-agent waits for.
    const waiting = isSubAgent ? [] : await workflow.pending(agentId)
    for (const call of waiting) {
      if (reported.has(call.approvalId)) continue
      reported.add(call.approvalId)
      if (!isJson) for (const line of waitingLines(call, agentId, waiting)) io.err(line)
    }
  }
  await update()
  const after = (await store.find(agentId))?.head ?? 0
  let startedAt = 0
  try {
    for await (const { entries } of store.watch(agentId, { signal })) {
      if (signal.aborted) return
      await update()
      for (const entry of entries) {
        if (entry.type === 'run_started') startedAt = entry.at
        if (entry.type === 'rewind' && entry.seq > after && !isJson) io.err('The last message was undone.')
        if (entry.type === 'run_ended' && entry.seq > after && !isJson)
          printCost(await usageSince(store, agentId, { since: startedAt, elapsed: entry.at - startedAt }), io)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function printCost(stats: AgentStats, io: Io): void {
  const paint = createPaint({ colours: hasColours(io.stderr, io.env) })
  const columns = io.stderr.columns ?? Number.POSITIVE_INFINITY
  for (const line of costLines({ stats, model: '' }, columns)) io.err(paint.dim(line))
}

/** Prints the start of a sub-agent and its tool calls. */
function childPrinter({ full }: WatchValues, io: Io): FollowChildrenOptions['onEntry'] {
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  return ({ id, depth }, entry) => {
    const indent = '  '.repeat(Math.min(depth + 1, 5))
    if (entry.type === 'run_started') io.out(paint.dim(`${indent}sub-agent ${fullyVisible(id)} starts`))
    if (entry.type !== 'turn') return
    for (const { name, input } of toolCallsOf(entry.turn))
      io.out(`${indent}${callLine({ name, input }, { paint, cwd: io.cwd, isFull: full === true })}`)
  }
}

/** Prints each message once; as JSON again whenever it changes. */
function printer({ full, json }: WatchValues, io: Io): (message: AgentInstanceMessage) => void {
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  const seen = new Map<string, AgentInstanceMessage>()
  return (message) => {
    const before = seen.get(message.id)
    if (before === message || (before && !json)) return
    seen.set(message.id, message)
    if (json) io.out(JSON.stringify(JSON.parse(jsonText(message))))
    else for (const line of messageLines(message, { paint, cwd: io.cwd, isFull: full === true })) io.out(line)
  }
}

/** A working sub-agent; `depth` is 1 for a child of the agent itself. */
export interface WorkingChild {
  readonly id: string
  readonly depth: number
}

export interface FollowChildrenOptions {
  readonly store: SessionStore
  readonly agentId: string
  readonly signal: AbortSignal
  /** Receives each entry of a sub-agent's log. */
  onEntry(child: WorkingChild, entry: LogEntry): void
}

/** Follows the sub-agents that an agent's messages start, and their own, by their logs, in whichever process they run. */
export function followChildren(options: FollowChildrenOptions): (message: AgentInstanceMessage) => void {
  const { store, agentId, signal, onEntry } = options
  const followed = new Map<string, AbortController>()

  function begin(callId: string, parent: WorkingChild): void {
    const child = { id: `${parent.id}/${callId}`, depth: parent.depth + 1 }
    if (followed.has(child.id)) return
    const stop = new AbortController()
    followed.set(child.id, stop)
    // Only for display: if a child cannot be followed, the work continues.
    void followChild(child, AbortSignal.any([signal, stop.signal])).catch(() => {})
  }

  async function followChild(child: WorkingChild, until: AbortSignal): Promise<void> {
    for await (const { entries } of store.watch(child.id, { signal: until }))
      for (const entry of entries) {
        if (until.aborted) return
        onEntry(child, entry)
        if (entry.type === 'turn')
          for (const { id, name } of toolCallsOf(entry.turn)) if (name === spawning) begin(id, child)
        if (entry.type === 'call_result') followed.get(`${child.id}/${entry.callId}`)?.abort()
      }
  }

  return ({ metadata }) => {
    for (const { callId, toolId, outcome } of metadata?.calls ?? []) {
      if (toolId !== spawning) continue
      if (outcome === undefined) begin(callId, { id: agentId, depth: 0 })
      else followed.get(`${agentId}/${callId}`)?.abort()
    }
  }
}

const spawning = spawnAgentPlugin.toolId
