import { messageOf } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { RollbackPlan, RollbackResult } from '../../workflow/rollback/file-snapshots.ts'
import { RollbackError, type RollbackProblem } from '../../workflow/rollback/message-files.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { findTopLevelAgent, requireAgent, requireIdle } from './find-agent.ts'
import { findMessage } from './find-message.ts'
import { messageTitle } from './message-lines.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'

interface RollingBack {
  readonly values: {
    readonly plan?: boolean
    readonly force?: boolean
    readonly undo?: boolean
    readonly yes?: boolean
    readonly json?: boolean
  }
  readonly words: readonly string[]
}

/** `libero agents rollback`: files as they were before a message; all else stays. */
export async function rollback({ values, words }: RollingBack, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents rollback')
  const { plan: isPlan = false, force = false, undo: isUndo = false, yes = false, json } = values
  if (isPlan && isUndo) throw new CliError('--undo cannot be planned; leave --plan out', exitCodes.usage)
  if (!isPlan && !yes) requireTerminal(io, 'agents rollback asks before it changes files')
  return withWorkflow(
    io,
    async (opened) => {
      const { workflow } = opened
      const { id: agentId } = await findTopLevelAgent(workflow, asked)
      await requireIdle(opened, agentId)
      const messageId = await meant(opened, agentId, words[1], { io, isQuiet: json === true })
      const going = { ...values, messageId, agentId }
      if ((isPlan || !yes) && !(await isConfirmed(opened, going, io))) return exitCodes.done
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

interface RollbackRequest {
  readonly agentId: string
  readonly messageId: string
  readonly plan?: boolean
  readonly force?: boolean
  readonly undo?: boolean
  readonly json?: boolean
}

/** Says what would be done, and asks whether it should, unless only that was wanted to be known. */
async function isConfirmed({ workflow }: OpenedWorkflow, going: RollbackRequest, io: Io): Promise<boolean> {
  const { agentId, messageId, plan: isPlan = false, force = false, undo: isUndo = false, json } = going
  if (isUndo) return isWanted('Take back that files were put back?', io)
  const plan = await workflow.planRollback(agentId, messageId).catch((error: unknown) => {
    // What the last work changed is found out by force, and cannot be planned.
    if (force && !isPlan && error instanceof RollbackError && isForced.has(error.code)) return undefined
    throw rollbackFailure(error)
  })
  const say = isPlan ? io.out : io.err
  if (isPlan && json) say(jsonText({ agentId, messageId, ...plan }))
  else if (plan) for (const line of planLines(plan, { force })) say(line)
  if (isPlan || (plan && isNothing(plan, { force }))) return false
  const question = force ? 'Put them back, whoever changed them since?' : 'Put them back?'
  return isWanted(question, io)
}

/** What is no obstacle to `force`. */
const isForced: ReadonlySet<RollbackProblem> = new Set(['already_back', 'cut_off'])

async function isWanted(question: string, io: Io): Promise<boolean> {
  const isSure = await confirm(`In ${fullyVisible(io.cwd)}: ${question}`, io)
  if (!isSure) io.err('Nothing was changed')
  return isSure
}

/** A message that was taken back is named by its whole id: what it did to files is known all the same. */
async function meant(
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

const nothingChanged = 'no file is other than it was before that message'

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
      (path) => `failed    ${fullyVisible(path)}: it could not be put back; see who uses it, and do it again`,
    ),
  ]
}

function conflictLines(
  conflicts: RollbackPlan['conflicts'],
  { force, word }: { readonly force: boolean; readonly word: string },
): string[] {
  const lines = conflicts.map(({ path, why }) => `${word}  ${fullyVisible(path)}: ${fullyVisible(why)}`)
  return lines.length > 0 && !force ? [...lines, 'What is kept goes back too with --force'] : lines
}

/** The words of the API name its methods; here it is a flag, and a folder that one is in. */
function rollbackFailure(error: unknown): CliError {
  const said = fullyVisible(messageOf(error).slice(0, 600))
  const told = (text: string): CliError => new CliError(text, undefined, { cause: error })
  if (!(error instanceof RollbackError))
    return told(`${said}; go to the folder where the agent worked, and do it there`)
  switch (error.code) {
    case 'already_back':
      return told(`the files went back to before that message already; ${byForce}`)
    case 'cut_off':
      return told(`what the work on the last message changed is not known, it was cut off; ${byForce}`)
    case 'not_kept':
      return told(
        `${said}; files are kept where an agent can change them, in a git repository (libero agents rollback --help)`,
      )
    default:
      return told(said)
  }
}

const byForce = '--force goes back all the same, and cannot be planned'
