import { useEffect } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { typeAhead } from '../parts/typed-ahead.ts'
import { useCloser } from '../parts/use-closer.ts'
import { noFind, useSessionScreen } from './session-context.ts'

const FindField = lazy(async () => (await import('./find-field.tsx')).FindField)

/** Ctrl+F: finds in all rows, also in those that are not in the document. Pressed again, the browser's own opens. */
export function FindBar() {
  const { find } = useSessionScreen()
  const isOpen = useModel(find, (state) => state.isOpen)
  useCloser(isOpen, () => find.set(noFind))
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'f' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      const field = document.querySelector<HTMLInputElement>('#find')
      if (find.state.isOpen && field && document.activeElement === field) {
        find.set(noFind)
        return
      }
      event.preventDefault()
      if (!field) typeAhead()
      find.change({ isOpen: true })
      field?.focus()
      field?.select()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [find])
  return isOpen ? <FindField /> : null
}
