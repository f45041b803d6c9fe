import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import '../styles/menu.css'

export interface MenuItem {
  readonly label: string
  /** Dim, behind the label. */
  readonly detail?: string | undefined
  /** It is the one in use. */
  readonly isChosen?: boolean
  readonly isBad?: boolean
  readonly onChoose: () => void
}

interface MenuProps {
  /** For those who hear the page. */
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
  /** Called when it opens. */
  readonly items: () => readonly MenuItem[] | Promise<readonly MenuItem[]>
  readonly disabled?: boolean
}

/** A button that opens a list of things to do. Arrows move, Enter chooses, Esc closes and gives the focus back. */
export function Menu({ label, class: name = '', children, items, disabled = false }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState<readonly MenuItem[]>()

  useEffect(() => {
    if (!shown || !list.current || !button.current) return
    list.current.showPopover()
    place(list.current, button.current)
    list.current.querySelector<HTMLElement>('[data-chosen=true], button')?.focus()
  }, [shown])

  const open = async (): Promise<void> => {
    if (shown) close()
    else setShown(await items())
  }
  const close = (): void => {
    setShown(undefined)
    button.current?.focus()
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
    <>
      <button
        ref={button}
        type="button"
        class={`menu-opener ${name}`}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={shown !== undefined}
        {...(shown && { 'aria-controls': id })}
        disabled={disabled}
        onClick={open}
      >
        {children}
      </button>
      {shown && (
        <div
          ref={list}
          id={id}
          class="menu"
          role="menu"
          tabIndex={-1}
          aria-label={label}
          popover="auto"
          onKeyDown={move}
          onToggle={({ newState }) => newState === 'closed' && setShown(undefined)}
        >
          {shown.map(({ label: text, detail, isChosen, isBad, onChoose }) => (
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
      )}
    </>
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
