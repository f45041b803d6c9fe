import type { Decision } from '../core/authority.ts'
import { CodedError, messageOf, printable } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { createApprovals } from './approvals.ts'
import type { Authority, AuthorityParts, CallScope } from './authority.ts'
import { digestsOf, digestWithFiles } from './bound-files.ts'
import { isSameGrant } from './grants/grants.ts'
import type { JudgedCall } from './judged-call.ts'
import { linksOf, prepareCall, type Workspace } from './prepare-call.ts'

type Gate = HookContexts['tool:gate']

/** What was decided, and about what; `call` is missing where nobody could tell what the call is. */
export interface Judged {
  readonly call?: JudgedCall
  readonly decision: Decision
  readonly approver?: string
  /** Why nobody could decide. */
  readonly failure?: CodedError
}

/** The gate of one run: decides, asks where it has to, and blocks, halts or lets go. */
export function createGate(
  authority: Authority,
  parts: AuthorityParts,
  run: Run,
): (ctx: Gate) => Promise<Judged | undefined> {
  const { options, grants, reader } = parts
  const workspace = workspaceOf(run, parts)
  const sessionIds = sessionChain(run)
  const prepare = (tool: ToolDef, { input, effects }: Pick<Gate, 'input' | 'effects'>): Promise<JudgedCall> =>
    prepareCall({ tool, input, effects }, workspace, reader.read)
  const askerOf = (callId: string): CallScope => ({ callId, sessionIds, project: workspace.root })
  const approvals = createApprovals({
    parts,
    run,
    workspace,
    sessionId: sessionIds[0],
    prepare,
    judge: (call, id) => authority.judge(call, askerOf(id)),
  })

  return async (ctx) => {
    const { tool } = ctx
    // Nothing will run: the pipeline itself answers such a call.
    if (!tool || ctx.rejected !== undefined) return undefined
    const judged = await judge(ctx, tool)
    const { verdict, by, why, code = 'ApprovalDenied' } = judged.decision
    if (verdict !== 'deny' || by === 'hook' || by === 'preview') return judged
    ctx.block = true
    ctx.reason = judged.failure?.message ?? `ToolTerminal/${code}: ${why}`
    return judged
  }

  async function judge(ctx: Gate, tool: ToolDef): Promise<Judged> {
    if (ctx.block) return blocked(ctx)
    try {
      const call = await prepare(tool, ctx)
      const judged = await decided(ctx, tool, call)
      return judged.decision.verdict === 'allow' ? await guarded(call, judged) : judged
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      if (error.class === 'Cancellation') run.cancellation.cancel(error) // whoever closes a question calls off what is going on
      if (run.cancellation.isCancelled) throw error
      const { code, message } = error
      return { decision: { verdict: 'deny', by: 'mode-gate', why: message, code }, failure: error }
    }
  }

  async function decided(ctx: Gate, tool: ToolDef, call: JudgedCall): Promise<Judged> {
    const { callId } = ctx
    const proposal = { tool: call.tool, proposalId: callId, input: call.input }
    const stage = call.gated ? await options.stateMachine?.judge(proposal) : undefined
    const asker: CallScope = { ...askerOf(callId), ...(stage && { stage }) }
    // What was approved is what runs: if it changed while somebody was thinking, he is asked about what it is now.
    for (let round = 0; round < mostRounds; round++) {
      const decision = await currentDecision(call, asker)
      // Where a hook answered in the tool's place the tool does not run, and nobody has to be asked.
      if (decision.verdict !== 'ask' || ctx.result !== undefined) return { call, decision }
      const digest = await digestWithFiles(tool, call, workspace)
      const { remember, ...approved } = await approvals.ask({
        ctx,
        tool,
        call,
        decision,
        digest,
        isDeferred: stage?.verdict === 'defer',
      })
      const isAllowed = approved.decision.verdict === 'allow'
      if (isAllowed && digest !== (await digestWithFiles(tool, call, workspace))) continue
      await remember?.()
      if (!isAllowed) return { call, ...approved }
      const again = await authority.judge(call, asker)
      return again.verdict === 'deny' ? { call, decision: again } : { call, ...approved }
    }
    return { call, decision: outdated }
  }

  /** A grant that was given for files which have changed since is none. */
  async function currentDecision(call: JudgedCall, asker: CallScope): Promise<Decision> {
    const decision = await authority.judge(call, asker)
    if (decision.by !== 'grant') return decision
    await grants.load() // somebody may have taken it back
    const grant = grants.find({ ...call, ...asker })
    if (!grant) return authority.judge(call, asker)
    if (!grant.bound) return decision
    const now = await digestsOf(Object.keys(grant.bound), workspace)
    if (Object.entries(grant.bound).every(([path, digest]) => now[path] === digest)) return decision
    await grants.revoke((one) => isSameGrant(one, grant))
    return authority.judge(call, asker)
  }

  /** Guards have the last word about what is allowed, whoever allowed it. */
  async function guarded(call: JudgedCall, judged: Judged): Promise<Judged> {
    if (!call.gated) return judged
    for (const guard of authority.guards) {
      const refusal = await tryGuard(() => guard(call, judged.decision))
      if (refusal) return { call, decision: { verdict: 'deny', by: 'guard', why: refusal, code: 'GuardDenied' } }
    }
    return judged
  }
}

/** Somebody has said no already: a person, before the run went on, or a hook. */
function blocked({ approval, reason }: Gate): Judged {
  const why = printable(reason) || 'a hook blocked it'
  if (approval?.decision !== 'deny') return { decision: { verdict: 'deny', by: 'hook', why } }
  return { decision: { verdict: 'deny', by: 'person', why, code: 'ApprovalDenied' }, approver: approval.by }
}

const mostRounds = 3
const outdated: Decision = {
  verdict: 'deny',
  by: 'mode-gate',
  why: 'what it would change kept changing while it was being approved; read it again and try once more',
  code: 'ApprovalOutdated',
}

async function tryGuard(guard: () => unknown): Promise<string | undefined> {
  try {
    const refusal = await guard()
    return typeof refusal === 'string' && refusal !== '' ? refusal : undefined
  } catch (error) {
    return `a guard failed: ${messageOf(error)}`
  }
}

function workspaceOf({ host: { execution, handle } }: Run, { options }: AuthorityParts): Workspace {
  const { root = handle?.cwd ?? '/', isTrusted = false } = options.workspace ?? {}
  let real: Promise<string> | undefined
  const location = execution && handle && { execution, handle }
  const follow = location && linksOf(location)
  const findReal = async (): Promise<string> => (await follow?.(root).catch(() => undefined)) ?? root
  return {
    root,
    realRoot: () => (real ??= findReal()),
    // Asked at each call: trust can be taken back while a run is under way.
    get isTrusted() {
      return typeof isTrusted === 'function' ? isTrusted() : isTrusted
    },
    ...(location && { location }),
  }
}

/** The session of a run, then those above it. */
function sessionChain(run: Run): [string, ...string[]] {
  const above: string[] = []
  for (let one = run.parent; one; one = one.parent) above.push(one.log.id)
  return [run.log.id, ...above]
}
