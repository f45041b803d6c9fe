import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { pluralize, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { changeTitle } from '../model/page-title.ts'
import { focusIfLost } from '../parts/focus-if-lost.ts'
import { lazy } from '../parts/lazy.tsx'
import { Menu } from '../parts/menu.tsx'
import { dollars } from '../parts/numbers.ts'
import { shortFolder } from '../parts/short-folder.ts'
import { wordsOf } from '../parts/use-action.ts'
import { SessionChoices } from './session-choices.tsx'
import { useSessionScreen } from './session-context.ts'
import type { SessionDialogProps } from './session-dialogs.tsx'
import type { TitleFieldProps } from './title-field.tsx'

const DeleteDialog = lazy<SessionDialogProps>(async () => (await import('./session-dialogs.tsx')).DeleteDialog)
const LabelDialog = lazy<SessionDialogProps>(async () => (await import('./session-dialogs.tsx')).LabelDialog)
const TitleField = lazy<TitleFieldProps>(async () => (await import('./title-field.tsx')).TitleField)

interface SessionHeaderProps {
  readonly isSideOpen: boolean
  readonly onSide: () => void
}

/** The title, the mode and the model, and facts about the session. */
export function SessionHeader({ isSideOpen, onSide }: SessionHeaderProps) {
  const { session } = useSessionScreen()
  const summary = useModel(session, (state) => state.summary)
  const cost = useModel(session, ({ view, isWhole }) => (isWhole ? view.usage.cost : undefined))
  const isStreaming = useModel(session, ({ view }) => view.run !== undefined && view.status === 'working')
  const facts = [
    summary?.folder && shortFolder(summary.folder),
    summary && pluralize(summary.turns, 'turn'),
    (cost ?? summary?.cost ?? 0) > 0 && dollars(cost ?? summary!.cost),
    summary?.tags.map((tag) => `#${visibleName(tag)}`).join(' '),
  ].filter(Boolean)
  return (
    <header class="session-header" data-streaming={isStreaming}>
      <div class="session-title">
        <Title />
        <p class="facts one-line" title={summary?.folder}>
          {summary?.parent !== undefined && (
            <Link to={{ screen: 'session', id: summary.parent, part: 'chat' }}>sub-agent of another session</Link>
          )}
          {summary?.parent !== undefined && ' · '}
          {facts.join(' · ')}
        </p>
      </div>
      <div class="session-tools">
        <SessionChoices />
        <button type="button" class="quiet side-button" aria-expanded={isSideOpen} onClick={onSide}>
          Details
        </button>
        <MoreMenu />
      </div>
    </header>
  )
}

/** Pressed, it becomes a field. */
function Title() {
  const { client } = usePage()
  const { session, said } = useSessionScreen()
  const summary = useModel(session, (state) => state.summary)
  const details = useModel(session, ({ view }) => view.details.title)
  const [isEditing, setEditing] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const title = details ?? summary?.title ?? (summary ? session.id : '…')
  useEffect(() => {
    changeTitle({ name: visibleName(title) })
    return () => changeTitle({ name: '' })
  }, [title])
  const end = (text?: string): void => {
    setEditing(false)
    setTimeout(() => focusIfLost(button.current))
    if (text !== undefined)
      client.sessions
        .update(session.id, { title: text })
        .catch((error: unknown) => said.set({ text: wordsOf(error), isBad: true }))
  }
  if (isEditing) return <TitleField title={title} onEnd={end} />
  return (
    <h1>
      <button ref={button} type="button" class="title-button one-line" title="Rename" onClick={() => setEditing(true)}>
        {visibleName(title)}
      </button>
    </h1>
  )
}

function MoreMenu() {
  const page = usePage()
  const screen = useSessionScreen()
  const [dialog, setDialog] = useState<'delete' | 'label'>()
  const items = async () => (await import('./session-menu.ts')).sessionMenu(page, screen, setDialog)
  return (
    <>
      <Menu label="More" class="quiet" items={items}>
        ⋯
      </Menu>
      {dialog === 'delete' && <DeleteDialog onClose={() => setDialog(undefined)} />}
      {dialog === 'label' && <LabelDialog onClose={() => setDialog(undefined)} />}
    </>
  )
}
