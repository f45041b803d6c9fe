import { navigate, pathOf } from '../frame/router.ts'
import { type AnswerRow, type MessageRow, type RemoteContent, RemoteProblem, withoutAttached } from '../libero.ts'
import type { PageModel } from '../model/page-model.ts'
import { wholeRow } from '../model/whole-row.ts'
import { copyText } from '../parts/copy-button.tsx'
import type { MenuItem } from '../parts/menu.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { takenApart, writtenText } from './attached-files.ts'
import { isReplay } from './is-replay.ts'
import type { SessionScreenContext } from './session-context.ts'
import { turnText } from './turn-text.ts'

interface RowMenuOptions {
  readonly row: MessageRow | AnswerRow
  readonly page: PageModel
  readonly screen: SessionScreenContext
  readonly onRollback: () => void
}

/** The text of a row as its author wrote it. */
export const rowText = async (
  session: SessionScreenContext['session'],
  row: MessageRow | AnswerRow,
): Promise<string> => (row.kind === 'answer' ? row.text : writtenText(await contentOf(session, row)))

const contentOf = async (
  session: SessionScreenContext['session'],
  message: MessageRow,
): Promise<MessageRow['content']> => ((await wholeRow(session, message)) as MessageRow).content

/** What can be done with a row. */
export function rowMenu({ row, page, screen, onRollback }: RowMenuOptions): readonly MenuItem[] {
  const { session, compose, said } = screen
  const { id } = session
  const { sessions } = page.client
  const link = `${page.base}${pathOf({ screen: 'session', id, part: 'chat', seq: row.seq })}`

  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  }
  const fork = (at: number, message?: MessageRow): Promise<void> =>
    attempt(async () => {
      const again = message && takenApart(await contentOf(session, message))
      const copied = await sessions.fork(id, { at })
      if (again) {
        page.attachedTo(copied.id).set(again.attached)
        await sessions.saveDraft(copied.id, again.text)
      }
      navigate(page.base, { screen: 'session', id: copied.id, part: 'chat' })
    })
  const remove = (message: MessageRow): Promise<void> =>
    attempt(async () => {
      const content = await contentOf(session, message)
      const undo = await takeOut(message.from - 1)
      compose(content)
      said.set({ text: 'Deleted; its text is in the message field.', ...(undo && { action: undo }) })
    })
  /** A rollback of the conversation can be undone; a server without workspaces has only the rewind. */
  const takeOut = async (to: number) => {
    const isOffered = await page.offers('workspaces')
    const done = isOffered && (await sessions.rollback(id, { to, what: 'conversation' }).catch(unlessOffered))
    if (!done) {
      await sessions.rewind(id, to)
      return undefined
    }
    const undo = (): void => void attempt(() => sessions.undoRollback(id).then(() => said.set(undefined)))
    return { label: 'Undo', run: undo }
  }
  const retry = (message: MessageRow): Promise<void> =>
    attempt(async () => {
      const content = await contentOf(session, message)
      await takeOut(message.from - 1)
      // The files that it names are attached anew.
      await session.send(withoutAttached(content) as RemoteContent)
    })

  const copy = async (text: Promise<string>): Promise<void> =>
    attempt(async () =>
      said.set((await copyText(await text)) ? { text: 'Copied.' } : { text: 'The browser did not copy.', isBad: true }),
    )
  // What is taken back is so for the session as it is now, not as it was.
  const isFixed = session.state.view.run !== undefined || session.state.pastSeq !== undefined
  const all: MenuItem[] = [
    { label: 'Copy', onChoose: () => void copy(rowText(session, row)) },
    { label: 'Copy all of this turn', onChoose: () => void copy(turnText(session, row.id)) },
  ]
  if (isReplay) return all
  all.push(
    { label: 'Copy link', detail: `#${row.seq}`, onChoose: () => void copy(Promise.resolve(location.origin + link)) },
    { label: 'Fork from here', onChoose: () => void fork(row.seq) },
  )
  if (row.kind === 'message' && row.isNote !== true) {
    all.push({ label: 'Edit and resend as a fork', onChoose: () => void fork(row.from - 1, row) })
    if (!isFixed)
      all.push(
        { label: 'Retry', detail: 'takes back what came after', onChoose: () => void retry(row) },
        { label: 'Roll back …', detail: 'conversation or files', onChoose: onRollback },
        { label: 'Delete', isBad: true, detail: 'and what came after', onChoose: () => void remove(row) },
      )
  }
  return all
}

/** A host may have workspaces without snapshots. */
function unlessOffered(error: unknown): undefined {
  if (!(error instanceof RemoteProblem) || error.status !== 501) throw error
  return undefined
}
