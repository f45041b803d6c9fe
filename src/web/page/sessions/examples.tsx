import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { newSessionDraft } from '../new-session/new-session-draft.ts'
import { Empty } from '../parts/empty.tsx'

const examples = [
  'Find the failing test and fix it',
  'Read this project and tell me what it does and where to start',
  'List the TODO comments and group them by file',
]

/** For the first visit: three things to begin with. */
export function Examples() {
  const { base } = usePage()
  const begin = (text: string): void => {
    newSessionDraft.save({ text })
    navigate(base, { screen: 'new' })
  }
  return (
    <Empty title="No sessions yet" examples={examples} onChoose={begin}>
      <p>A session is a conversation with an agent that works in a folder. Begin with one of these:</p>
    </Empty>
  )
}
