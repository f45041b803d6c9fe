import type { Decision } from '../core/authority.ts'
import { narrowerEdits } from '../core/edit-outcomes.ts'
import { CodedError, messageOf, printable } from '../core/errors.ts'
import type { SandboxSupport } from '../core/execution.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { plannedWriteWith } from '../platform/planned-writes.ts'
import { createApprovals } from './approvals.ts'
import { digestToApprove } from './approved-files.ts'
import type { Authority, AuthorityParts, CallScope } from './authority.ts'
import { boundFiles, digestsOf, presentFiles } from './bound-files.ts'
import { isSameGrant } from './grants/grant.ts'
import { grantIdentity } from './grants/grant-identity.ts'
import type { JudgedCall } from './judged-call.ts'
import { mayRunCommands, runsCommands } from './placement.ts'
import { linksOf, prepareCall, type Workspace } from './prepare-call.ts'
import { findSandbox } from './unconfined-notice.ts'

type Gate = HookContexts['tool:gate']

/** A decision and its call. `call` is missing where the tool could not describe it. */
export interface Judged {
  readonly call?: JudgedCall
  readonly decision: Decision
  readonly approver?: string
  readonly failure?: CodedError
  /** Rejects if what a person approved has changed since. */
  readonly checkAgain?: () => Promise<void>
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
  const scopeOf = async (callId: string, call: JudgedCall): Promise<CallScope> => {
    const { root: project, realRoot } = workspace
    const scope = { callId, sessionIds, project, realProject: (await realRoot?.()) ?? project }
    return mayRunCommands(call) ? { ...scope, sandbox: await workspace.sandbox() } : scope
  }
  const askForApproval = createApprovals({
    parts,
    run,
    workspace,
    sessionId: sessionIds[0],
    prepare,
    judge: async (call, id) => authority.judge(call, await scopeOf(id, call)),
  })

  return async (ctx) => {
    const { tool } = ctx
    // The tool will not run; the pipeline answers such a call.
    if (!tool || ctx.rejected !== undefined) return undefined
    const judged = await judge(ctx, tool)
    const { verdict, by, why, code = 'ApprovalDenied', confinement, edits } = judged.decision
    // Edits that a hook denied stay denied. Denials from an earlier answer also stay, unless the person answered again.
    if (verdict === 'allow' && by === 'person')
      Object.assign(ctx, {
        editDecisions: narrowerEdits(ctx.editDecisions === ctx.approval?.edits ? undefined : ctx.editDecisions, edits),
      })
    if (verdict === 'allow' && typeof confinement === 'object') ctx.confinement = confinement
    if (judged.call) parts.commandsRun.add(sessionIds[0], judged.call, judged.decision)
    if (verdict === 'allow' && judged.checkAgain) ctx.beforeCommands = judged.checkAgain
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
    const scope: CallScope = { ...(await scopeOf(callId, call)), ...(stage && { stage }) }
    // If the files changed while the person was deciding, the person is asked about the new content.
    for (let round = 0; round < maxApprovalRounds; round++) {
      const decision = await currentDecision(call, scope)
      // If a hook answered instead of the tool, the tool does not run, and no approval is needed.
      if (decision.verdict !== 'ask' || ctx.result !== undefined) return { call, decision }
      const begun = run.log.transcript.lastStartOf(callId)
      const written = begun && plannedWriteWith(run.log, begun.key)
      const currentDigest = (): Promise<string> => digestToApprove(tool, call, decision, workspace, written)
      const digest = await currentDigest()
      const { remember, ...approved } = await askForApproval({
        ctx,
        tool,
        call,
        decision,
        digest,
        isDeferred: stage?.verdict === 'defer',
      })
      const isAllowed = approved.decision.verdict === 'allow'
      if (isAllowed && digest !== (await currentDigest())) continue
      await remember?.()
      if (!isAllowed) return { call, ...approved }
      const again = await authority.judge(call, scope)
      if (again.verdict === 'deny') return { call, decision: again }
      const checkAgain = async (): Promise<void> => {
        if (digest !== (await currentDigest())) throw new CodedError('ToolTerminal/ApprovalOutdated', changedSince)
      }
      return { call, ...approved, checkAgain }
    }
    return { call, decision: outdated }
  }

  /** Judges with current grants. A grant whose files changed is revoked. */
  async function currentDecision(call: JudgedCall, scope: CallScope): Promise<Decision> {
    const decision = await authority.judge(call, scope)
    if (decision.by !== 'grant') return decision
    await grants.load() // another process may have revoked it
    const wanted = runsCommands(call) ? (decision.confinement ?? 'outside') : undefined
    const grant = grants.find(grantIdentity(call, scope, wanted))
    if (!grant) return authority.judge(call, scope)
    if (grant.rule !== undefined && !scope.existingBoundFiles)
      return currentDecision(call, { ...scope, existingBoundFiles: await presentFiles(boundFiles(call), workspace) })
    if (!grant.bound) return decision
    const now = await digestsOf(Object.keys(grant.bound), workspace)
    if (Object.entries(grant.bound).every(([path, digest]) => now[path] === digest)) return decision
    await grants.revoke((one) => isSameGrant(one, grant))
    return currentDecision(call, scope) // by another grant, perhaps, whose files may have changed too
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

const changedSince =
  'a file that the command runs or reads has changed since it was approved, so nothing was run; request the call again'

async function tryGuard(guard: () => unknown): Promise<string | undefined> {
  try {
    const refusal = await guard()
    return typeof refusal === 'string' && refusal !== '' ? refusal : undefined
  } catch (error) {
    return `a guard failed: ${messageOf(error)}`
  }
}

type RunWorkspace = Workspace & Required<Pick<Workspace, 'sandbox'>>

function workspaceOf({ host: { execution, handle } }: Run, { options }: AuthorityParts): RunWorkspace {
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
    sandbox: keptUnlessUntried(async () => (location ? findSandbox(location) : noContext)),
  }
}

/** Found once for a run. Why it could not be tried may have passed by the next call. */
function keptUnlessUntried(find: () => Promise<SandboxSupport>): () => Promise<SandboxSupport> {
  let found: Promise<SandboxSupport> | undefined
  return async () => {
    const current = (found ??= find())
    const support = await current
    if (support.isUntried && found === current) found = undefined
    return support
  }
}

const noContext: SandboxSupport = { profiles: [], why: 'the agent has no execution context' }

/** The session of a run, then its parents. */
function sessionChain(run: Run): [string, ...string[]] {
  const above: string[] = []
  for (let one = run.parent; one; one = one.parent) above.push(one.log.id)
  return [run.log.id, ...above]
}
