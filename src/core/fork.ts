import type { Behavior } from './behavior.ts'
import type { Cancellation } from './cancellation.ts'
import type { SchemaTool } from './define-tool.ts'
import { bubbled, type HookContexts } from './hook-map.ts'
import { type Hooks, tier } from './hooks.ts'
import type { Log, ParentCall } from './log.ts'
import type { Run, RunOptions } from './run.ts'
import type { Session } from './store.ts'
import type { ToolDef } from './tool.ts'
import { abortedResult } from './tool-result.ts'
import type { AgentStats } from './usage.ts'

/** What a child may get instead of its parent's; more fields pass through to whoever builds the child. */
export interface ChildPreset {
  readonly name?: string
  readonly system?: string
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  readonly behavior?: Behavior
  readonly [field: string]: unknown
}

export interface ForkOptions {
  readonly preset?: ChildPreset
  /** For people: what the child is there for. */
  readonly task?: string
  /** Parent and child may edit what either has read. Default false. */
  readonly shareReadState?: boolean
}

/** A child agent. Its events bubble to the parent's hooks as `child:*`, and its stats into the parent's. */
export interface Child {
  readonly id: string
  readonly depth: number
  readonly session: Session | undefined
  /** Whether it was begun before a crash; then run it without a prompt. */
  readonly hasBegun: boolean
  /** Once. */
  run(options: RunOptions): Promise<AgentStats>
}

/** Who a child works for. */
export interface Lineage {
  readonly depth: number
  readonly parent: ParentCall
  readonly run: Run
}

interface ForkedAgent {
  readonly log: Log
  readonly hooks: Hooks<HookContexts>
  readonly turns: readonly unknown[]
  run(options: RunOptions): Promise<AgentStats>
  destroy(): Promise<void>
}

export interface ForkRequest {
  readonly run: Run
  readonly callId: string
  readonly cancellation: Cancellation
  readonly options: ForkOptions | undefined
  readonly createAgent: (lineage: Lineage, session: Session | undefined, preset: ChildPreset | undefined) => ForkedAgent
}

/** Makes a child for one call. Named after the call, so that the same call finds the same child again after a crash. */
export async function forkAgent({
  run,
  callId,
  cancellation: stop,
  options = {},
  createAgent: make,
}: ForkRequest): Promise<Child> {
  const { task, preset, shareReadState } = options
  const depth = run.facts.depth + 1
  const session = await run.session?.child(callId)
  stop.signal.throwIfAborted()
  const id = session?.id ?? `${run.id}/${callId}`
  const about = { childId: id, depth, callId }
  const parent: ParentCall = { ...(run.session && { session: run.session.id }), runId: run.id, callId }
  const agent = make({ depth, parent, run }, session, preset)
  bubble(agent.hooks, run.hooks, about)
  agent.hooks.hook(
    'agent:done',
    (stats) => void run.children.stats.push({ ...stats, childId: id, depth, ...(task && { task }) }),
  )
  const { log, hooks } = agent
  await run.hooks.tell('spawn:before', {
    ...about,
    ...(task && { task }),
    ...(shareReadState && { shareReadState }),
    log,
    hooks,
  })

  return {
    id,
    depth,
    session,
    hasBegun: agent.turns.length > 0,
    run(options) {
      const work = runChild({ model: run.settings.model, ...options, signal: stop.signal })
      run.progress.pending.add(work)
      run.children.running.set(callId, work)
      const done = (): boolean => run.progress.pending.delete(work) && run.children.running.delete(callId)
      work.then(done, done)
      return work
    },
  }

  async function runChild(options: RunOptions): Promise<AgentStats> {
    try {
      const stats = await agent.run(options)
      await run.hooks.tell('spawn:complete', { ...about, stats })
      return stats
    } catch (error) {
      await run.hooks.tell('spawn:error', { ...about, error })
      throw error
    } finally {
      await agent.destroy()
    }
  }
}

/** The ctx itself is handed up, so that a parent's gate decides on the very object the child waits for. */
function bubble(
  from: Hooks<HookContexts>,
  to: Hooks<HookContexts>,
  { childId, depth }: { childId: string; depth: number },
): void {
  for (const name of bubbled) {
    const up = `child:${name}` as const
    const verb = name.endsWith(':gate') || name === 'tool:error' ? 'ask' : 'tell'
    from.hook(name, (ctx) => pass(up, Object.assign(ctx, { childId, depth }) as HookContexts[typeof up]), tier.run)
    from.hook(up, (ctx) => pass(up, ctx), tier.run)

    function pass(to_: typeof up, ctx: HookContexts[typeof up]): Promise<void> | void {
      if (to.has(to_)) return to[verb](to_, ctx as never)
    }
  }
}

/**
 * A call that began before (its process died, or it was suspended) and is now answered without being run again may have
 * left children behind. Nobody will go on with them, so the calls they left open are answered here, before their parent's:
 * then a crash in between leaves nothing without an answer.
 */
export async function abandonChildren(session: Session, callIds: readonly string[]): Promise<void> {
  if (callIds.length === 0) return
  for (const name of await session.childrenOf(...callIds)) {
    const child = await session.child(name) // settles what its process left behind
    const open = child.log.transcript.openCalls.map(({ id }) => abortedResult(child.log.transcript, id))
    await abandonOpenCalls(child)
    if (open.length > 0) await child.log.appendAll(open)
  }
}

/** The same for all calls that a session has open: nobody goes on with what they began. */
export function abandonOpenCalls(session: Session): Promise<void> {
  const { transcript } = session.log
  const begun = transcript.openCalls.filter(({ id }) => transcript.startOf(id))
  return abandonChildren(
    session,
    begun.map(({ id }) => id),
  )
}

/** Whether a call began that child. By itself: `call`, the second `call~2`. Through calls of its own: `call.1`. */
export const isChildOf = (name: string, callId: string): boolean =>
  name === callId || name.startsWith(`${callId}.`) || name.startsWith(`${callId}~`)
