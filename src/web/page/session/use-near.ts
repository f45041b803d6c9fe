import { useState } from 'preact/hooks'

interface NearHandlers {
  readonly onPointerEnter: () => void
  readonly onFocusIn: () => void
}

/** Whether an element was pointed at or had the focus, and what the element needs to tell. */
export function useNear(): readonly [boolean, NearHandlers] {
  const [isNear, setNear] = useState(false)
  const come = (): void => setNear(true)
  return [isNear, { onPointerEnter: come, onFocusIn: come }]
}
