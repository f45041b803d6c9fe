import type { Session } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import { pluralize } from '../../platform/format.ts'
import type { SessionRollbackPlan, SessionRollbackResult } from '../../snapshots/session-rollback.ts'
import type { RollbackScope } from '../../snapshots/timeline.ts'
import type { CommandContext } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'
import {
  chooseMessage,
  messageCompletions,
  requireIdleSession,
  type SentMessage,
  sentMessages,
} from './open-session.ts'

export const rewind: CommandWork = {
  complete: (_, context) => messageCompletions(context),
  async run(argument, context) {
    requireIdleSession(context)
    const message = await chooseMessage(argument, context, { title: 'Go back to before' })
    if (typeof message === 'object') await goBack(message, context)
  },
}

export const rollback: CommandWork = {
  complete: (_, context) => messageCompletions(context),
  async run(argument, context) {
    requireIdleSession(context)
    const message = await chooseMessage(argument, context, { title: 'Restore the files from before' })
    if (typeof message === 'object') await goBack(message, context, ['files'])
  },
}

/** Undoes what happened last: a rollback, or the last message. */
export const undo: CommandWork = {
  async run(_, context) {
    const session = requireIdleSession(context)
    const { snapshots } = context.chat.agent ?? {}
    const { Timeline } = await import('../../snapshots/timeline.ts')
    const { pieces } = await Timeline.read(session.entries())
    const { rollback: rolledBack, seq = 0, after } = pieces.at(-1) ?? {}
    if (snapshots && rolledBack) {
      if (after) showPlan(await snapshots.planRollback(session, { to: seq - 1, scope: 'files' }), context)
      else if (rolledBack.scope !== 'conversation')
        context.screen.print('It was interrupted: it is finished first, and then undone')
      const isUndone = rolledBack.added !== undefined
      const items = [
        { label: 'no' },
        { label: 'yes', detail: isUndone ? 'goes back again' : 'turns and files come back' },
      ]
      const title = isUndone ? 'Undo the last undo?' : 'Undo the last rewind?'
      if ((await context.screen.choose({ title, items, initial: 0 })) !== 1) return
      return context.screen.print(
        resultText(await snapshots.undoRollback(session), isUndone ? 'left again' : 'came back'),
      )
    }
    const last = (await sentMessages(context)).at(-1)
    if (!last) throw new Error('There is nothing to undo')
    await goBack(last, context)
  },
}

/** Shows what each way of going back would change, lets the person choose, and does it. */
async function goBack(
  { row, text, number }: SentMessage,
  context: CommandContext,
  scopes: readonly RollbackScope[] = ['both', 'conversation', 'files'],
): Promise<void> {
  const { chat, screen } = context
  const session = requireIdleSession(context)
  const { snapshots } = chat.agent ?? {}
  const to = row.from - 1
  const plan = await planOf(context, to)
  const hasFiles = plan.files !== undefined
  const offered = hasFiles ? scopes : scopes.filter((scope) => scope === 'conversation')
  if (offered.length === 0) throw new Error(`The files cannot be restored: ${plan.whyNoFiles}`)
  showPlan(plan, context)
  if (!hasFiles) screen.print(`Files stay as they are: ${plan.whyNoFiles}`)
  const items = [
    ...offered.map((scope) => ({ label: labels[scope], detail: detailOf(scope, plan) })),
    { label: 'nothing' },
  ]
  const index = await screen.choose({ title: `Go back to before message ${number}, “${oneLine(text, 60)}”`, items })
  const scope = index === undefined ? undefined : offered[index]
  if (scope === undefined) return
  if (snapshots) screen.print(resultText(await snapshots.rollback(session, { to, scope }), 'left the conversation'))
  else await session.rewind(to)
  if (scope !== 'files') screen.setDraft(text)
}

const labels: Readonly<Record<RollbackScope, string>> = {
  both: 'conversation and files',
  conversation: 'conversation',
  files: 'files',
}

interface Plan extends SessionRollbackPlan {
  readonly whyNoFiles?: string
}

/** What going back would do; without files if they were not kept, with the reason. */
async function planOf(context: CommandContext, to: number): Promise<Plan> {
  const session = requireIdleSession(context)
  const { snapshots } = context.chat.agent ?? {}
  if (!snapshots) return { turns: [], whyNoFiles: 'no snapshots of them are taken here' }
  try {
    return await snapshots.planRollback(session, { to })
  } catch (error) {
    const { RollbackRefusedError } = await import('../../snapshots/rollback-error.ts')
    if (!(error instanceof RollbackRefusedError)) throw error
    return {
      ...(await snapshots.planRollback(session, { to, scope: 'conversation' })),
      whyNoFiles: whyNot(error, session),
    }
  }
}

/** Rewords an error of the API for the chat, where nothing is forced. */
function whyNot({ message }: Error, { id }: Session): string {
  return message.replace('with force', `with libero sessions rewind ${id} --force`)
}

function showPlan({ files }: Plan, { screen }: CommandContext): void {
  if (!files) return
  const lines = [
    ...files.restore.map((path) => `restore  ${path}`),
    ...files.delete.map((path) => `delete   ${path}`),
    ...files.conflicts.map(({ path, why }) => `keep     ${path}: ${why}`),
  ]
  if (lines.length > 0) screen.print(lines.join('\n'))
}

function detailOf(scope: RollbackScope, { turns, files }: Plan): string {
  const left = `${pluralize(turns.length, 'turn')} ${turns.length === 1 ? 'leaves' : 'leave'}`
  const changed = files ? files.restore.length + files.delete.length : 0
  const kept = files && files.conflicts.length > 0 ? `, ${files.conflicts.length} kept` : ''
  const restored = `${pluralize(changed, 'file')} restored or deleted${kept}`
  if (scope === 'files') return restored
  return scope === 'both' ? `${left}; ${restored}` : left
}

function resultText({ turns, files }: SessionRollbackResult, verb: string): string {
  const done = files ? [`${pluralize(files.restored.length, 'file')} restored`, `${files.deleted.length} deleted`] : []
  const kept = files?.conflicts.map(({ path, why }) => `kept ${path}: ${why}`) ?? []
  const failed =
    files?.failed.map((path) => `failed ${path}: it could not be restored; see which program uses it, and try again`) ??
    []
  return [
    [...(turns > 0 ? [`${pluralize(turns, 'turn')} ${verb}`] : []), ...done].join('; ') || 'Nothing was changed',
    ...kept,
    ...failed,
  ].join('\n')
}
