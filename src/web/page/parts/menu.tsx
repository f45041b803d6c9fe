import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { lazy } from './lazy.tsx'
import type { MenuListProps } from './menu-list.tsx'
import { wordsOf } from './use-action.ts'
import '../styles/menu.css'

const MenuList = lazy<MenuListProps>(async () => (await import('./menu-list.tsx')).MenuList)

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

/** A button that opens a list of things to do. */
export function Menu({ label, class: name = '', children, items, disabled = false }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [shown, setShown] = useState<readonly MenuItem[]>()
  const open = async (): Promise<void> => {
    try {
      setShown(await items())
    } catch (error) {
      setShown([{ label: `${wordsOf(error)} Open it again in a moment.`, isBad: true, onChoose() {} }])
    }
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
        onClick={() => (shown ? setShown(undefined) : void open())}
      >
        {children}
      </button>
      {shown && (
        <MenuList id={id} label={label} items={shown} button={button.current!} onClose={() => setShown(undefined)} />
      )}
    </>
  )
}
