import { useEffect, useRef } from 'preact/hooks'
import type { MenuItem } from './menu.tsx'

export interface MenuListProps {
  readonly id: string
  readonly label: string
  readonly items: readonly MenuItem[]
  /** The button that opened it. */
  readonly button: HTMLElement
  readonly onClose: () => void
}

/** The open list of a menu. Arrows move, Enter chooses, Esc closes and gives the focus back. */
export function MenuList({ id, label, items, button, onClose }: MenuListProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current: shown } = list
    shown!.showPopover()
    place(shown!, button)
    shown!.querySelector<HTMLElement>('[data-chosen=true], button')?.focus()
  }, [items])
  const close = (): void => {
    onClose()
    button.focus()
  }
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      event.stopPropagation()
      close()
    }
    if (step === undefined) return
    event.preventDefault()
    const all = [...list.current!.querySelectorAll('button')]
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    all[(at + step + all.length) % all.length]?.focus()
  }
  return (
    <div
      ref={list}
      id={id}
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      popover="auto"
      onKeyDown={move}
      onToggle={({ newState }) => newState === 'closed' && onClose()}
    >
      {items.map(({ label: text, detail, isChosen, isBad, onChoose }) => (
        <button
          key={text}
          type="button"
          role={isChosen === undefined ? 'menuitem' : 'menuitemradio'}
          {...(isChosen !== undefined && { 'aria-checked': isChosen })}
          tabIndex={-1}
          class={isBad ? 'bad' : ''}
          data-chosen={isChosen}
          onClick={() => {
            close()
            onChoose()
          }}
        >
          <span>{text}</span>
          {detail !== undefined && <span class="facts">{detail}</span>}
        </button>
      ))}
    </div>
  )
}

/** Below the button, or above it where there is more room; within the window. */
function place(list: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect()
  const { width, height } = list.getBoundingClientRect()
  const isAbove = at.bottom + height + 8 > innerHeight && at.top > innerHeight - at.bottom
  list.style.top = `${Math.max(8, isAbove ? at.top - height - 4 : Math.min(at.bottom + 4, innerHeight - height - 8))}px`
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`
}
