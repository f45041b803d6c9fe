import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly label: string
  readonly class?: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A dialog over the page. Esc and a press beside it close it; the focus goes back to where it was. */
export function Dialog({ label, class: name = '', onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  useEffect(() => {
    const before = document.activeElement
    const element = dialog.current
    element?.showModal()
    return () => {
      isGone.current = true
      element?.close() // only then can the focus go behind it
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it, which the browser does
    <dialog
      ref={dialog}
      class={`dialog ${name}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClose={() => isGone.current || onClose()} // it is told late, when the next dialog may be open
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  )
}
