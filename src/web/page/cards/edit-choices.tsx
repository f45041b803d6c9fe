import { useRef } from 'preact/hooks'
import type { EditDecision, EditPreview } from '../libero.ts'
import { useKept } from '../parts/use-kept.ts'
import { useArmed } from './use-armed.ts'
import { WholeDiff } from './whole-diff.tsx'

interface EditChoicesProps {
  readonly edits: readonly EditPreview[]
  /** Under which the marks are kept until they are sent. */
  readonly digest: string
  readonly isOpen: boolean
  readonly onDecide: (decisions: readonly EditDecision[]) => void
}

/** The edits of a call one by one. Only those with a yes of their own are made. */
export function EditChoices({ edits, digest, isOpen, onDecide }: EditChoicesProps) {
  const [allowed, setAllowed] = useKept<readonly boolean[]>(
    `edits ${digest}`,
    edits.map(() => false),
  )
  const [notes, setNotes] = useKept<readonly string[]>(
    `edit notes ${digest}`,
    edits.map(() => ''),
  )
  const count = allowed.filter(Boolean).length
  const button = useRef<HTMLButtonElement>(null)
  const isArmed = useArmed(button)
  const decide = (): void =>
    onDecide(
      allowed.map((isAllowed, i) => {
        const note = notes[i]!.trim()
        if (isAllowed) return { decision: 'allow' }
        return { decision: 'deny', ...(note !== '' && { note }) }
      }),
    )
  return (
    <div class="edit-choices">
      {edits.map(({ diff = '', added = 0, removed = 0, moreLines = 0 }, i) => (
        <fieldset key={i}>
          <legend>{`Edit ${i + 1} of ${edits.length}  +${added} −${removed}`}</legend>
          <WholeDiff diff={diff} />
          {moreLines > 0 && <p class="call-note">{`${moreLines} more lines of this edit are not shown.`}</p>}
          <label class="check">
            <input
              type="checkbox"
              checked={allowed[i]}
              onChange={(event) => setAllowed(allowed.with(i, event.currentTarget.checked))}
            />
            Make this edit
          </label>
          {!allowed[i] && (
            <label class="edit-note">
              <span class="facts">Why not (optional)</span>
              <input value={notes[i]} onInput={(event) => setNotes(notes.with(i, event.currentTarget.value))} />
            </label>
          )}
        </fieldset>
      ))}
      <button ref={button} type="button" class="allow" disabled={!isArmed || !isOpen} onClick={decide}>
        {count === 0 ? `Deny all ${edits.length} edits` : `Allow ${count} of ${edits.length} edits`}
      </button>
    </div>
  )
}
