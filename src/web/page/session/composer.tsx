import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import type { DraftModel } from '../model/draft-model.ts'
import { type Cell, useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { type Attached, contentOf, writtenText } from './attached-files.ts'
import type { CompletionProps } from './completion.tsx'
import { useSessionScreen } from './session-context.ts'

const Completion = lazy<CompletionProps>(async () => (await import('./completion.tsx')).Completion)

/** On a device without a keyboard, Enter breaks lines. */
const isTouch = matchMedia('(pointer: coarse)')

interface ComposerProps {
  readonly draft: DraftModel
  readonly attached: Cell<readonly Attached[]>
}

/** The field for messages. While the agent works, Enter steers it and Alt+Enter queues. */
export function Composer({ draft, attached: files }: ComposerProps) {
  const { client } = usePage()
  const { session, said } = useSessionScreen()
  const { text, isFromElsewhere } = useModel(draft)
  const isAtWork = useModel(session, ({ view }) => view.run !== undefined)
  const attached = useModel(files)
  const [isStopping, setStopping] = useState(false)
  const [isOver, setOver] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const history = useHistory(draft)
  const [isCompleting, setCompleting] = useState(false)
  useEffect(() => {
    if (!isAtWork) setStopping(false)
  }, [isAtWork])
  /** What another tab wrote moves no caret of this one, except to the end of the text. */
  useLayoutEffect(() => {
    if (isFromElsewhere && field.current) field.current.selectionStart = field.current.value.length
  }, [text])

  const send = async (mode?: 'steer' | 'followUp'): Promise<void> => {
    const written = text.trim()
    if (written === '' && attached.length === 0) return
    setCompleting(false)
    said.set(undefined)
    draft.write('')
    if (attached.length === 0 && (await runCommand(text.trimEnd()))) return
    const content = contentOf(written, attached)
    files.set([])
    // One that fails stays in the conversation, with its text.
    const notices = await session.send(content, mode ? { mode } : {}).catch((): readonly string[] => [])
    if (notices.length > 0) said.set({ text: notices.join('\n') })
  }

  /** Whether it was a command. One that fails stays in the field. */
  const runCommand = async (line: string): Promise<boolean> => {
    if (!line.startsWith('/')) return false
    try {
      const { runLine } = await import('../model/run-line.ts')
      const answer = await runLine(client, session.id, line)
      if (answer) said.set({ text: answer })
      return answer !== undefined
    } catch (error) {
      said.set({ text: wordsOf(error), isBad: true })
      if (draft.state.text === '') draft.write(line)
      return true
    }
  }

  const stop = async (): Promise<void> => {
    setStopping(true)
    await client.stop(session.id).catch((error: unknown) => {
      setStopping(false)
      said.set({ text: wordsOf(error), isBad: true })
    })
  }

  /** From anywhere on the screen, unless there is something to close first. */
  useEffect(() => {
    if (!isAtWork) return
    const press = (event: KeyboardEvent): void => {
      const isTaken =
        event.defaultPrevented || (event.target as Element).closest('.card, dialog, .find-bar, input') !== null
      if (event.key === 'Escape' && !isTaken && !document.querySelector('dialog[open]')) void stop()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [isAtWork])

  const attach = async (chosen: Iterable<File>): Promise<void> => {
    const all = [...chosen] // the list of a field is emptied below
    const { readFiles } = await import('./read-files.ts')
    const { read, problems } = await readFiles(all)
    files.set([...files.state, ...read])
    if (problems.length > 0) said.set({ text: problems.join(' '), isBad: true })
  }

  const press = (event: KeyboardEvent): void => {
    if (event.isComposing) return
    if (event.key === 'Enter' && !event.shiftKey && (!isTouch.matches || event.ctrlKey)) {
      event.preventDefault()
      void send(isAtWork ? (event.altKey ? 'followUp' : 'steer') : undefined)
    } else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') history.press(event, field.current!)
  }
  const replace = (from: number, to: number, by: string): void => {
    setCompleting(false)
    draft.write(text.slice(0, from) + by + text.slice(to))
    requestAnimationFrame(() => field.current?.setSelectionRange(from + by.length, from + by.length))
    field.current?.focus()
  }
  const canSend = text.trim() !== '' || attached.length > 0
  return (
    <form
      class="composer"
      data-over={isOver}
      onSubmit={(event) => {
        event.preventDefault()
        void send(isAtWork ? 'steer' : undefined)
      }}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        void attach(event.dataTransfer?.files ?? [])
      }}
    >
      {isCompleting && <Completion field={field.current!} text={text} onChoose={replace} />}
      <AttachedList attached={attached} onRemove={(one) => files.set(attached.filter((other) => other !== one))} />
      <div class="composer-field">
        <span class="mark" aria-hidden="true">
          ›
        </span>
        <textarea
          ref={field}
          id="message"
          name="message"
          aria-label="Message"
          placeholder={isAtWork ? 'Steer it, or write what comes next' : 'Message'}
          rows={Math.min(10, text.split('\n').length)}
          value={text}
          autocomplete="off"
          onInput={(event) => {
            const { value, selectionStart } = event.currentTarget
            draft.write(value)
            setCompleting(isCompletable(value.slice(0, selectionStart)))
          }}
          onKeyDown={press}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])]
            if (pasted.length === 0) return
            event.preventDefault()
            void attach(pasted)
          }}
        />
      </div>
      <div class="composer-bar">
        <input
          ref={picker}
          class="visually-hidden"
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to attach"
          onChange={(event) => {
            void attach(event.currentTarget.files ?? [])
            event.currentTarget.value = ''
          }}
        />
        <button type="button" class="quiet" onClick={() => picker.current?.click()}>
          Attach
        </button>
        <span class="facts composer-hint">{hintOf(isAtWork)}</span>
        {isAtWork && canSend && (
          <button type="button" class="quiet" title="Sends it after the run" onClick={() => send('followUp')}>
            Queue
          </button>
        )}
        {isAtWork && (
          <button type="button" class="stop" disabled={isStopping} onClick={stop}>
            {isStopping ? 'Stopping' : 'Stop'}
          </button>
        )}
        <button type="submit" class="primary" disabled={!canSend}>
          {isAtWork ? 'Steer' : 'Send'}
        </button>
      </div>
    </form>
  )
}

/** Whether something may follow at the caret: a file after `@`, a command after `/`. */
const isCompletable = (before: string): boolean => /(?:^|\s)@[^\s@]*$|^\/[^\n]*$/.test(before)

function hintOf(isAtWork: boolean): string {
  if (isTouch.matches) return ''
  return isAtWork ? 'enter steers · alt+enter queues · esc stops' : 'enter sends · @ files · / commands'
}

interface AttachedListProps {
  readonly attached: readonly Attached[]
  readonly onRemove: (one: Attached) => void
}

function AttachedList({ attached, onRemove }: AttachedListProps) {
  if (attached.length === 0) return null
  return (
    <ul class="attached" aria-label="Attached">
      {attached.map((one, i) => (
        <li key={`${i} ${one.name}`}>
          <span class="one-line">{one.name}</span>
          <span class="facts">{one.facts}</span>
          <button type="button" class="quiet" aria-label={`Remove ${one.name}`} onClick={() => onRemove(one)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Arrow up on the first line gives what was sent before; arrow down leads back to what was being written. */
function useHistory(draft: DraftModel) {
  const { session } = useSessionScreen()
  const place = useRef<{ readonly steps: number; readonly shown: string; readonly draft: string }>(undefined)
  return {
    press(event: KeyboardEvent, field: HTMLTextAreaElement): void {
      const isUp = event.key === 'ArrowUp'
      const { value, selectionStart, selectionEnd } = field
      const isAtEdge = isUp ? !value.slice(0, selectionStart).includes('\n') : !value.slice(selectionEnd).includes('\n')
      const known = place.current?.shown === value ? place.current : undefined
      if (!isAtEdge || (!isUp && !known)) return
      const steps = (known?.steps ?? 0) + (isUp ? 1 : -1)
      const own = known?.draft ?? value
      const shown = steps === 0 ? own : sentBefore(steps)
      if (shown === undefined) return
      event.preventDefault()
      place.current = { steps, shown, draft: own }
      draft.write(shown)
      requestAnimationFrame(() => field.setSelectionRange(isUp ? 0 : shown.length, isUp ? 0 : shown.length))
    },
  }
  function sentBefore(steps: number): string | undefined {
    const { rows } = session.state.view
    let left = steps
    for (let at = rows.length - 1; at >= 0; at--) {
      const row = rows.at(at)!
      if (row.kind !== 'message' || row.isNote || --left > 0) continue
      return writtenText(row.content)
    }
    return undefined
  }
}
