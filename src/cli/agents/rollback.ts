import { messageOf } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { RollbackPlan, RollbackResult } from '../../snapshots/file-snapshots.ts'
import { RollbackError } from '../../workflow/rollback/message-files.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { findTopLevelAgent, requireAgent, requireIdle } from './find-agent.ts'
import { findMessage } from './find-message.ts'
import { messageTitle } from './message-lines.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'

interface RollbackValues {
  readonly plan?: boolean
  readonly force?: boolean
  readonly undo?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** `libero agents rollback`: restores files to their state before a message. */
export async function rollback({ values, words }: Args<RollbackValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents rollback')
  const { plan: isPlan = false, force = false, undo: isUndo = false, yes = false, json } = values
  if (isPlan && isUndo) throw new CliError('--undo cannot be planned; leave --plan out', exitCodes.usage)
  if (!isPlan && !yes) requireTerminal(io, 'agents rollback asks before it changes files')
  return withWorkflow(
    io,
    async (opened) => {
      const { workflow } = opened
      const { id: agentId } = await findTopLevelAgent(opened, asked)
      await requireIdle(opened, agentId)
      const messageId = await messageToUndo(opened, agentId, words[1], { io, isQuiet: json === true })
      const request = { ...values, messageId, agentId }
      if ((isPlan || !yes) && !(await isConfirmed(opened, request, io))) return exitCodes.done
      const work = isUndo
        ? workflow.undoRollback(agentId, messageId, { force })
        : workflow.rollback(agentId, messageId, { force })
      const { undo: _, ...result } = await work.catch((error: unknown) => {
        throw rollbackFailure(error)
      })
      if (json) io.out(jsonText({ agentId, messageId, ...result }))
      else for (const line of resultLines(result, { force })) io.out(line)
      return result.failed.length > 0 ? exitCodes.error : exitCodes.done
    },
    { snapshots: 'kept' },
  )
}

interface RollbackRequest extends RollbackValues {
  readonly agentId: string
  readonly messageId: string
}

/** Shows the plan and asks for confirmation; with --plan only shows it. */
async function isConfirmed({ workflow }: OpenedWorkflow, request: RollbackRequest, io: Io): Promise<boolean> {
  const { agentId, messageId, plan: isPlan = false, force = false, undo: isUndo = false, json } = request
  if (isUndo) return isSure('Undo the rollback?', io)
  const plan = await workflow.planRollback(agentId, messageId).catch((error: unknown) => {
    // With --force, work that was cut off can be rolled back, but not planned.
    if (force && !isPlan && error instanceof RollbackError && overridable.has(error.code)) return undefined
    throw rollbackFailure(error)
  })
  const say = isPlan ? io.out : io.err
  if (isPlan && json) say(jsonText({ agentId, messageId, ...plan }))
  else if (plan) for (const line of planLines(plan, { force })) say(line)
  if (isPlan || (plan && isNothing(plan, { force }))) return false
  const question = force ? 'Restore them, including files changed since?' : 'Restore them?'
  return isSure(question, io)
}

/** Problems that `--force` overrides. */
const overridable: ReadonlySet<RollbackError['code']> = new Set(['already_back', 'cut_off'])

async function isSure(question: string, io: Io): Promise<boolean> {
  const isYes = await confirm(`In ${fullyVisible(io.cwd)}: ${question}`, io)
  if (!isYes) io.err('Nothing was changed')
  return isYes
}

/** The message to go back to. A message that was undone is named by its whole id; its file changes are still known. */
async function messageToUndo(
  { workflow }: OpenedWorkflow,
  agentId: string,
  asked: string | undefined,
  { io, isQuiet }: { readonly io: Io; readonly isQuiet: boolean },
): Promise<string> {
  const messages = await workflow.getMessages(agentId)
  if (asked !== undefined && wholeId.test(asked) && !messages.some(({ id }) => id === asked)) return asked
  const message = findMessage(messages, asked, agentId)
  if (!isQuiet) io.err(`Before the message\n${messageTitle(message)}`)
  return message.id
}

const wholeId = /^[0-9a-f]{20}-\d+$/

const isNothing = ({ restore, delete: removed, conflicts }: RollbackPlan, { force }: { readonly force: boolean }) =>
  restore.length + removed.length === 0 && (!force || conflicts.length === 0)

const nothingChanged = 'no file has changed since that message'

function planLines(plan: RollbackPlan, { force }: { readonly force: boolean }): string[] {
  const { restore, delete: removed, conflicts } = plan
  if (restore.length + removed.length + conflicts.length === 0) return [nothingChanged]
  return [
    ...restore.map((path) => `restore  ${fullyVisible(path)}`),
    ...removed.map((path) => `delete   ${fullyVisible(path)}`),
    ...conflictLines(conflicts, { force, word: force ? 'force  ' : 'keep   ' }),
  ]
}

function resultLines(
  { restored, deleted, conflicts, failed }: Omit<RollbackResult, 'undo'>,
  { force }: { readonly force: boolean },
): string[] {
  if (restored.length + deleted.length + conflicts.length + failed.length === 0) return [nothingChanged]
  return [
    ...restored.map((path) => `restored  ${fullyVisible(path)}`),
    ...deleted.map((path) => `deleted   ${fullyVisible(path)}`),
    ...conflictLines(conflicts, { force, word: 'kept    ' }),
    ...failed.map(
      (path) => `failed    ${fullyVisible(path)}: it could not be restored; see which program uses it, and try again`,
    ),
  ]
}

function conflictLines(
  conflicts: RollbackPlan['conflicts'],
  { force, word }: { readonly force: boolean; readonly word: string },
): string[] {
  const lines = conflicts.map(({ path, why }) => `${word}  ${fullyVisible(path)}: ${fullyVisible(why)}`)
  return lines.length > 0 && !force ? [...lines, 'Add --force to restore these files too'] : lines
}

/** Rewords an error of the API, which names methods, for the command line. */
function rollbackFailure(error: unknown): CliError {
  const message = fullyVisible(messageOf(error).slice(0, 600))
  const failure = (text: string): CliError => new CliError(text, undefined, { cause: error })
  if (!(error instanceof RollbackError)) return failure(`${message}; run this in the folder where the agent worked`)
  switch (error.code) {
    case 'already_back':
      return failure(`the files were already restored to their state before that message; ${byForce}`)
    case 'cut_off':
      return failure(`the work on the last message was cut off, so its changes are unknown; ${byForce}`)
    case 'not_kept':
      return failure(
        `${message}; snapshots need git, and an agent that can change files (libero agents rollback --help)`,
      )
    default:
      return failure(message)
  }
}

const byForce = '--force rolls back nevertheless, but cannot be planned'
