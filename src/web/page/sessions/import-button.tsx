import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'

/** Makes a session from an export: chosen with the button, or dropped anywhere on the screen. */
export function ImportButton() {
  const { client, base } = usePage()
  const { isBusy, problem, run } = useAction()
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const take = (file: File | undefined): void => {
    if (!file) return
    void run(async () => {
      const { id } = await client.sessions.import(await file.text())
      navigate(base, { screen: 'session', id, part: 'chat' })
    })
  }
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(event.type === 'dragover')
      if (event.type === 'drop') take(event.dataTransfer.files[0])
    }
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false)
    }
    const screen = document.getElementById('screen')!
    screen.addEventListener('dragover', over)
    screen.addEventListener('drop', over)
    screen.addEventListener('dragleave', leave)
    return () => {
      screen.removeEventListener('dragover', over)
      screen.removeEventListener('drop', over)
      screen.removeEventListener('dragleave', leave)
    }
  }, [])
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => input.current!.click()}>
        {isBusy ? 'Importing …' : 'Import'}
      </button>
      <input
        ref={input}
        type="file"
        accept=".jsonl"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="A session as a JSONL file"
        onChange={(event) => take(event.currentTarget.files?.[0])}
      />
      {isOver && <div class="drop-here">Drop the export of a session here</div>}
      <ProblemLine problem={problem} />
    </>
  )
}
