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
import type { MaybePromise } from './waiting.ts'

/** The parts in which a child differs from its parent. Unknown fields are passed to `AgentParts.childParts`. */
export interface ChildPreset {
  readonly name?: string
  readonly system?: string
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  readonly behavior?: Behavior
  readonly [field: string]: unknown
}

export interface ChildOptions {
  readonly preset?: ChildPreset
  /** The child's task, for people. */
  readonly task?: string
  /** A file that the parent or the child has read counts as read for both. Default false. */
  readonly shareReadState?: boolean
}

/** A child agent. Its events bubble to the parent's hooks as `child:*`, and its stats into the parent's. */
export interface Child {
  readonly id: string
  readonly depth: number
  readonly session: Session | undefined
  /** The child had begun before a crash; then run it without a prompt. */
  readonly hasBegun: boolean
  /** May be called once. */
  run(options: RunOptions): Promise<AgentStats>
}

/** The parent of a child, and the call that the child works for. */
export interface Lineage {
  readonly depth: number
  readonly parent: ParentCall
  readonly run: Run
}

interface ChildAgent {
  readonly log: Log
  readonly hooks: Hooks<HookContexts>
  readonly turns: readonly unknown[]
  run(options: RunOptions): Promise<AgentStats>
  destroy(): Promise<void>
}

export interface ChildRequest {
  readonly run: Run
  readonly callId: string
  readonly cancellation: Cancellation
  readonly options: ChildOptions | undefined
  readonly assembleChild: (
    lineage: Lineage,
    session: Session | undefined,
    preset: ChildPreset | undefined,
  ) => ChildAgent
}

/** Creates a child for a call. It is named after the call, so that the call finds the same child again after a crash. */
export async function createChild(request: ChildRequest): Promise<Child> {
  const { run, callId, cancellation, options = {}, assembleChild } = request
  const { task, preset, shareReadState } = options
  const depth = run.facts.depth + 1
  const session = await run.session?.child(callId)
  cancellation.signal.throwIfAborted()
  const id = session?.id ?? `${run.id}/${callId}`
  const childInfo = { childId: id, depth, callId }
  const parent: ParentCall = { ...(run.session && { session: run.session.id }), runId: run.id, callId }
  const agent = assembleChild({ depth, parent, run }, session, preset)
  bubble(agent.hooks, run.hooks, childInfo)
  agent.hooks.hook(
    'agent:done',
    (stats) => void run.children.stats.push({ ...stats, childId: id, depth, ...(task && { task }) }),
  )
  const { log, hooks } = agent
  await run.hooks.tell('spawn:before', {
    ...childInfo,
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
      const work = runChild({ model: run.settings.model, ...options, signal: cancellation.signal })
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
      await run.hooks.tell('spawn:complete', { ...childInfo, stats })
      return stats
    } catch (error) {
      await run.hooks.tell('spawn:error', { ...childInfo, error })
      throw error
    } finally {
      await agent.destroy()
    }
  }
}

/** Passes the context object itself to the parent, not a copy: the parent's gate decides about the child's call by writing into it. */
function bubble(
  from: Hooks<HookContexts>,
  to: Hooks<HookContexts>,
  { childId, depth }: { childId: string; depth: number },
): void {
  for (const name of bubbled) {
    const up = `child:${name}` as const
    const verb = name.endsWith(':gate') || name === 'tool:error' ? 'ask' : 'tell'
    from.hook(name, (ctx) => pass(Object.assign(ctx, { childId, depth }) as HookContexts[typeof up]), tier.run)
    from.hook(up, pass, tier.run)

    function pass(ctx: HookContexts[typeof up]): MaybePromise<void> {
      if (to.has(up)) return to[verb](up, ctx as never)
    }
  }
}

/**
 * Answers the open calls in the sessions of children that these calls started. For calls that began earlier (then their process
 * died, or they were suspended) and are now answered without running again: nothing would continue their children.
 * The children's calls are answered first, so that a crash in between leaves no call without an answer.
 */
export async function closeCallsInChildSessions(session: Session, callIds: readonly string[]): Promise<void> {
  if (callIds.length === 0) return
  for (const name of await session.childrenOf(...callIds)) {
    const child = await session.child(name) // repairs what a crashed process left in the child
    const open = child.log.transcript.openCalls.map(({ id }) => abortedResult(child.log.transcript, id))
    await closeCallsInAllChildSessions(child)
    if (open.length > 0) await child.log.appendAll(open)
  }
}

/** `closeCallsInChildSessions` for all open calls of a session. */
export function closeCallsInAllChildSessions(session: Session): Promise<void> {
  const { transcript } = session.log
  const begun = transcript.openCalls.filter(({ id }) => transcript.lastStartOf(id))
  return closeCallsInChildSessions(
    session,
    begun.map(({ id }) => id),
  )
}

/** Whether a call started that child: directly (`call`, the second one `call~2`) or through nested calls (`call.1`). */
export const isChildOf = (name: string, callId: string): boolean =>
  name === callId || name.startsWith(`${callId}.`) || name.startsWith(`${callId}~`)
