import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import type { AnswerRow, MessageRow } from '../libero.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { lazy } from '../parts/lazy.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import type { RollbackDialogProps } from './rollback-dialog.tsx'
import { useSessionScreen } from './session-context.ts'

const RollbackDialog = lazy<RollbackDialogProps>(async () => (await import('./rollback-dialog.tsx')).RollbackDialog)

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
  const screen = useSessionScreen()
  const [isRollingBack, setRollingBack] = useState(false)

  const copy = async (): Promise<string> => (await import('./row-menu.ts')).rowText(screen.session, row)
  const items = async (): Promise<readonly MenuItem[]> =>
    (await import('./row-menu.ts')).rowMenu({ row, page, screen, onRollback: () => setRollingBack(true) })
  return (
    <div class="row-actions">
      {isNear && facts()}
      {isNear && <CopyButton text={copy} what={row.kind === 'answer' ? 'answer' : 'message'} />}
      <Menu label="More about this" class="quiet" items={items}>
        ⋯
      </Menu>
      {isRollingBack && row.kind === 'message' && (
        <RollbackDialog
          session={screen.session.id}
          to={row.from - 1}
          onClose={() => setRollingBack(false)}
          onSaid={(now) => screen.said.set(now)}
        />
      )}
    </div>
  )
}
