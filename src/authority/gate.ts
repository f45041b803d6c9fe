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

/** A decision and its call. `call` is missing where the tool could not describe it. */
export interface Judged {
  readonly call?: JudgedCall
  readonly decision: Decision
  readonly approver?: string
  readonly failure?: CodedError
}

/** The gate of one run: decides about each call, asks a person where needed, then blocks, halts or passes it. */
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
  const askForApproval = createApprovals({
    parts,
    run,
    workspace,
    sessionId: sessionIds[0],
    prepare,
    judge: (call, id) => authority.judge(call, askerOf(id)),
  })

  return async (ctx) => {
    const { tool } = ctx
    // The tool will not run; the pipeline answers such a call.
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
      if (error.class === 'Cancellation') run.cancellation.cancel(error) // closing a prompt cancels the run
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
    // If the files changed while the person was deciding, the person is asked about the new content.
    for (let round = 0; round < maxApprovalRounds; round++) {
      const decision = await currentDecision(call, asker)
      // If a hook answered instead of the tool, the tool does not run, and no approval is needed.
      if (decision.verdict !== 'ask' || ctx.result !== undefined) return { call, decision }
      const digest = await digestWithFiles(tool, call, workspace)
      const { remember, ...approved } = await askForApproval({
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

  /** Judges with current grants. A grant whose files changed is revoked. */
  async function currentDecision(call: JudgedCall, asker: CallScope): Promise<Decision> {
    const decision = await authority.judge(call, asker)
    if (decision.by !== 'grant') return decision
    await grants.load() // another process may have revoked it
    const grant = grants.find({ ...call, ...asker })
    if (!grant) return authority.judge(call, asker)
    if (!grant.bound) return decision
    const now = await digestsOf(Object.keys(grant.bound), workspace)
    if (Object.entries(grant.bound).every(([path, digest]) => now[path] === digest)) return decision
    await grants.revoke((one) => isSameGrant(one, grant))
    return authority.judge(call, asker)
  }

  /** Guards may refuse an allowed call, whatever allowed it. */
  async function guarded(call: JudgedCall, judged: Judged): Promise<Judged> {
    if (!call.gated) return judged
    for (const guard of authority.guards) {
      const refusal = await tryGuard(() => guard(call, judged.decision))
      if (refusal) return { call, decision: { verdict: 'deny', by: 'guard', why: refusal, code: 'GuardDenied' } }
    }
    return judged
  }
}

/** The decision about a call that a person or a hook has already blocked. */
function blocked({ approval, reason }: Gate): Judged {
  const why = printable(reason) || 'a hook blocked it'
  if (approval?.decision !== 'deny') return { decision: { verdict: 'deny', by: 'hook', why } }
  return { decision: { verdict: 'deny', by: 'person', why, code: 'ApprovalDenied' }, approver: approval.by }
}

const maxApprovalRounds = 3
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
    // Evaluated at each call: trust can be revoked during a run.
    get isTrusted() {
      return typeof isTrusted === 'function' ? isTrusted() : isTrusted
    },
    ...(location && { location }),
  }
}

/** The session of a run, then its parents. */
function sessionChain(run: Run): [string, ...string[]] {
  const above: string[] = []
  for (let one = run.parent; one; one = one.parent) above.push(one.log.id)
  return [run.log.id, ...above]
}
