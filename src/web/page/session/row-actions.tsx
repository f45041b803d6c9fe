import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate, pathOf } from '../frame/router.ts'
import { type AnswerRow, type MessageRow, type RemoteContent, RemoteProblem, withoutAttached } from '../libero.ts'
import { wholeRow } from '../model/whole-row.ts'
import { CopyButton, copyText } from '../parts/copy-button.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { writtenText } from './attached-files.ts'
import { RollbackDialog } from './rollback-dialog.tsx'
import { useSessionScreen } from './session-context.ts'
import { turnText } from './turn-text.ts'

interface RowActionsProps {
  readonly row: MessageRow | AnswerRow
  /** Facts, shown beside the buttons. */
  readonly facts: () => ComponentChildren
  /** The row is pointed at: only then all of it is drawn, because rows come and go quickly while a person scrolls. */
  readonly isNear: boolean
}

/** What can be done with a row, at its right. It shows when the row is pointed at or has the focus, and takes no room. */
export function RowActions({ row, facts, isNear }: RowActionsProps) {
  const page = usePage()
  const { session, api, compose, said, isReplay } = useSessionScreen()
  const [isRollingBack, setRollingBack] = useState(false)
  const { id } = session
  const link = `${page.base}${pathOf({ screen: 'session', id, part: 'chat', seq: row.seq })}`

  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  }
  /** The text as its author wrote it. */
  const copy = async (): Promise<string> => (row.kind === 'answer' ? row.text : writtenText(await contentOf(row)))
  const contentOf = async (message: MessageRow): Promise<MessageRow['content']> =>
    ((await wholeRow(session, message)) as MessageRow).content
  const fork = (at: number, message?: MessageRow): Promise<void> =>
    attempt(async () => {
      const text = message && writtenText(await contentOf(message))
      const copied = await page.client.sessions.fork(id, { at })
      if (text !== undefined) await page.client.sessions.saveDraft(copied.id, text)
      navigate(page.base, { screen: 'session', id: copied.id, part: 'chat' })
    })
  const remove = (message: MessageRow): Promise<void> =>
    attempt(async () => {
      const content = await contentOf(message)
      const undo = await takeOut(message.from - 1)
      compose(content)
      said.set({ text: 'Deleted; its text is in the message field.', ...(undo && { action: undo }) })
    })
  /** A rollback of the conversation can be undone; a server without workspaces has only the rewind. */
  const takeOut = async (to: number) => {
    try {
      await api.rollback(to, 'conversation')
      const undo = (): void => void attempt(() => api.undoRollback().then(() => said.set(undefined)))
      return { label: 'Undo', run: undo }
    } catch (error) {
      if (!(error instanceof RemoteProblem) || (error.status !== 501 && error.status !== 404)) throw error
      await page.client.sessions.rewind(id, to)
      return undefined
    }
  }
  const retry = (message: MessageRow): Promise<void> =>
    attempt(async () => {
      const content = await contentOf(message)
      await takeOut(message.from - 1)
      // The files that it names are attached anew.
      await session.send(withoutAttached(content) as RemoteContent)
    })

  const items = (): readonly MenuItem[] => {
    const isAtWork = session.state.view.run !== undefined
    const all: MenuItem[] = [
      { label: 'Copy', onChoose: () => void copy().then(copyText) },
      { label: 'Copy all of this turn', onChoose: () => void turnText(session, row.id).then(copyText) },
    ]
    if (isReplay) return all
    all.push(
      { label: 'Copy link', detail: `#${row.seq}`, onChoose: () => void copyText(location.origin + link) },
      { label: 'Fork from here', onChoose: () => void fork(row.seq) },
    )
    if (row.kind === 'message' && row.isNote !== true) {
      all.push({ label: 'Edit and resend as a fork', onChoose: () => void fork(row.from - 1, row) })
      if (!isAtWork)
        all.push(
          { label: 'Retry', detail: 'takes back what came after', onChoose: () => void retry(row) },
          { label: 'Roll back …', detail: 'conversation or files', onChoose: () => setRollingBack(true) },
          { label: 'Delete', isBad: true, detail: 'and what came after', onChoose: () => void remove(row) },
        )
    }
    return all
  }
  return (
    <div class="row-actions">
      {isNear && facts()}
      {isNear && <CopyButton text={copy} what={row.kind === 'answer' ? 'answer' : 'message'} />}
      <Menu label="More about this" class="quiet" items={items}>
        ⋯
      </Menu>
      {isRollingBack && row.kind === 'message' && (
        <RollbackDialog
          api={api}
          to={row.from - 1}
          onClose={() => setRollingBack(false)}
          onSaid={(now) => said.set(now)}
        />
      )}
    </div>
  )
}
