import { useModel } from '../model/model.ts'
import { usePage } from './page-context.ts'

/** Says that the server cannot be reached, while it cannot. */
export function ConnectionLine() {
  const offline = useModel(usePage(), (state) => state.offline)
  if (offline === undefined) return null
  return (
    <p class="connection-line" role="status">
      {`Offline: ${offline.replace(/[.?]$/, '')}. Nothing is lost; the page connects again by itself.`}
    </p>
  )
}
