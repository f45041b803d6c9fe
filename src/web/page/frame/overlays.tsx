import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export type Overlay = 'palette' | 'keys' | undefined

interface OverlayProps {
  readonly onClose: () => void
}

/** Ctrl+K opens the palette; `?` the list of keys, where the person is not writing. */
export function listenForKeys(open: (overlay: Overlay) => void): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault()
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

const loads = {
  palette: async () => (await import('./palette.tsx')).Palette,
  keys: async () => (await import('./key-help.tsx')).KeyHelp,
}

/** What opens over the page, loaded when it is first wanted. */
export function Overlays({ open, onClose }: OverlayProps & { readonly open: Overlay }) {
  const [loaded, setLoaded] = useState<{ readonly of: Overlay; readonly View: ComponentType<OverlayProps> }>()
  useEffect(() => {
    if (open) void loads[open]().then((View) => setLoaded({ of: open, View }))
  }, [open])
  if (!open || loaded?.of !== open) return null
  return <loaded.View onClose={onClose} />
}
