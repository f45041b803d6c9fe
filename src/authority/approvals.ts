import type { Decision } from '../core/authority.ts'
import { messageOf } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { type Answer, type AskedAbout, askPerson, denialBy, isGenuine, type Question } from './ask-person.ts'
import type { AuthorityParts } from './authority.ts'
import { boundFiles, digestsOf, digestWithFiles } from './bound-files.ts'
import {
  type ApprovePayload,
  approvePayload,
  type BatchPayload,
  batchPayload,
  scopesFor,
} from './interaction/consent.ts'
import { permissionRequired } from './interaction/headless.ts'
import type { JudgedCall } from './judged-call.ts'
import { openSiblings } from './open-siblings.ts'
import type { Workspace } from './prepare-call.ts'
import { argsDigest } from './stages/args-digest.ts'

type Gate = HookContexts['tool:gate']

export interface ApprovalsOptions {
  readonly parts: AuthorityParts
  readonly run: Run
  readonly workspace: Workspace
  readonly sessionId: string
  readonly prepare: (tool: ToolDef, asked: Pick<Gate, 'input' | 'effects'>) => Promise<JudgedCall>
  readonly judge: (call: JudgedCall, callId: string) => Promise<Decision>
}

/** A call that somebody has to be asked about. */
interface Asked {
  readonly ctx: Pick<Gate, 'callId' | 'name' | 'input' | 'parentCallId'>
  readonly call: JudgedCall
  readonly decision: Decision
  readonly digest: string
}

export interface Approvals {
  /** What a person said, before or now. `ask` again means that the run has to wait for one: the call is halted. */
  ask(asked: Asked & { readonly ctx: Gate; readonly isDeferred: boolean }): Promise<Approved>
}

export interface Approved {
  readonly decision: Decision
  readonly approver?: string
}

/** Finds out what a person thinks of the calls of one run. */
export function createApprovals({ parts, run, workspace, sessionId, prepare, judge }: ApprovalsOptions): Approvals {
  const { options, interactions, grants, redactor } = parts
  const { root, place } = workspace
  const shown = { cwd: place?.handle.cwd ?? root, redactor, ...(place && { sandbox: place.execution.type }) }

  return {
    async ask({ ctx, isDeferred, ...asked }) {
      const key = await parts.key()
      const { approval: before } = ctx
      const isAnswered = before?.decision === 'allow' && before.digest === asked.digest
      if (isAnswered && isGenuine({ ...before, callId: ctx.callId }, key, sessionId)) return allowedBy(before.by)

      const all = [{ ctx, ...asked }, ...(options.batchPrompts ? await siblings(ctx) : [])]
      const kind: Question['kind'] = isDeferred ? 'grantStageTool' : 'Approve'
      const payload = { ...payloadFor(all), kind, ...(isDeferred && stagePayload(asked.call)) }
      const question: Question = { kind, calls: all.map(aboutCall), payload, ...timeLimit() }
      const verdicts = await askPerson(question, { run, interactions, key, sessionId })
      if (verdicts.status === 'left' && !run.session) return { decision: leftAlone }
      if (verdicts.status !== 'answered') {
        const request = { ...permissionRequired(kind, verdicts.correlationId ?? run.newId()), payload }
        ctx.halt = { reason: 'permission-required', digest: asked.digest, request }
        return asked
      }
      const { by, answers } = verdicts
      for (const { call, ctx } of all) await remember(call, answers.get(ctx.callId), by)
      const answer = answers.get(ctx.callId)!
      return answer.decision === 'allow' ? allowedBy(by) : { decision: denialBy(by, answer), approver: by }
    },
  }

  /** The other calls of this turn that would be asked about next. */
  async function siblings(ctx: Gate): Promise<Asked[]> {
    const asked: Asked[] = []
    for (const { tool, ...sibling } of openSiblings(run, ctx)) {
      const call = await prepare(tool, sibling)
      const decision = await judge(call, sibling.callId)
      if (decision.verdict !== 'ask') continue
      asked.push({ ctx: sibling, call, decision, digest: await digestWithFiles(tool, call, workspace) })
    }
    return asked
  }

  function payloadFor(all: readonly Asked[]): ApprovePayload | BatchPayload {
    const [first, ...more] = all.map(({ call, ctx, decision, digest }) =>
      approvePayload(call, { decision, callId: ctx.callId, digest, ...shown }),
    )
    return more.length === 0 ? first! : batchPayload([first!, ...more])
  }

  function aboutCall({ ctx, call, decision, digest }: Asked): AskedAbout {
    const { callId, name, input, parentCallId } = ctx
    const scopes = scopesFor(call, decision).filter((scope) => scope !== 'project' || options.projectGrants)
    return {
      callId,
      name,
      input,
      digest,
      scopes,
      reason: decision.why,
      ...(parentCallId !== undefined && { parentCallId }),
    }
  }

  async function suppressed(event: string, error: unknown): Promise<void> {
    await parts.audit.write({ class: 'SuppressedError', event, sessionId, details: { error: messageOf(error) } })
  }

  function stagePayload({ input }: JudgedCall): object {
    return { stageExecutionId: options.stateMachine?.stageExecutionId ?? '', argsDigest: argsDigest(input) }
  }

  function timeLimit(): { timeoutMs?: number } {
    const { approvalTimeoutMs: timeoutMs } = options
    return timeoutMs === undefined ? {} : { timeoutMs }
  }

  async function remember(call: JudgedCall, answer: Answer | undefined, by: string): Promise<void> {
    if (answer?.decision !== 'allow' || answer.scope === 'once') return
    const { tool, key, origin } = call
    const { scope, expiresAt } = answer
    const files = boundFiles(call)
    const grant = {
      ...{ tool, key, origin, scope, grantedBy: by },
      ...(scope === 'session' && { sessionId }),
      ...(scope === 'project' && { project: workspace.root }),
      ...(expiresAt !== undefined && { expiresAt }),
      ...(files.length > 0 && { bound: await digestsOf(files, workspace) }),
    }
    // Whoever said yes meant this call too; that it cannot be kept only means that he is asked again.
    await grants.add(grant).catch((error) => suppressed('GrantNotKept', error))
  }
}

const allowedBy = (by: string): Approved => ({
  decision: { verdict: 'allow', by: 'person', why: `${by} allowed it` },
  approver: by,
})

const leftAlone: Decision = {
  verdict: 'deny',
  by: 'mode-gate',
  why: 'whoever was asked about it has left; ask for it again when somebody is there',
  code: 'NoInteractorAttached',
}
