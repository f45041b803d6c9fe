import type { ToolOrigin } from './authority.ts'
import { isThenable, waitCancelledMarker } from './cancellation.ts'
import { messageOf, type Rejection, rejectionOf } from './errors.ts'
import type { ModelRequest } from './provider.ts'
import type { RunFacts } from './run.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import type { ToolOutput, TurnUsage } from './turn.ts'
import type { AgentStats } from './usage.ts'

/** The context of each kind of work. */
export interface AroundContexts {
  run: RunFacts
  model: AroundModel
  tool: AroundTool
}

/** What `next()` resolves with. */
export interface AroundOutcomes {
  run: AgentStats
  /** `responseId` is the service's own id of the reply. */
  model: {
    readonly content: readonly unknown[]
    readonly usage: TurnUsage
    readonly stop: string
    readonly responseId?: string
  }
  /** `suspendReason`: why the call stays open. */
  tool: { readonly output: ToolOutput; readonly isError: boolean; readonly suspendReason?: string }
}

export type AroundKind = keyof AroundContexts

/**
 * One model call of a turn with all its attempts, or a call outside the conversation, which has a `cause`. `stream:retry` is
 * told between two attempts.
 */
export interface AroundModel {
  readonly run: RunFacts
  readonly turnId: string
  /** The number of this model call in the run, from 1. */
  readonly turn: number
  readonly model: string
  readonly provider: string
  /** The number of the attempt under way, or of the last one. It grows while the wrapper waits. */
  readonly attempt: number
  /** As it was when the call began. */
  readonly request: ModelRequest
  /** Why the model is asked outside the conversation, such as `compaction`. */
  readonly cause?: string
}

/** A tool call that is about to run. */
export interface AroundTool extends ToolHookContext {
  readonly run: RunFacts
  /** The number in the run, from 1, of the model call that asked for this call. */
  readonly turn: number
  /** 1, or more when the call begins again after a crash or a suspension. */
  readonly attempt: number
  readonly origin: ToolOrigin
  /** For tools of MCP servers: the server, and the tool's name there. */
  readonly mcp?: { readonly server: string; readonly tool: string }
}

/** Runs the work by calling `next` once. Its return value is ignored: a wrapper adds context and changes no outcome. */
export type AroundHandler<Kind extends AroundKind> = (
  ctx: AroundContexts[Kind],
  next: () => Promise<AroundOutcomes[Kind]>,
) => unknown

/** What `runWrapped` needs of the hooks. */
interface WrapHost {
  /** Waits for a handler until the run is cancelled. */
  waitFor(wait: PromiseLike<unknown>): Promise<unknown>
  report(hook: string, error: unknown): void
}

export interface Wrapped<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]> {
  readonly kind: Kind
  readonly ctx: AroundContexts[Kind]
  readonly work: () => Promise<Outcome>
  /** The outcome if a wrapper failed before it called `next`, or never called it. */
  readonly ifWorkNeverStarted: (error: unknown) => Outcome | Promise<Outcome>
}

/**
 * Runs `work` inside the handlers, the first one outermost. The work runs at most once, and its outcome is the result:
 * a handler that fails after it called `next` is only reported.
 */
export async function runWrapped<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]>(
  { kind, ctx, work, ifWorkNeverStarted }: Wrapped<Kind, Outcome>,
  handlers: readonly AroundHandler<Kind>[],
  host: WrapHost,
): Promise<Outcome> {
  let started: Promise<Outcome> | undefined

  async function inside(depth: number): Promise<Outcome> {
    const handler = handlers[depth]
    if (!handler) return (started = work())
    let inner: Promise<Outcome> | undefined
    let isOver = false
    let isStopped = false
    let misuse: Error | undefined
    const next = (): Promise<Outcome> => {
      if (!inner && !isOver) return (inner = inside(depth + 1))
      misuse = new Error(inner ? calledTwice(kind) : calledLate(kind))
      if (!isStopped) host.report(`around:${kind}`, misuse)
      const rejected = Promise.reject(misuse)
      rejected.catch(() => {}) // reported above; a handler may ignore the promise
      return rejected
    }
    let failure: Rejection | undefined
    try {
      const wait = handler(ctx, next)
      // A wrapper that only passes the work on has nothing of its own to wait for.
      if (wait !== undefined && wait === inner) return inner
      if (isThenable(wait)) {
        failure = await rejectionOf(host.waitFor(wait))
        // A run is cancelled when it ends; the wrapper may still have work to do, such as sending a trace.
        if (kind === 'run' && inner && failure?.error === waitCancelledMarker) failure = await rejectionOf(wait)
      }
    } catch (error) {
      failure = { error }
    }
    isOver = true
    isStopped = failure?.error === waitCancelledMarker
    if (!inner) throw isStopped ? waitCancelledMarker : neverStarted(kind, failure)
    const workFailure = await rejectionOf(inner)
    if (failure && !isStopped && failure.error !== workFailure?.error && failure.error !== misuse)
      host.report(`around:${kind}`, failure.error)
    return inner
  }

  try {
    return await inside(0)
  } catch (error) {
    return started ?? ifWorkNeverStarted(error)
  }
}

const calledTwice = (kind: string): string =>
  `a wrapper around "${kind}" called next() twice; the work runs once, so call next() once and keep its promise`

const calledLate = (kind: string): string =>
  `a wrapper around "${kind}" called next() after it was over or the run was stopped; call next() before the handler returns, and return or await its promise`

function neverStarted(kind: string, failure: Rejection | undefined): Error {
  if (!failure)
    return new Error(
      `a wrapper around "${kind}" returned without calling next(), so nothing ran; it has to call next()`,
    )
  return new Error(`a wrapper around "${kind}" failed before it called next(): ${messageOf(failure.error)}`, {
    cause: failure.error,
  })
}
