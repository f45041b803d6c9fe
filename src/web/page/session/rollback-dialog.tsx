import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteRollbackRequest, visibleName } from '../libero.ts'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction, wordsOf } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { planOf, rollbackWords } from './rollback-words.ts'
import type { Said } from './session-context.ts'

export interface RollbackDialogProps {
  readonly session: string
  /** The last entry that stays. */
  readonly to: number
  readonly onClose: () => void
  /** What became of it, for the person. */
  readonly onSaid: (said: Said) => void
}

type RollbackScope = NonNullable<RemoteRollbackRequest['what']>

const scopes: readonly (readonly [RollbackScope, string])[] = [
  ['both', 'Conversation and files'],
  ['conversation', 'Conversation only'],
  ['files', 'Files only'],
]

/** Shows what a rollback would change before it does it, conflicts first. */
export function RollbackDialog({ session, to, onClose, onSaid }: RollbackDialogProps) {
  const { sessions } = usePage().client
  const [what, setWhat] = useState<RollbackScope>('both')
  const plan = useAnswer(async () => {
    const found = await planOf((request) => sessions.planRollback(session, request), { to, what })
    return { ...found, of: what }
  }, [what, to])
  const { isBusy, problem, run } = useAction()
  // That of another scope is shown until this one is there, and is not what would be done.
  const isReady = !isBusy && plan.value?.of === what
  const undo = (): void =>
    void sessions.undoRollback(session).then(
      (done) => onSaid(rollbackWords(done, 'The rollback is undone')),
      (error: unknown) => onSaid({ text: wordsOf(error), isBad: true }),
    )
  const roll = async (force: boolean): Promise<void> => {
    await run(async () => {
      const done = await sessions.rollback(session, { to, what, ...(force && { force }) })
      onSaid({ ...rollbackWords(done), action: { label: 'Undo', run: undo } })
      onClose()
    })
  }
  const { files: planned, isCutOff = false } = plan.value ?? {}
  const conflicts = planned?.conflicts ?? []
  const isForceOffered = isCutOff || (conflicts.length > 0 && what !== 'conversation')
  return (
    <Dialog label="Roll back" onClose={onClose}>
      <h2>{to === 0 ? 'Roll back to the beginning' : 'Roll back to before this message'}</h2>
      <fieldset class="choices">
        <legend class="visually-hidden">What is rolled back</legend>
        {scopes.map(([scope, label]) => (
          <label key={scope}>
            <input type="radio" name="scope" checked={what === scope} onChange={() => setWhat(scope)} />
            {label}
          </label>
        ))}
      </fieldset>
      <Shown answer={plan} what="rollback">
        {({ turns, files, whyNoFiles }) => (
          <div class="rollback-plan">
            {isCutOff && <p class="bad">A run was cut off: what others changed after it goes with its own changes.</p>}
            {what !== 'files' && (
              <p>
                {turns === 0
                  ? 'The conversation stays as it is.'
                  : 'What came after leaves the conversation. The log keeps it.'}
              </p>
            )}
            {what !== 'conversation' && whyNoFiles !== undefined && <p class="bad">{`Files stay: ${whyNoFiles}`}</p>}
            <Paths title="Does not fit any more" paths={conflicts.map(({ path, why }) => `${path}: ${why}`)} isBad />
            <Paths title="Restored" paths={files?.restore ?? []} />
            <Paths title="Deleted, because they were new" paths={files?.delete ?? []} />
          </div>
        )}
      </Shown>
      <ProblemLine problem={problem} />
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        {isForceOffered && (
          <button type="button" class="deny" disabled={!isReady} onClick={() => roll(true)}>
            Roll back and overwrite
          </button>
        )}
        {!isCutOff && (
          <button type="button" class="primary" disabled={!isReady} onClick={() => roll(false)}>
            {isForceOffered ? 'Roll back the others' : 'Roll back'}
          </button>
        )}
      </div>
    </Dialog>
  )
}

interface PathsProps {
  readonly title: string
  readonly paths: readonly string[]
  readonly isBad?: boolean
}

function Paths({ title, paths, isBad = false }: PathsProps) {
  if (paths.length === 0) return null
  return (
    <>
      <p class={isBad ? 'bad' : ''}>{`${title} (${paths.length})`}</p>
      <ul class="paths">
        {paths.slice(0, 100).map((path) => (
          <li key={path}>
            <code>{visibleName(path)}</code>
          </li>
        ))}
        {paths.length > 100 && <li class="facts">{`and ${paths.length - 100} more`}</li>}
      </ul>
    </>
  )
}
