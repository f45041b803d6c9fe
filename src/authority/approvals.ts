import { setImmediate } from 'node:timers/promises'
import type { Decision } from '../core/authority.ts'
import { countEdits, isDenied } from '../core/edit-outcomes.ts'
import { messageOf } from '../core/errors.ts'
import type { SandboxSupport } from '../core/execution.ts'
import type { HookContexts } from '../core/hook-map.ts'
import { effectsOf, prepareCall } from '../core/prepared-call.ts'
import type { Run } from '../core/run.ts'
import { originOf, type ToolDef } from '../core/tool.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import { digestToApprove } from './approved-files.ts'
import {
  type Answer,
  askPerson,
  denialBy,
  loggedAnswer,
  type Question,
  type QuestionedCall,
  reportInvalidAnswer,
  signatureOf,
  whyInvalid,
} from './ask-person.ts'
import type { AuthorityOptions, AuthorityParts } from './authority.ts'
import { boundFiles, digestsOf } from './bound-files.ts'
import { grantedPlacement, type Placement } from './confinement.ts'
import { coveredCalls } from './grants/covered-calls.ts'
import { identityOf, ruleKey } from './grants/grant.ts'
import { proposedRule, readGrantRule } from './grants/grant-rule.ts'
import { type ApprovePayload, approvePayload, batchPayload, choicesFor } from './interaction/consent.ts'
import { permissionRequired } from './interaction/interaction-kinds.ts'
import { asReadOnlyCall, maskSecrets, type Previewed, previewCall, refusalByHooks } from './interaction/preview.ts'
import type { JudgedCall } from './judged-call.ts'
import { runsCommands } from './placement.ts'
import type { Workspace } from './prepare-call.ts'

type Gate = HookContexts['tool:gate']

interface ApprovalsOptions {
  readonly parts: AuthorityParts
  readonly run: Run
  readonly workspace: Workspace
  readonly sessionId: string
  readonly prepare: (tool: ToolDef, asked: Pick<Gate, 'input' | 'effects'>) => Promise<JudgedCall>
  readonly judge: (call: JudgedCall, callId: string) => Promise<Decision>
}

interface CallToApprove {
  readonly ctx: Pick<Gate, 'callId' | 'name' | 'input' | 'parentCallId'>
  readonly tool: ToolDef
  readonly call: JudgedCall
  readonly decision: Decision
  readonly digest: string
}

interface PreviewedCall extends CallToApprove {
  readonly previewed: Previewed
}

/** The person's answer, earlier or now. A verdict of `ask` halts the call: the run waits for a person. */
type AskForApproval = (asked: CallToApprove & { readonly ctx: Gate; readonly isDeferred: boolean }) => Promise<Approved>

interface Approved {
  readonly decision: Decision
  readonly approver?: string
  /** Stores the answer as a grant. Call it once the files are known to be unchanged since the question. */
  readonly remember?: () => Promise<void>
}

/** Creates the function that asks about the calls of one run. */
export function createApprovals(given: ApprovalsOptions): AskForApproval {
  const { parts, run, workspace, sessionId, prepare, judge } = given
  const { options, interactions, grants, redactor, used } = parts
  const { approvalTimeoutMs: timeoutMs } = options
  const { root, location } = workspace
  // With a state machine the stage judges each call when its turn has come, so calls are not asked about together.
  const isBatching = options.batchPrompts === true && !options.stateMachine
  const displayContext = {
    cwd: location?.handle.cwd ?? root,
    redactor,
    projectGrants: options.projectGrants !== false && isIdentified(workspace, options),
    ...(location && location.execution.type !== 'process' && { context: location.execution.type }),
  }

  return async ({ ctx, isDeferred, ...asked }) => {
    const key = await parts.key()
    const { approval: earlierAnswer } = ctx
    if (earlierAnswer?.decision === 'allow' && earlierAnswer.digest === asked.digest) {
      const edits = countEdits(asked.tool, ctx.input)
      const reason = await whyInvalid({ ...earlierAnswer, callId: ctx.callId }, { run, key, used, sessionId, edits })
      const choices = choicesFor(asked.call, { ...displayContext, ...asked })
      if (reason === undefined) return answered(asked, loggedAnswer(earlierAnswer, choices), earlierAnswer.by)
      await reportInvalidAnswer(run, ctx, earlierAnswer, reason)
    }

    const previewed = await previewCall(asked.tool, asked, run, redactor)
    const early = await denyEarly(ctx, asked, previewed)
    if (early) return { decision: early }
    const own = { ctx, ...asked, previewed }
    const all = [own, ...(isBatching ? await siblings(ctx) : [])]
    await setImmediate() // drawing the prompts may block, and judging may have blocked: other work runs in between
    const kind: Question['kind'] = isDeferred ? 'grantStageTool' : 'Approve'
    const sandbox = all.some(({ call }) => runsCommands(call)) ? await workspace.sandbox?.() : undefined
    const each = all.map((one) => payloadOf(one, sandbox))
    const whole = each.length > 1 ? batchPayload(each) : each[0]!
    const payload = { ...whole, kind, ...(isDeferred && stagePayload(asked.call.input)) }
    const calls = all.map((one, i) => aboutCall(one, each[i]!))
    const question: Question = { kind, calls, payload, ...(timeoutMs !== undefined && { timeoutMs }) }
    const verdicts = await askPerson(question, { run, interactions, key, used, sessionId })
    if (verdicts.status === 'left' && !run.session) return { decision: interactorLeft }
    if (verdicts.status !== 'answered') {
      const request = { ...permissionRequired(kind, verdicts.correlationId ?? run.newId()), payload }
      ctx.halt = { reason: 'permission-required', digest: asked.digest, request, signature: signatureOf(key) }
      return { decision: asked.decision }
    }
    const { by, answers } = verdicts
    const rememberAll = async (): Promise<void> => {
      for (const one of all)
        if (one === own || (await isUnchanged(one))) await remember(one, answers.get(one.ctx.callId), by)
    }
    return { ...answered(asked, answers.get(ctx.callId)!, by), remember: rememberAll }
  }

  function answered(asked: Pick<CallToApprove, 'call' | 'decision'>, answer: Answer, by: string): Approved {
    if (answer.decision !== 'allow') return { decision: denialBy(by, answer), approver: by }
    return { ...allowedBy(by, answer, asked), remember: () => remember(asked, answer, by) }
  }

  /** Denies, without asking a person, a call that would fail, unless its error reveals files the model may not read unasked. */
  async function denyEarly(
    ctx: Gate,
    { tool, call }: Pick<CallToApprove, 'tool' | 'call'>,
    { error }: Previewed,
  ): Promise<Decision | undefined> {
    if (error === undefined && !run.hooks.has('approval:before')) return undefined
    const mayRead = await judge(asReadOnlyCall(call), ctx.callId)
    if (mayRead.verdict !== 'allow') return undefined
    if (error !== undefined) {
      const begun = run.log.transcript.lastStartOf(ctx.callId) ? `\n${mayBeDone}` : ''
      ctx.result = { output: `Tool error: ${error}${begun}`, isError: true }
      return { verdict: 'deny', by: 'preview', why: `it cannot work: ${error}`, code: 'CannotWork' }
    }
    const reason = await refusalByHooks(ctx, tool, run)
    if (reason === undefined) return undefined
    Object.assign(ctx, { block: true, reason })
    return { verdict: 'deny', by: 'hook', why: reason }
  }

  /** The later calls of this turn that need an approval too. */
  async function siblings(ctx: Gate): Promise<PreviewedCall[]> {
    const asked: PreviewedCall[] = []
    for (const { tool, ...sibling } of openSiblings(run, ctx)) {
      const call = await prepare(tool, sibling)
      const decision = await judge(call, sibling.callId)
      if (decision.verdict !== 'ask') continue
      const digest = await digestToApprove(tool, call, decision, workspace)
      const { preview } = await previewCall(tool, { call, decision }, run, redactor)
      // A call that would fail now may work after the calls before it, so its error is not shown.
      asked.push({ ctx: sibling, tool, call, decision, digest, previewed: preview ? { preview } : {} })
    }
    return asked
  }

  /** Whether its files are as they were shown: a grant counts for their content. */
  async function isUnchanged({ tool, call, decision, digest }: CallToApprove): Promise<boolean> {
    return digest === (await digestToApprove(tool, call, decision, workspace))
  }

  function payloadOf(
    { call, ctx, tool, decision, digest, previewed }: PreviewedCall,
    sandbox: SandboxSupport | undefined,
  ): ApprovePayload {
    const { preview, wouldFail } = previewed
    const edits = countEdits(tool, ctx.input)
    return approvePayload(call, {
      ...{ decision, callId: ctx.callId, digest, sandbox, ...displayContext },
      ...(preview && { preview }),
      ...(edits > 0 && { edits }),
      ...(wouldFail !== undefined && { wouldFail }),
      hasRun: call.isOutside === true && parts.commandsRun.has(sessionId, call),
    })
  }

  function aboutCall(
    { ctx, tool, decision, digest }: CallToApprove,
    { choices, edits = 0 }: ApprovePayload,
  ): QuestionedCall {
    const { callId, name, input, parentCallId } = ctx
    return {
      callId,
      name,
      input,
      digest,
      choices,
      edits,
      reason: decision.why,
      origin: originOf(tool),
      ...(parentCallId !== undefined && { parentCallId }),
    }
  }

  function stagePayload(input: JudgedCall['input']): object {
    return { stageExecutionId: options.stateMachine?.stageExecutionId ?? '', argsDigest: digestOfJson(input) }
  }

  async function remember(
    { call, decision }: Pick<CallToApprove, 'call' | 'decision'>,
    answer: Answer | undefined,
    by: string,
  ): Promise<void> {
    if (answer?.decision !== 'allow' || answer.scope === 'once') return
    const { tool, origin } = call
    const { scope, expiresAt, rule } = answer
    const offered = proposedRule(call)
    if (rule !== undefined && !offered) return
    const { key, words } =
      rule === undefined ? coveredCalls(call) : { key: ruleKey, words: readGrantRule(rule, offered!) }
    const place = placeOf(answer, decision) ?? 'outside'
    const within = runsCommands(call) ? grantedPlacement(place) : undefined
    const files = boundFiles(call)
    const grant = {
      ...{ tool, key, covers: maskSecrets(words, redactor), origin: identityOf(origin), scope, grantedBy: by },
      project: (await workspace.realRoot?.()) ?? root,
      ...(rule !== undefined && { rule }),
      ...(scope === 'session' && { sessionId }),
      ...(expiresAt !== undefined && { expiresAt }),
      ...(files.length > 0 && { bound: await digestsOf(files, workspace) }),
      ...(within && { within }),
    }
    // The call itself is approved. If the grant cannot be stored, the person is asked again next time.
    await grants.add(grant).catch(async (error) => {
      const details = { error: messageOf(error) }
      await parts.audit.write({ class: 'SuppressedError', event: 'GrantNotKept', sessionId, details })
    })
  }
}

function allowedBy(by: string, answer: Answer, { decision }: Pick<CallToApprove, 'decision'>): Approved {
  const { edits } = answer
  const confinement = placeOf(answer, decision)
  const what = edits ? `${edits.length - edits.filter(isDenied).length} of its ${edits.length} edits` : 'it'
  const why = `${by} allowed ${what}${confinement === 'outside' ? ' outside any sandbox' : ''}`
  const extent = { ...(confinement && { confinement }), ...(edits && { edits }) }
  return { decision: { verdict: 'allow', by: 'person', why, ...extent }, approver: by }
}

/** Where an allowed call runs its commands; undefined if the context has no sandbox, so that there is no choice. */
function placeOf({ where }: Pick<Answer, 'where'>, { confinement }: Decision): Placement | undefined {
  return confinement && (where ?? confinement)
}

/** Whether the folder tells this project from others: in a container, every project may lie in the same one. */
function isIdentified({ location }: Workspace, { workspace }: AuthorityOptions): boolean {
  return workspace?.root !== undefined || location?.execution.type === 'process'
}

const interactorLeft: Decision = {
  verdict: 'deny',
  by: 'mode-gate',
  why: 'the person who was asked has disconnected; request the call again when a person can be asked',
  code: 'NoInteractorAttached',
}

const mayBeDone =
  'This call had begun before, in a process that died, so its change may have been made then. Read the file before you repeat it.'

type OpenSibling = Pick<Gate, 'callId' | 'name' | 'input' | 'effects'> & { readonly tool: ToolDef }

/** The calls after this one in its turn that could run: known tools with valid arguments. */
function openSiblings(run: Run, { callId, turnId }: Gate): OpenSibling[] {
  const { openCalls, approvals } = run.log.transcript
  const at = openCalls.findIndex(({ id }) => id === callId)
  if (at < 0) return []
  return openCalls.slice(at + 1).flatMap((call) => {
    const { tool, validation: checked, callInfo } = prepareCall(run, turnId, call)
    if (!tool || !checked.valid || approvals.has(call.id)) return []
    const { name, input } = callInfo
    return [{ tool, callId: call.id, name, input, effects: effectsOf(tool, input) }]
  })
}
