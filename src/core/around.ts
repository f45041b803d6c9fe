import type { ToolOrigin } from './authority.ts'
import { isThenable, waitCancelled } from './cancellation.ts'
import { messageOf, type Rejection, rejectionOf } from './errors.ts'
import type { RunFacts } from './run.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import type { ToolOutput, TurnUsage } from './turn.ts'
import type { AgentStats } from './usage.ts'

/** What each kind of work is about. */
export interface AroundContexts {
  run: RunFacts
  model: AroundModel
  tool: AroundTool
}

/** What `next()` resolves with. */
export interface AroundOutcomes {
  run: AgentStats
  model: { readonly content: readonly unknown[]; readonly usage: TurnUsage; readonly stop: string }
  /** `suspended` says why the call stays open and has no result yet. */
  tool: { readonly output: ToolOutput; readonly isError: boolean; readonly suspended?: string }
}

export type AroundKind = keyof AroundContexts

/** One model call of a turn with all its attempts, or a call beside the conversation, which has a `cause`. */
export interface AroundModel {
  readonly run: RunFacts
  readonly turnId: string
  readonly turn: number
  readonly model: string
  readonly provider: string
  /** Of the attempt under way, or the last one: it grows while the wrapper waits. */
  readonly attempt: number
  /** Why the model is asked beside the conversation, such as `compaction`. */
  readonly cause?: string
}

/** One call that is going to run. */
export interface AroundTool extends ToolHookContext {
  readonly run: RunFacts
  readonly turn: number
  /** 1, or more when the call begins again after a crash or a suspension. */
  readonly attempt: number
  readonly origin: ToolOrigin
  /** Where a tool of an MCP server really lives. */
  readonly mcp?: { readonly server: string; readonly tool: string }
}

/** Runs the work by calling `next`, once. What it returns is ignored: a wrapper gives a context and changes no outcome. */
export type AroundHandler<Kind extends AroundKind> = (
  ctx: AroundContexts[Kind],
  next: () => Promise<AroundOutcomes[Kind]>,
) => unknown

/** What a wrapper needs of the hooks that it was registered with. */
export interface WrapHost {
  /** Waits for a handler, though not beyond the end of the run. */
  waitFor(wait: PromiseLike<unknown>): Promise<unknown>
  report(hook: string, error: unknown): void
}

export interface Wrapped<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]> {
  readonly kind: Kind
  readonly ctx: AroundContexts[Kind]
  readonly work: () => Promise<Outcome>
  /** What becomes of the work where a wrapper failed before it called `next`, or never called it. */
  readonly refused: (error: unknown) => Outcome | Promise<Outcome>
}

/**
 * Runs `work` inside the handlers, the first one outermost. The work runs once or not at all, and its own outcome is
 * what counts: a handler that fails after it called `next` is reported, and the outcome stands.
 */
export async function runWrapped<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]>(
  { kind, ctx, work, refused }: Wrapped<Kind, Outcome>,
  handlers: readonly AroundHandler<Kind>[],
  host: WrapHost,
): Promise<Outcome> {
  let begun: Promise<Outcome> | undefined

  async function inside(depth: number): Promise<Outcome> {
    const handler = handlers[depth]
    if (!handler) return (begun = work())
    let inner: Promise<Outcome> | undefined
    let isOver = false
    let isStopped = false
    let misuse: Error | undefined
    const next = (): Promise<Outcome> => {
      if (!inner && !isOver) return (inner = inside(depth + 1))
      misuse = new Error(inner ? calledTwice(kind) : calledLate(kind))
      if (!isStopped) host.report(`around:${kind}`, misuse)
      const rejected = Promise.reject(misuse)
      rejected.catch(() => {}) // it is reported already, also where the handler does not wait for it
      return rejected
    }
    let failure: Rejection | undefined
    try {
      const wait = handler(ctx, next)
      if (isThenable(wait)) {
        failure = await rejectionOf(host.waitFor(wait))
        // A run stops with its end; what its wrapper does after that, such as sending a trace, is waited for.
        if (kind === 'run' && inner && failure?.error === waitCancelled) failure = await rejectionOf(wait)
      }
    } catch (error) {
      failure = { error }
    }
    isOver = true
    isStopped = failure?.error === waitCancelled
    if (!inner) throw isStopped ? waitCancelled : notBegun(kind, failure)
    const own = await rejectionOf(inner)
    if (failure && !isStopped && failure.error !== own?.error && failure.error !== misuse)
      host.report(`around:${kind}`, failure.error)
    return inner
  }

  try {
    return await inside(0)
  } catch (error) {
    return begun ?? refused(error)
  }
}

const calledTwice = (kind: string): string =>
  `a wrapper around "${kind}" called next() twice; the work runs once, so call next() once and keep its promise`

const calledLate = (kind: string): string =>
  `a wrapper around "${kind}" called next() after it was over or the run was stopped; call next() before the handler returns, and return or await its promise`

function notBegun(kind: string, failure: Rejection | undefined): Error {
  if (!failure)
    return new Error(
      `a wrapper around "${kind}" returned without calling next(), so nothing ran; it has to call next()`,
    )
  return new Error(`a wrapper around "${kind}" failed before it called next(): ${messageOf(failure.error)}`, {
    cause: failure.error,
  })
}
