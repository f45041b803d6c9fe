import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { useSessionScreen } from './session-context.ts'

export interface SessionDialogProps {
  readonly onClose: () => void
}

/** Asks before a session is deleted for good. */
export function DeleteDialog({ onClose }: SessionDialogProps) {
  const { client, base, sessions } = usePage()
  const { session } = useSessionScreen()
  const { isBusy, problem, run } = useAction()
  const remove = async (): Promise<void> => {
    if (!(await run(() => client.sessions.delete(session.id)))) return
    sessions.forget(session.id)
    navigate(base, { screen: 'sessions' })
  }
  return (
    <Dialog label="Delete the session" onClose={onClose}>
      <h2>Delete this session?</h2>
      <p>Its log, its sub-agents and its snapshots go for good. Files in its folder stay as they are.</p>
      <ProblemLine problem={problem} />
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="deny" disabled={isBusy} onClick={remove}>
          Delete for good
        </button>
      </div>
    </Dialog>
  )
}

/** Writes a label into the log, at its end. */
export function LabelDialog({ onClose }: SessionDialogProps) {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const { isBusy, problem, run } = useAction()
  const [text, setText] = useState('')
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (await run(() => client.sessions.label(session.id, text.trim()))) onClose()
  }
  return (
    <Dialog label="Label this point" onClose={onClose}>
      <h2>Label this point</h2>
      <form onSubmit={save}>
        <label>
          Label
          <input value={text} maxLength={200} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <ProblemLine problem={problem} />
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy || text.trim() === ''}>
            Label
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Asks before commands run without questions. */
export function YoloDialog({ onClose, onSure }: SessionDialogProps & { readonly onSure: () => void }) {
  return (
    <Dialog label="Run without questions" onClose={onClose}>
      <h2>Run everything without a question?</h2>
      <p>
        In mode <strong class="mode-yolo">yolo</strong> each call of the model runs at once, also those that delete or
        send something. Denied stays denied. It lasts until the server is started again, or until you choose another
        mode.
      </p>
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Keep asking
        </button>
        <button
          type="button"
          class="deny"
          onClick={() => {
            onSure()
            onClose()
          }}
        >
          Run without questions
        </button>
      </div>
    </Dialog>
  )
}
