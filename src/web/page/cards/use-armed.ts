import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** How long something is in sight before it can be pressed: a click or key that was meant for something else does nothing. */
const armedAfterMs = 500

/** Whether an element has been in sight for half a second without a break. */
export function useArmed(ref: RefObject<Element | null>): boolean {
  const [isArmed, setArmed] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let isInSight = false
    const look = (): void => {
      clearTimeout(timer)
      if (isInSight && !document.hidden) timer = setTimeout(() => setArmed(true), armedAfterMs)
      else setArmed(false)
    }
    const observer = new IntersectionObserver(
      (entries) => {
        isInSight = entries.at(-1)!.isIntersecting
        look()
      },
      { threshold: 0.5 },
    )
    observer.observe(element)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return isArmed
}
