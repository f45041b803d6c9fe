/** What is typed after a key that opens a field, while the code of the field is loaded: it belongs to the field. */
let typed = ''

function take(event: KeyboardEvent): void {
  if (event.key === 'Escape') stop()
  if (event.key === 'Escape' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key.length === 1) typed += event.key
  event.preventDefault() // also Enter: it would send a message
  event.stopPropagation()
}

const stop = (): void => removeEventListener('keydown', take, true)

export function typeAhead(): void {
  typed = ''
  addEventListener('keydown', take, true)
  setTimeout(stop, 3000) // the code could not be loaded
}

/** The field is there. */
export function takeTyped(): string {
  stop()
  const text = typed
  typed = ''
  return text
}
