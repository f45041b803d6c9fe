import { useState } from 'preact/hooks'

interface ConfirmButtonProps {
  readonly label: string
  /** What the second press does, such as `Delete for good`. */
  readonly sure: string
  readonly disabled?: boolean
  readonly onConfirm: () => void
}

/** A button for what cannot be undone: the first press asks, the second one does it, any other press or Esc takes it back. */
export function ConfirmButton({ label, sure, disabled = false, onConfirm }: ConfirmButtonProps) {
  const [isAsked, setAsked] = useState(false)
  const press = (): void => {
    if (isAsked) onConfirm()
    setAsked(!isAsked)
  }
  return (
    <button
      type="button"
      class={isAsked ? 'deny' : ''}
      disabled={disabled}
      onClick={press}
      onBlur={() => setAsked(false)}
      onKeyDown={(event) => event.key === 'Escape' && setAsked(false)}
    >
      {isAsked ? sure : label}
    </button>
  )
}
