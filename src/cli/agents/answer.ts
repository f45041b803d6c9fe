import type { EditDecision } from '../../core/edit-outcomes.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import { callsNamed } from '../../workflow/agent/pending-calls.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { WorkValues } from '../commands/run.ts'
import { readEditsFlag } from '../edits-flag.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { findTopLevelAgent, findWorkingAgent, requireAgent } from './find-agent.ts'
import { withWorkflow } from './open-workflow.ts'
import { nameOfCall, requireAskedFolder, scopesOffered, waitingJson, waitingLines } from './pending-calls.ts'
import { runAgent } from './run-agent.ts'

interface AnswerValues extends Omit<WorkValues, 'allow' | 'deny'> {
  readonly allow?: boolean
  readonly deny?: boolean
  readonly note?: string
  readonly edits?: string
  readonly scope?: 'session' | 'project'
  readonly json?: boolean
}

/** `libero agents answer`: shows what an agent waits for, or answers it and lets the agent continue. */
export async function answer({ values, words }: Args<AnswerValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents answer')
  const given = words.slice(1)
  const { allow, deny, note, edits: _, scope: __, ...working } = values
  checkFlags(values)
  const hasPerson = io.stdin.isTTY === true && io.stderr.isTTY === true && !values.json
  if (given.length === 0 && !allow && !deny && !hasPerson) return showWaiting(asked, values, io)
  return runAgent({
    values: working,
    io,
    async begin(opened) {
      const { workflow } = opened
      const { id } = await findWorkingAgent(opened, asked)
      const waiting = await workflow.pending(id)
      if (waiting.length === 0) {
        const name = fullyVisible(id)
        throw new CliError(`Agent ${name} waits for nothing; send it a message: libero agents send ${name} "…"`)
      }
      if (given.length === 0 && !allow && !deny) return { agentId: id }
      const { call, text } = chosenCall({ agentId: id, waiting }, given, values)
      if (allow) requireAskedFolder(call, io.cwd)
      const edits = readEditsFlag(values, call)
      if (values.scope) requireOffered(values.scope, call)
      const work = () => submitAnswer(workflow, id, call, { text, ...values, edits })
      return { agentId: id, work, ...(allow && { allowed: call }) }
    },
  })
}

function checkFlags({ allow, deny, note, edits, scope }: AnswerValues): void {
  if (allow && deny) throw new UsageError('--allow and --deny do not go together; choose one of them')
  if (note !== undefined && !allow && !deny) throw new UsageError('--note needs --allow or --deny; add one of them')
  if (edits !== undefined && !allow) throw new UsageError('--edits needs --allow; add it')
  if (scope !== undefined && !allow) throw new UsageError('--scope needs --allow; add it')
  if (scope !== undefined && edits !== undefined)
    throw new UsageError('--scope and --edits do not go together: a part of a call is allowed once')
}

/** Throws if the call may not be allowed for that long: the answer would count once. */
function requireOffered(scope: string, call: PendingApproval): void {
  const offered = scopesOffered(call)
  if (offered.includes(scope)) return
  const others = offered.length === 0 ? 'only once: leave out --scope' : `for: ${offered.join(', ')}`
  throw new UsageError(`${fullyVisible(call.name)} cannot be allowed for the ${scope}, ${others}`)
}

async function showWaiting(asked: string, { json }: { readonly json?: boolean }, io: Io): Promise<number> {
  return withWorkflow(io, async (opened) => {
    const { id } = await findTopLevelAgent(opened, asked)
    const waiting = await opened.workflow.pending(id)
    if (json) io.out(jsonText(waiting.map(waitingJson)))
    else if (waiting.length === 0) io.err(`Agent ${fullyVisible(id)} waits for nothing`)
    else for (const call of waiting) for (const line of waitingLines(call, id, waiting)) io.out(line)
    return exitCodes.done
  })
}

interface WaitingAgent {
  readonly agentId: string
  readonly waiting: readonly PendingApproval[]
}

/** Reads the words: one is the answer or, with --allow or --deny, the call; of two, the first is the call. */
function chosenCall(
  asked: WaitingAgent,
  words: readonly string[],
  { allow, deny }: AnswerValues,
): { readonly call: PendingApproval; readonly text: string | undefined } {
  const { waiting } = asked
  const [named, ...more] = callsNamed(words[0] ?? '', waiting)
  if (named && more.length > 0)
    throw new UsageError(
      `${more.length + 1} calls are named "${fullyVisible(named.callId)}": ${namesOf([named, ...more], asked)}; name the call by its whole id`,
    )
  const isDecision = allow === true || deny === true
  if (!named && words.length > (isDecision ? 0 : 1))
    throw notWaiting(words[0]!, asked, isDecision ? '' : `. ${quoting}`)
  if (isDecision && words.length > 1)
    throw new UsageError('--allow and --deny take only the call; put a note to the model into --note')
  if (words.length > 2) throw new UsageError(`the answer has ${words.length - 1} words. ${quoting}`)
  const text = (named ? words[1] : words[0]) ?? ''
  const fitting = named ? [named] : waiting.filter(({ isQuestion }) => isQuestion !== isDecision)
  const [call] = fitting
  if (fitting.length > 1)
    throw new UsageError(`${fitting.length} calls wait: ${namesOf(fitting, asked)}; name the call before the answer`)
  if (!call || call.isQuestion === isDecision) throw wrongKind(call ?? waiting[0]!)
  if (call.isQuestion && text === '') throw new UsageError('the answer is empty; write some text')
  return { call, text: isDecision ? undefined : text }
}

const quoting = 'Put an answer of several words in quotes'

function notWaiting(word: string, asked: WaitingAgent, hint: string): UsageError {
  const there = namesOf(asked.waiting, asked)
  return new UsageError(`no call "${fullyVisible(word.slice(0, 100))}" waits; waiting: ${there}${hint}`)
}

function wrongKind({ isQuestion, name }: PendingApproval): UsageError {
  return isQuestion
    ? new UsageError('the agent asks a question; answer it with text, as in: libero agents answer <agent> "yes"')
    : new UsageError(`${fullyVisible(name)} waits for an approval; add --allow or --deny`)
}

const namesOf = (calls: readonly PendingApproval[], { agentId, waiting }: WaitingAgent): string =>
  calls.map((call) => `${fullyVisible(nameOfCall(call, agentId, waiting))} (${fullyVisible(call.name)})`).join(', ')

function submitAnswer(
  workflow: Workflow,
  agentId: string,
  { approvalId }: PendingApproval,
  { text, allow, note, scope, edits }: Submitted,
): Promise<AgentInstanceLatestStatus> {
  if (text !== undefined) return workflow.answerQuestion(agentId, approvalId, text)
  const said = edits ? { edits } : note !== undefined && { note }
  return workflow.resolveApproval(agentId, approvalId, allow ? 'allow' : 'deny', {
    by: 'user',
    ...said,
    ...(scope && { scope }),
  })
}

interface Submitted extends Pick<AnswerValues, 'allow' | 'note' | 'scope'> {
  readonly text: string | undefined
  readonly edits: readonly EditDecision[] | undefined
}
