import { lazy } from '../parts/lazy.tsx'
import { typeAhead } from '../parts/typed-ahead.ts'

export type Overlay = 'palette' | 'keys' | undefined

interface OverlayProps {
  readonly onClose: () => void
}

/** Ctrl+K opens the palette; `?` the list of keys, where the person is not writing. */
export function listenForKeys(open: (overlay: Overlay) => void): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault()
      if (!document.querySelector('.palette')) typeAhead()
      open('palette')
    }
    const isWriting =
      event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]')
    if (event.key === '?' && !isWriting && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault()
      open('keys')
    }
  }
  addEventListener('keydown', onKeyDown)
  return () => removeEventListener('keydown', onKeyDown)
}

const Palette = lazy<OverlayProps>(async () => (await import('./palette.tsx')).Palette)
const KeyHelp = lazy<OverlayProps>(async () => (await import('./key-help.tsx')).KeyHelp)

/** What opens over the page. */
export function Overlays({ open, onClose }: OverlayProps & { readonly open: Overlay }) {
  if (open === 'palette') return <Palette onClose={onClose} />
  return open === 'keys' ? <KeyHelp onClose={onClose} /> : null
}
