import { useEffect, useState } from 'preact/hooks'

/** Whether the page has one column, as on a phone. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => narrow.matches)
  useEffect(() => {
    const look = (): void => setNarrow(narrow.matches)
    narrow.addEventListener('change', look)
    return () => narrow.removeEventListener('change', look)
  }, [])
  return isNarrow
}

const narrow = matchMedia('(max-width: 699px)')
