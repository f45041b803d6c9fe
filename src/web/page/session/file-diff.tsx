import { usePage } from '../frame/page-context.ts'
import { Diff } from '../parts/renderers.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { useSessionScreen } from './session-context.ts'

export interface FileDiffProps {
  readonly path: string
  /** How much was changed: with other counts it is read again. */
  readonly counts: string
}

/** What a session changed in a file. */
export function FileDiff({ path, counts }: FileDiffProps) {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const { value } = useAnswer(() => client.sessions.fileDiff(session.id, path), [path, counts])
  if (!value) return null
  return (
    <>
      <Diff diff={value.diff} most={80} />
      {value.isCut && <p class="facts">The diff is cut; it is too long.</p>}
    </>
  )
}
