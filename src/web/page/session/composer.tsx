import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { loadUntilThere } from '../model/back-off.ts'
import type { DraftModel } from '../model/draft-model.ts'
import { type Cell, useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { useCloser } from '../parts/use-closer.ts'
import { type Attached, contentOf } from './attached-files.ts'
import type { AttachedListProps } from './attached-list.tsx'
import type { CompletionProps } from './completion.tsx'
import type { Recalled } from './recall-sent.ts'
import { useSessionScreen } from './session-context.ts'

const AttachedList = lazy<AttachedListProps>(async () => (await import('./attached-list.tsx')).AttachedList)
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
  const recalled = useRef<Recalled>(undefined)
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
  useCloser(isAtWork, stop, 'lowest')

  const attach = async (chosen: Iterable<File>): Promise<void> => {
    const all = [...chosen] // the list of a field is emptied below
    const waits = { text: 'What you attach is read as soon as the server is there again.' }
    const { readFiles } = await loadUntilThere(
      () => import('./read-files.ts'),
      () => said.set(waits),
    )
    const { read, problems } = await readFiles(all)
    files.set([...files.state, ...read])
    if (problems.length > 0) said.set({ text: problems.join(' '), isBad: true })
    else if (said.state === waits) said.set(undefined)
  }

  /** Arrow up on the first line gives what was sent before; arrow down leads back to what was being written. */
  const recall = (event: KeyboardEvent): void => {
    const { value, selectionStart, selectionEnd } = field.current!
    const isUp = event.key === 'ArrowUp'
    const beyond = isUp ? value.slice(0, selectionStart) : value.slice(selectionEnd)
    if (beyond.includes('\n') || (!isUp && recalled.current?.shown !== value)) return
    event.preventDefault()
    const given = { session, draft, field: field.current!, recalled, step: isUp ? 1 : -1 } as const
    void import('./recall-sent.ts').then(({ recallSent }) => recallSent(given)).catch(() => {})
  }
  const press = (event: KeyboardEvent): void => {
    if (event.isComposing) return
    if (event.key === 'Enter' && !event.shiftKey && (!isTouch.matches || event.ctrlKey)) {
      event.preventDefault()
      void send(isAtWork ? (event.altKey ? 'followUp' : 'steer') : undefined)
    } else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') recall(event)
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
      {attached.length > 0 && <AttachedList files={files} />}
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
